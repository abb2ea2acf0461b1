#include "runtime/monitor/Link.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

namespace dtc::rt {
using format::text;

Link::~Link() {
  if (socket >= 0)
    ::close(socket);
}

bool Link::isNear() const {
  sockaddr_in own = {}, other = {};
  socklen_t ownSize = sizeof(own), otherSize = sizeof(other);
  return ::getsockname(socket, reinterpret_cast<sockaddr *>(&own), &ownSize) == 0 &&
         ::getpeername(socket, reinterpret_cast<sockaddr *>(&other), &otherSize) == 0 &&
         own.sin_addr.s_addr == other.sin_addr.s_addr;
}

void Link::send(const Frame &frame, bool mayBeDropped) {
  constexpr size_t most = 4 * kMostFrameBytes;
  if (failed || (mayBeDropped && !out.empty()))
    return;
  std::vector<uint8_t> bytes = encode(frame);
  if (out.size() + bytes.size() > most) {
    failed = true;
    return;
  }
  out.insert(out.end(), bytes.begin(), bytes.end());
  flush();
}

void Link::flush() {
  while (!out.empty() && !failed) {
    ssize_t sent = ::send(socket, out.data(), out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent < 0) {
      failed = errno != EAGAIN && errno != EWOULDBLOCK;
      return;
    }
    out.erase(out.begin(), out.begin() + sent);
  }
}

static uint32_t numberAt(const std::vector<uint8_t> &bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i)
    value |= static_cast<uint32_t>(bytes[at + i]) << (8 * i);
  return value;
}

bool Link::takeFrame(std::vector<Frame> &frames, std::string &why) {
  size_t length = numberAt(in, 0);
  Frame frame;
  Status status =
      length > kMostFrameBytes ? Status::dataLoss(text("a frame of ", length, " bytes")) : Status();
  if (status.ok() && in.size() < kFrameHeader + length)
    return false;
  if (status.ok())
    status = decode(numberAt(in, 4), std::span(in).subspan(kFrameHeader, length), frame);
  if (!status.ok()) {
    failed = true;
    why = text("sent what no keeper sends: ", status.message());
    return false;
  }
  frames.push_back(std::move(frame));
  in.erase(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(kFrameHeader + length));
  return true;
}

bool Link::receive(std::vector<Frame> &frames, std::string &why) {
  uint8_t block[8192];
  bool isOpen = !failed;
  for (int blocks = 0; isOpen && blocks < 16; ++blocks) {
    ssize_t count = ::recv(socket, block, sizeof(block), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      break;
    if (count <= 0) {
      isOpen = false;
      why = count == 0 ? "has ended, or closed the connection"
                       : text("is out of reach: ", std::strerror(errno));
      break;
    }
    in.insert(in.end(), block, block + count);
  }
  while (in.size() >= kFrameHeader && takeFrame(frames, why)) {
  }
  return isOpen && !failed;
}

// Addresses of interfaces that are up; the machine's own, which others can't use, last.
static void findAddresses(KeeperAddress &address) {
  size_t count = 0;
  ifaddrs *all = nullptr;
  if (::getifaddrs(&all) == 0) {
    for (ifaddrs *each = all; each && count + 1 < KeeperAddress::kAddresses;
         each = each->ifa_next) {
      if (!each->ifa_addr || each->ifa_addr->sa_family != AF_INET || !(each->ifa_flags & IFF_UP) ||
          (each->ifa_flags & IFF_LOOPBACK))
        continue;
      sockaddr_in internet = {};
      std::memcpy(&internet, each->ifa_addr, sizeof(internet));
      address.addresses[count++] = internet.sin_addr.s_addr;
    }
    ::freeifaddrs(all);
  }
  address.addresses[count] = htonl(INADDR_LOOPBACK);
}

Status openListener(int &socket, KeeperAddress &address) {
  address = {};
  auto refused = [&](const char *doing) {
    Status status = Status::unavailable(text(
        "opening a socket for the keepers of other ranks: ", doing, ": ", std::strerror(errno)));
    if (socket >= 0)
      ::close(socket);
    socket = -1;
    return status;
  };
  socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in own = {};
  own.sin_family = AF_INET;
  socklen_t length = sizeof(own);
  if (socket < 0)
    return refused("socket");
  if (::bind(socket, reinterpret_cast<sockaddr *>(&own), length) != 0 ||
      ::listen(socket, SOMAXCONN) != 0 ||
      ::getsockname(socket, reinterpret_cast<sockaddr *>(&own), &length) != 0)
    return refused("bind");
  address.port = own.sin_port;
  if (::getrandom(address.secret, sizeof(address.secret), 0) != sizeof(address.secret))
    return refused("getrandom");
  findAddresses(address);
  return {};
}

static void sendAtOnce(int socket) {
  int on = 1;
  (void)::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

int acceptLink(int listener) {
  int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (socket >= 0)
    sendAtOnce(socket);
  return socket;
}

int beginConnect(const KeeperAddress &address, size_t which) {
  if (which >= KeeperAddress::kAddresses || address.addresses[which] == 0)
    return -1;
  int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0)
    return -1;
  sendAtOnce(socket);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = address.port;
  to.sin_addr.s_addr = address.addresses[which];
  // A pending or refused connection shows when something is sent.
  (void)::connect(socket, reinterpret_cast<sockaddr *>(&to), sizeof(to));
  return socket;
}

} // namespace dtc::rt
