#include "runtime/metrics/HttpServer.h"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <atomic>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace dtc::rt {
namespace {

class Http : public testing::Test {
protected:
  void SetUp() override {
    Status status = HttpServer::listen(
        "127.0.0.1", 0,
        [this] {
          ++pages;
          return std::string(size, 'x') + "\n";
        },
        server);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  int connect() const {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(server->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(::connect(socket, reinterpret_cast<sockaddr *>(&address), sizeof(address)), 0);
    return socket;
  }

  static std::string rest(int socket) {
    std::string all;
    char bytes[4096];
    for (ssize_t count; (count = ::recv(socket, bytes, sizeof(bytes), 0)) > 0;)
      all.append(bytes, static_cast<size_t>(count));
    ::close(socket);
    return all;
  }

  // Sends a request in two parts and returns the answer.
  std::string ask(const std::string &request) const {
    int socket = connect();
    size_t half = request.size() / 2;
    EXPECT_EQ(::send(socket, request.data(), half, MSG_NOSIGNAL), static_cast<ssize_t>(half));
    (void)::send(socket, request.data() + half, request.size() - half, MSG_NOSIGNAL);
    return rest(socket);
  }

  std::unique_ptr<HttpServer> server;
  std::atomic<int> pages = 0;
  size_t size = 3;
};

TEST_F(Http, AnswersWithThePage) {
  EXPECT_EQ(ask("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
            "Content-Length: 4\r\nConnection: close\r\n\r\nxxx\n");
  std::string head = ask("HEAD /metrics?x=1 HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(head.starts_with("HTTP/1.1 200 OK\r\n")) << head;
  EXPECT_TRUE(head.ends_with("Content-Length: 4\r\nConnection: close\r\n\r\n")) << head;
}

TEST_F(Http, SaysWhatItDoesNotAnswer) {
  EXPECT_TRUE(ask("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
  EXPECT_TRUE(ask("GET /metrics2 HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
  EXPECT_TRUE(ask("POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
  EXPECT_TRUE(ask(std::string("\0\xff\r\n\r\n", 6)).starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(ask("GET  HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
  EXPECT_TRUE(ask("GET\r\n\r\n").starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(ask("GET /" + std::string(30000, 'a')).starts_with("HTTP/1.1 400 "));
  EXPECT_EQ(pages, 0);
}

TEST_F(Http, SendsPagesThatNoBufferHolds) {
  size = 30'000'000;
  std::string all = ask("GET /metrics HTTP/1.1\r\n\r\n");
  EXPECT_EQ(all.size() - all.find("\r\n\r\n") - 4, size + 1);
}

// Up to fifteen silent clients do not delay others.
TEST_F(Http, AnswersBesideOthersThatWait) {
  std::vector<int> silent;
  for (int i = 0; i < 15; ++i)
    silent.push_back(connect());
  EXPECT_TRUE(ask("GET /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200 "));
  // One more makes the next client wait until their time is over.
  silent.push_back(connect());
  EXPECT_TRUE(ask("GET /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200 "));
  for (int each : silent)
    ::close(each);
}

TEST_F(Http, EndsWithClientsThatAreStillThere) {
  int socket = connect();
  EXPECT_EQ(::send(socket, "GET", 3, MSG_NOSIGNAL), 3);
  server.reset();
  EXPECT_EQ(rest(socket), "");
}

TEST_F(Http, SaysWhereItCannotListen) {
  std::unique_ptr<HttpServer> other;
  int taken = server->port();
  Status status = HttpServer::listen(
      "127.0.0.1", taken, [] { return ""; }, other);
  EXPECT_EQ(status.message(), "serving metrics at 127.0.0.1:" + std::to_string(taken) +
                                  ": Address already in use; name another --metrics-port or "
                                  "--metrics-host");
  EXPECT_EQ(status.statusCode(), StatusCode::InvalidArgument);
  status = HttpServer::listen(
      "localhost", 0, [] { return ""; }, other);
  EXPECT_NE(status.message().find("it is no numeric IPv4 or IPv6 address"), std::string::npos);
  EXPECT_EQ(other, nullptr);
}

} // namespace
} // namespace dtc::rt
