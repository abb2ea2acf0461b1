// The roll call over a datagram socket: a rank sends its number.
#include "runtime/comm/RollCall.h"

#include "runtime/base/Env.h"
#include "runtime/base/Text.h"
#include "runtime/format/Printable.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

namespace dtc::rt {
using format::text;

constexpr std::string_view kPrefix = "dtrun-launch-";
constexpr size_t kMostCause = 2000; // bytes
// In place of a rank, before words.
constexpr int32_t kCause = -1, kNote = -2, kEnd = -3;

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

double launchClock() {
  struct timespec now = {};
  (void)::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// A rank and nothing, or another number and words.
void RollCall::read() {
  char message[sizeof(int32_t) + kMostCause];
  for (;;) {
    ssize_t size = socket < 0 ? -1 : ::recv(socket, message, sizeof(message), 0);
    int32_t rank = 0;
    if (size < static_cast<ssize_t>(sizeof(rank)))
      return;
    std::memcpy(&rank, message, sizeof(rank));
    std::string_view words(message + sizeof(rank), static_cast<size_t>(size) - sizeof(rank));
    if (rank >= 0)
      present.insert(rank);
    else if (rank == kNote)
      left = words;
    else if (rank == kEnd)
      ended.emplace(words);
    else if (reported.empty()) {
      reported = format::printable(words);
      reportedAt = launchClock();
    }
  }
}

// To the launcher, if one started this process, which has some seconds to read it unless this does
// not wait.
static void sendToLauncher(int32_t rank, std::string_view words, int flags = 0) {
  std::string name = envText(EnvVar::Child);
  if (name.rfind(kPrefix, 0) != 0 || name.size() >= sizeof(sockaddr_un::sun_path) - 1)
    return;
  sockaddr_un where;
  socklen_t length = addressOf(name, where);
  int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0)
    return;
  timeval patience = {5, 0}; // for a launcher that is stopped
  (void)::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  std::string message(sizeof(rank), '\0');
  std::memcpy(message.data(), &rank, sizeof(rank));
  message += words.substr(0, kMostCause);
  (void)::sendto(socket, message.data(), message.size(), MSG_NOSIGNAL | flags,
                 reinterpret_cast<sockaddr *>(&where), length);
  ::close(socket);
}

void answerRollCall(int rank) { sendToLauncher(rank, {}); }

void reportEnd(int rank) { sendToLauncher(kEnd, text(rank)); }

void sendToLauncher(std::string_view cause) {
  constexpr std::string_view prefix = "dtrun: ";
  if (cause.starts_with(prefix))
    cause.remove_prefix(prefix.size());
  sendToLauncher(kCause, cause.substr(0, cause.find('\n')));
}

void leaveNote(std::string_view note) { sendToLauncher(kNote, note, MSG_DONTWAIT); }

} // namespace dtc::rt
