// Messages of a rendezvous over one socket, and sockets for it.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <memory>
#include <string>
#include <sys/socket.h>
#include <vector>

namespace dtc::rt {

enum class Word : uint32_t {
  Hello,   // a guest says who it is
  Taken,   // the host knows it, and waits for others
  Refused, // it is of another job, or cannot be of this one
  Welcome, // all have come
  Parcel,  // what a guest sends to all ranks, or what all send to it
  Failed,  // the job cannot start; why
};

struct Message {
  Word word = Word::Hello;
  std::string payload;
};

// Of a socket that does not block, and is the wire's from now on.
class Wire {
public:
  explicit Wire(int socket) : socket(socket) {}
  ~Wire();
  Wire(const Wire &) = delete;
  Wire &operator=(const Wire &) = delete;

  int descriptor() const { return socket; }
  bool wantsToWrite() const { return !out.empty(); }
  // Sends what can be sent now, the rest when flush() is called.
  void send(Word word, const std::string &payload);
  void flush();
  // Reads what is there, and appends the messages in it. False once the other end has closed the connection, or has sent
  // what is no message or one of more than `most` bytes; `why` says so.
  bool receive(size_t most, std::vector<Message> &messages, std::string &why);
  // The next message, which comes by `deadline` (seconds of now()), else false.
  bool await(size_t most, double deadline, Message &message, std::string &why);

private:
  int socket;
  bool failed = false;
  std::string in, out;
  std::vector<Message> ready; // of await
};

// Seconds of a clock that only goes on.
double now();

// Fields of payloads. take() removes one from the front; false where it is not there in full.
void put(std::string &payload, uint64_t number);
void put(std::string &payload, const std::string &bytes);
bool take(std::string_view &payload, uint64_t &number);
bool take(std::string_view &payload, size_t most, std::string &bytes);

// "10.0.0.7" or "::1", also of an IPv4 address in the guise of IPv6.
std::string addressText(const sockaddr_storage &address);
bool isLoopback(const std::string &address);

// Listens on all addresses of this machine. Unavailable where that is refused, with errno in `error`.
Status listenOn(uint16_t port, int &socket, int &error);
// Connects by `deadline`; -1 and `why` where that fails, and `isSilent` where nobody answered at all.
int connectTo(const sockaddr *address, socklen_t length, double deadline, std::string &why,
              bool &isSilent);

} // namespace dtc::rt
