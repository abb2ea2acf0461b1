#include "runtime/comm/RendezvousWire.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

namespace dtc::rt {
using format::text;

namespace {
// Header of every message: magic number, word, and the bytes of its payload.
constexpr uint64_t kMagic = 0x31746d6e75727464; // "dtrunmt1"
constexpr size_t kHeader = 24;
} // namespace

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void put(std::string &payload, uint64_t number) {
  for (int byte = 0; byte < 8; ++byte)
    payload += static_cast<char>(number >> (8 * byte) & 0xff);
}

void put(std::string &payload, const std::string &bytes) {
  put(payload, bytes.size());
  payload += bytes;
}

bool take(std::string_view &payload, uint64_t &number) {
  if (payload.size() < 8)
    return false;
  number = 0;
  for (size_t byte = 0; byte < 8; ++byte)
    number |= static_cast<uint64_t>(static_cast<uint8_t>(payload[byte])) << (8 * byte);
  payload.remove_prefix(8);
  return true;
}

bool take(std::string_view &payload, size_t most, std::string &bytes) {
  uint64_t length = 0;
  if (!take(payload, length) || length > most || length > payload.size())
    return false;
  bytes = payload.substr(0, length);
  payload.remove_prefix(length);
  return true;
}

Wire::~Wire() {
  if (socket >= 0)
    ::close(socket);
}

void Wire::send(Word word, const std::string &payload) {
  put(out, kMagic);
  put(out, static_cast<uint64_t>(word));
  put(out, payload);
  flush();
}

void Wire::flush() {
  while (!out.empty() && !failed) {
    ssize_t sent = ::send(socket, out.data(), out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent < 0) {
      failed = errno != EAGAIN && errno != EWOULDBLOCK;
      break;
    }
    out.erase(0, static_cast<size_t>(sent));
  }
  if (failed) // receive() reports the reason
    out.clear();
}

bool Wire::receive(size_t most, std::vector<Message> &messages, std::string &why) {
  bool isOpen = true;
  char block[8192];
  // A sender that never pauses is heard in turns.
  for (size_t taken = 0; isOpen && taken <= most + kHeader;) {
    ssize_t count = ::recv(socket, block, sizeof(block), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      break;
    isOpen = count > 0;
    if (!isOpen)
      why = count == 0 ? "has ended, or closed the connection" : std::strerror(errno);
    else
      in.append(block, static_cast<size_t>(count));
    taken += isOpen ? static_cast<size_t>(count) : 0;
  }
  while (in.size() >= kHeader) {
    std::string_view rest = in;
    uint64_t magic = 0, word = 0, length = 0;
    (void)(take(rest, magic) && take(rest, word) && take(rest, length));
    if (magic != kMagic || word > static_cast<uint64_t>(Word::Failed) || length > most) {
      why = "does not speak as ranks of dtrun do";
      return false;
    }
    if (rest.size() < length)
      break;
    messages.push_back({static_cast<Word>(word), std::string(rest.substr(0, length))});
    in.erase(0, kHeader + length);
  }
  return isOpen;
}

bool Wire::await(size_t most, double deadline, Message &message, std::string &why) {
  for (bool isOpen = true; ready.empty();) {
    double left = deadline - now();
    if (!isOpen)
      return false;
    if (left <= 0) {
      why = "does not answer";
      return false;
    }
    pollfd watched = {socket, static_cast<short>(POLLIN | (wantsToWrite() ? POLLOUT : 0)), 0};
    (void)::poll(&watched, 1, static_cast<int>(std::min(left * 1000 + 1, 1000.0)));
    flush();
    isOpen = receive(most, ready, why);
  }
  message = std::move(ready.front());
  ready.erase(ready.begin());
  return true;
}

std::string addressText(const sockaddr_storage &address) {
  char words[INET6_ADDRSTRLEN] = {};
  if (address.ss_family == AF_INET) {
    sockaddr_in four;
    std::memcpy(&four, &address, sizeof(four));
    (void)::inet_ntop(AF_INET, &four.sin_addr, words, sizeof(words));
  } else if (address.ss_family == AF_INET6) {
    sockaddr_in6 six;
    std::memcpy(&six, &address, sizeof(six));
    if (IN6_IS_ADDR_V4MAPPED(&six.sin6_addr))
      (void)::inet_ntop(AF_INET, six.sin6_addr.s6_addr + 12, words, sizeof(words));
    else
      (void)::inet_ntop(AF_INET6, &six.sin6_addr, words, sizeof(words));
  }
  return words;
}

bool isLoopback(const std::string &address) {
  return address == "::1" || address.starts_with("127.");
}

// -1, with errno, where the system refuses.
static int listenWith(int family, const sockaddr *address, socklen_t length) {
  int socket = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0)
    return -1;
  int on = 1, off = 0;
  (void)::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (family == AF_INET6)
    (void)::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  if (::bind(socket, address, length) == 0 && ::listen(socket, SOMAXCONN) == 0)
    return socket;
  int error = errno;
  ::close(socket);
  errno = error;
  return -1;
}

Status listenOn(uint16_t port, int &socket, int &error) {
  sockaddr_in6 six = {};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  socket = listenWith(AF_INET6, reinterpret_cast<sockaddr *>(&six), sizeof(six));
  if (socket < 0 && errno != EADDRINUSE && errno != EACCES) { // a machine without IPv6
    sockaddr_in four = {};
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    socket = listenWith(AF_INET, reinterpret_cast<sockaddr *>(&four), sizeof(four));
  }
  error = socket < 0 ? errno : 0;
  return socket >= 0 ? Status()
                     : Status::unavailable(text("port ", port, ": ", std::strerror(error)));
}

int connectTo(const sockaddr *address, socklen_t length, double deadline, std::string &why,
              bool &isSilent) {
  isSilent = false;
  int socket = ::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int error = socket < 0 ? errno : 0, on = 1;
  if (socket >= 0) {
    (void)::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    error = ::connect(socket, address, length) == 0 ? 0 : errno;
  }
  if (error == EINPROGRESS) {
    pollfd watched = {socket, POLLOUT, 0};
    int ready = 0;
    do
      ready = ::poll(&watched, 1, static_cast<int>(std::max(deadline - now(), 0.0) * 1000) + 1);
    while (ready < 0 && errno == EINTR);
    isSilent = ready == 0;
    socklen_t size = sizeof(error);
    if (isSilent || ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
      error = ETIMEDOUT;
  }
  if (error == 0)
    return socket;
  isSilent = isSilent || error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH;
  why = std::strerror(error);
  if (socket >= 0)
    ::close(socket);
  return -1;
}

} // namespace dtc::rt
