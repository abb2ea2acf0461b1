// The roll call over a datagram socket: a rank sends its number.
#include "runtime/comm/RollCall.h"

#include "runtime/base/Env.h"
#include "runtime/base/Text.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

namespace dtc::rt {
using format::text;

constexpr std::string_view kPrefix = "dtrun-launch-";

// An abstract address begins with a zero byte, and is as long as it says.
static socklen_t addressOf(const std::string &name, sockaddr_un &address) {
  address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

RollCall::~RollCall() {
  if (socket >= 0)
    ::close(socket);
}

void RollCall::open() {
  uint64_t random = 0;
  (void)::getrandom(&random, sizeof(random), GRND_NONBLOCK);
  std::string name = text(kPrefix, static_cast<int64_t>(::getpid()), "-", random);
  sockaddr_un where;
  socklen_t length = addressOf(name, where);
  int fresh = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fresh >= 0 && ::bind(fresh, reinterpret_cast<sockaddr *>(&where), length) != 0) {
    ::close(fresh);
    fresh = -1;
  }
  socket = fresh;
  if (socket >= 0)
    address = std::move(name);
}

void RollCall::read() {
  int32_t rank = 0;
  while (socket >= 0 && ::recv(socket, &rank, sizeof(rank), 0) == sizeof(rank))
    present.insert(rank);
}

int RollCall::firstMissing(int ranks) const {
  for (int rank = 0; socket >= 0 && rank < ranks; ++rank)
    if (!present.contains(rank))
      return rank;
  return -1;
}

void answerRollCall(int rank) {
  std::string name = envText(EnvVar::Child);
  if (name.rfind(kPrefix, 0) != 0 || name.size() >= sizeof(sockaddr_un::sun_path) - 1)
    return;
  sockaddr_un where;
  socklen_t length = addressOf(name, where);
  int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0)
    return;
  timeval patience = {5, 0}; // with a launcher that is stopped
  (void)::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  int32_t number = rank;
  (void)::sendto(socket, &number, sizeof(number), MSG_NOSIGNAL,
                 reinterpret_cast<sockaddr *>(&where), length);
  ::close(socket);
}

} // namespace dtc::rt
