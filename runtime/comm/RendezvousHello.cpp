#include "runtime/comm/RendezvousHello.h"

#include "runtime/comm/RendezvousWire.h"

#include <climits>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dtc::rt {

std::string encode(const Hello &hello) {
  std::string out;
  for (uint64_t number : {hello.job, hello.rank, hello.size, hello.process})
    put(out, number);
  put(out, hello.host);
  put(out, hello.address);
  return out;
}

bool decode(std::string_view payload, Hello &hello) {
  for (uint64_t *number : {&hello.job, &hello.rank, &hello.size, &hello.process})
    if (!take(payload, *number))
      return false;
  if (!take(payload, HOST_NAME_MAX, hello.host) || !take(payload, 64, hello.address) ||
      !payload.empty())
    return false;
  for (char &letter : hello.host)
    if (letter < '!' || letter > '~')
      letter = '?';
  return true;
}

std::string encodePieces(const std::vector<std::string> &pieces) {
  std::string out;
  for (const std::string &piece : pieces)
    put(out, piece);
  return out;
}

bool decodePieces(std::string_view payload, size_t size, std::vector<std::string> &pieces) {
  pieces.assign(size, {});
  for (std::string &piece : pieces)
    if (!take(payload, Rendezvous::kMostParcel, piece))
      return false;
  return payload.empty();
}

uint64_t hashOf(const std::string &job) { return XXH3_64bits(job.data(), job.size()); }

std::string ownHostName() {
  char host[HOST_NAME_MAX + 1] = {};
  (void)::gethostname(host, HOST_NAME_MAX);
  return host;
}

size_t mostBytes(int size) {
  return static_cast<size_t>(size) * (Rendezvous::kMostParcel + 8) + 4096;
}

} // namespace dtc::rt
