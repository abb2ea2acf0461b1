// Messages of a rendezvous over one socket, and sockets for it.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <memory>
#include <string>
#include <sys/socket.h>
#include <vector>

namespace dtc::rt {

// The kind of a message.
enum class Word : uint32_t {
  Hello,   // a guest says who it is
  Taken,   // the host knows it, and waits for others
  Refused, // it is of another job, or cannot be of this one
  Welcome, // all have come
  Parcel,  // data from a guest to all ranks, or the data of all ranks to a guest
  Failed,  // the job cannot start; why
};

// One message of the rendezvous.
struct Message {
  Word word = Word::Hello;
  std::string payload;
};

// A connection that sends and receives messages without blocking; owns its socket.
class Wire {
public:
  explicit Wire(int socket) : socket(socket) {}
  ~Wire();
  Wire(const Wire &) = delete;
  Wire &operator=(const Wire &) = delete;

  int descriptor() const { return socket; }
  // Returns true if bytes are waiting to be sent.
  bool wantsToWrite() const { return !out.empty(); }
  // Sends what can be sent now, the rest when flush() is called.
  void send(Word word, const std::string &payload);
  // Sends as many of the waiting bytes as the socket takes.
  void flush();
  // Reads what is there, and appends the messages in it. False once the other end has closed the
  // connection, or has sent what is no message or one of more than `most` bytes; `why` says so.
  bool receive(size_t most, std::vector<Message> &messages, std::string &why);
  // The next message, which comes by `deadline` (seconds of now()), else false.
  bool await(size_t most, double deadline, Message &message, std::string &why);

private:
  int socket;
  bool failed = false;
  std::string in, out;
  std::vector<Message> ready; // messages received but not yet returned by await
};

// Seconds of a clock that only goes on.
double now();

// Fields of payloads. take() removes one from the front; false where it is not there in full.
void put(std::string &payload, uint64_t number);
// Appends a string, with its length before it.
void put(std::string &payload, const std::string &bytes);
// Removes a number from the front.
bool take(std::string_view &payload, uint64_t &number);
// Removes a string of at most `most` bytes from the front.
bool take(std::string_view &payload, size_t most, std::string &bytes);

// "10.0.0.7" or "::1", also of an IPv4 address in the guise of IPv6.
std::string addressText(const sockaddr_storage &address);
// Returns true if the address is one of this machine's loopback.
bool isLoopback(const std::string &address);

// Listens on all addresses of this machine. Unavailable where that is refused, with errno in
// `error`.
Status listenOn(uint16_t port, int &socket, int &error);
// Connects by `deadline`; -1 and `why` where that fails, and `isSilent` where nobody answered at
// all.
int connectTo(const sockaddr *address, socklen_t length, double deadline, std::string &why,
              bool &isSilent);

} // namespace dtc::rt
