#include "runtime/metrics/HttpServer.h"

#include "runtime/base/Text.h"

#include <arpa/inet.h>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <string_view>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace dtc::rt {
namespace {

using format::text;

constexpr size_t kMostClients = 16, kMostRequest = 8192;
constexpr double kPatience = 5; // seconds for a whole exchange

double now() {
  struct timespec time = {};
  (void)::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::string answer(const char *status, const char *type, const std::string &body, bool isHead) {
  return text("HTTP/1.1 ", status, "\r\nContent-Type: ", type, "\r\nContent-Length: ", body.size(),
              "\r\nConnection: close\r\n\r\n", isHead ? "" : body);
}

// Returns the response to a request, which ends before the empty line.
std::string respond(std::string_view request, const std::function<std::string()> &page) {
  std::string_view line = request.substr(0, request.find('\r'));
  size_t first = line.find(' '), last = line.rfind(' ');
  constexpr const char *plain = "text/plain; charset=utf-8";
  if (first == std::string_view::npos || first == last ||
      line.substr(last + 1).substr(0, 7) != "HTTP/1.")
    return answer("400 Bad Request", plain, "wanted GET /metrics HTTP/1.1\n", false);
  std::string_view method = line.substr(0, first);
  std::string_view target = line.substr(first + 1, last - first - 1);
  bool isHead = method == "HEAD";
  if (method != "GET" && !isHead)
    return answer("405 Method Not Allowed", plain, "wanted GET\n", false);
  if (target.substr(0, target.find('?')) != "/metrics")
    return answer("404 Not Found", plain, "wanted /metrics\n", isHead);
  return answer("200 OK", "text/plain; version=0.0.4; charset=utf-8", page(), isHead);
}

struct Client {
  int socket = -1;
  double deadline = 0;
  std::string request, response;
  size_t sent = 0;
  bool isDrained = false; // all is sent: the connection closes when the other side has closed it
};

struct Address {
  sockaddr_storage storage = {};
  socklen_t size = 0;
  sockaddr *get() { return reinterpret_cast<sockaddr *>(&storage); }
};

bool resolve(const std::string &name, int port, Address &address) {
  auto *four = reinterpret_cast<sockaddr_in *>(&address.storage);
  auto *six = reinterpret_cast<sockaddr_in6 *>(&address.storage);
  if (::inet_pton(AF_INET, name.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(static_cast<uint16_t>(port));
    address.size = sizeof(*four);
  } else if (::inet_pton(AF_INET6, name.c_str(), &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(static_cast<uint16_t>(port));
    address.size = sizeof(*six);
  }
  return address.size > 0;
}

class Server : public HttpServer {
public:
  explicit Server(std::function<std::string()> page) : page(std::move(page)) {}
  ~Server() override;
  int port() const override { return number; }

  Status open(Address address);
  Status start();

private:
  void serve();
  void accept();
  // Returns false if the client is finished.
  bool advance(Client &client, short events);
  bool read(Client &client);
  bool write(Client &client);

  std::function<std::string()> page;
  int listener = -1, wake = -1, number = 0;
  bool runs = false;
  pthread_t thread = {};
  std::vector<Client> clients;
};

Server::~Server() {
  if (runs) {
    uint64_t one = 1;
    (void)!::write(wake, &one, sizeof(one));
    ::pthread_join(thread, nullptr);
  }
  for (int each : {listener, wake})
    if (each >= 0)
      ::close(each);
}

Status Server::open(Address address) {
  listener = ::socket(address.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  wake = ::eventfd(0, EFD_CLOEXEC);
  int yes = 1;
  constexpr int kWaiting = 16;
  if (listener < 0 || wake < 0 ||
      ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
      ::bind(listener, address.get(), address.size) != 0 || ::listen(listener, kWaiting) != 0 ||
      ::getsockname(listener, address.get(), &address.size) != 0)
    return Status::invalidArgument(std::strerror(errno));
  number = ntohs(address.get()->sa_family == AF_INET
                     ? reinterpret_cast<sockaddr_in *>(address.get())->sin_port
                     : reinterpret_cast<sockaddr_in6 *>(address.get())->sin6_port);
  return {};
}

// Blocks all signals in the server's thread: they are for the other threads.
Status Server::start() {
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = ::pthread_create(
      &thread, nullptr,
      [](void *self) -> void * {
        static_cast<Server *>(self)->serve();
        return nullptr;
      },
      this);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  runs = error == 0;
  return runs ? Status() : Status::unavailable(text("starting a thread: ", std::strerror(error)));
}

void Server::serve() {
  for (;;) {
    std::vector<pollfd> watched = {{wake, POLLIN, 0},
                                   {clients.size() < kMostClients ? listener : -1, POLLIN, 0}};
    for (const Client &client : clients)
      watched.push_back(
          {client.socket,
           static_cast<short>(client.response.empty() || client.isDrained ? POLLIN : POLLOUT), 0});
    constexpr int kMillis = 500; // longest sleep between looks at the clock
    (void)::poll(watched.data(), watched.size(), clients.empty() ? -1 : kMillis);
    if (watched[0].revents)
      break;
    double time = now();
    for (size_t i = clients.size(); i-- > 0;)
      if (time > clients[i].deadline || !advance(clients[i], watched[i + 2].revents)) {
        ::close(clients[i].socket);
        clients.erase(clients.begin() + static_cast<std::ptrdiff_t>(i));
      }
    if (watched[1].revents)
      accept();
  }
  for (const Client &client : clients)
    ::close(client.socket);
}

void Server::accept() {
  int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (socket < 0)
    return;
  clients.emplace_back();
  clients.back().socket = socket;
  clients.back().deadline = now() + kPatience;
}

bool Server::advance(Client &client, short events) {
  if (events == 0)
    return true;
  return client.response.empty() || client.isDrained ? read(client) : write(client);
}

bool Server::read(Client &client) {
  char bytes[2048];
  ssize_t count = ::recv(client.socket, bytes, sizeof(bytes), 0);
  if (count < 0)
    return errno == EAGAIN || errno == EINTR;
  if (count == 0)
    return false;
  if (client.isDrained)
    return true; // bytes after the answer are ignored
  client.request.append(bytes, static_cast<size_t>(count));
  size_t end = client.request.find("\r\n\r\n");
  if (end == std::string::npos && client.request.size() < kMostRequest)
    return true;
  client.response = end == std::string::npos ? respond("", page)
                                             : respond(client.request.substr(0, end + 2), page);
  return write(client);
}

// Sends the answer. A connection that is closed at once with bytes unread would be reset, and the
// answer lost.
bool Server::write(Client &client) {
  ssize_t count = ::send(client.socket, client.response.data() + client.sent,
                         client.response.size() - client.sent, MSG_NOSIGNAL);
  if (count < 0)
    return errno == EAGAIN || errno == EINTR;
  client.sent += static_cast<size_t>(count);
  if (client.sent == client.response.size()) {
    client.isDrained = true;
    ::shutdown(client.socket, SHUT_WR);
  }
  return true;
}

} // namespace

Status HttpServer::listen(const std::string &name, int port, std::function<std::string()> page,
                          std::unique_ptr<HttpServer> &server) {
  bool isSix = name.find(':') != std::string::npos;
  std::string at = text("serving metrics at ", isSix ? "[" : "", name, isSix ? "]" : "", ":", port);
  constexpr const char *mend = "; name another --metrics-port or --metrics-host";
  Address address;
  if (!resolve(name, port, address))
    return Status::invalidArgument(text(at, ": it is no numeric IPv4 or IPv6 address", mend));
  auto made = std::make_unique<Server>(std::move(page));
  if (Status status = made->open(address); !status.ok())
    return Status::invalidArgument(text(at, ": ", status.message(), mend));
  if (Status status = made->start(); !status.ok())
    return Status(status.statusCode(), text(at, ": ", status.message()));
  server = std::move(made);
  return {};
}

} // namespace dtc::rt
