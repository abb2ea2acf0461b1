// The side of guests of a rendezvous.
#include "runtime/comm/RendezvousGuest.h"

#include "runtime/base/Env.h"
#include "runtime/base/Text.h"
#include "runtime/comm/RendezvousAddress.h"
#include "runtime/comm/RendezvousHello.h"
#include "runtime/comm/RendezvousWire.h"
#include "runtime/format/Printable.h"

#include <algorithm>
#include <cstring>
#include <netdb.h>
#include <netinet/in.h>
#include <thread>
#include <unistd.h>

namespace dtc::rt {
using format::text;

namespace {
constexpr double kConnectSeconds = 2, kAnswerSeconds = 5;
// Rank 0 knows more than a guest: it speaks first.
constexpr double kPatience = 5;
// Longest pauses between a guest's tries, in seconds; the second one applies to a rendezvous that
// the job does not depend on.
constexpr double kMostPause = 0.5, kMostIdlePause = 3;
// Longest text that is accepted at rank 0's port, where a stranger may listen; ranks send less.
constexpr size_t kMostWords = 2000;
} // namespace

// On one line, without what would steer a terminal.
static std::string quotePayload(std::string_view words) {
  std::string out = format::printable(words.substr(0, kMostWords));
  for (char &letter : out)
    if (letter == '\n' || letter == '\t')
      letter = ' ';
  return out;
}

namespace {
class Guest final : public Rendezvous {
public:
  explicit Guest(const RendezvousOptions &options) : options(options) {}
  Status join();
  Status exchange(const std::vector<std::string> &sent,
                  std::vector<std::string> &received) override;
  const std::string &address() const override { return ownAddress; }
  const std::string &token() const override { return ownToken; }

private:
  enum class Contact { Met, NotHere, Silent, Refused };
  Contact tryAddress(const addrinfo &each, double deadline);
  Contact tryHost(const std::string &host, double deadline);
  Contact tryAll(double deadline);
  static bool isFinal(Contact contact) {
    return contact == Contact::Met || contact == Contact::Refused;
  }
  // Checks that the peer of an open connection is the host of this job.
  Contact sayHello(double deadline);
  std::string describeAbsence() const;
  bool isOver() const { return options.isOver && *options.isOver; }
  void pauseFor(double seconds) const;
  // The host's next message, which is to be a `word`.
  Status receive(Word word, double seconds, std::string &payload);

  RendezvousOptions options;
  std::unique_ptr<Wire> wire;
  std::string ownAddress, ownToken;
  std::string words; // reason why the last try failed
};
} // namespace

Guest::Contact Guest::sayHello(double deadline) {
  sockaddr_storage local = {};
  socklen_t length = sizeof(local);
  (void)::getsockname(wire->descriptor(), reinterpret_cast<sockaddr *>(&local), &length);
  Hello hello{hashOf(options.job),
              static_cast<uint64_t>(options.rank),
              static_cast<uint64_t>(options.size),
              static_cast<uint64_t>(::getpid()),
              ownHostName(),
              addressText(local)};
  wire->send(Word::Hello, encode(hello));
  Message answer;
  if (!wire->await(mostBytes(options.size), std::min(deadline, now() + kAnswerSeconds), answer,
                   words))
    return Contact::NotHere;
  if (answer.word == Word::Taken)
    return Contact::Met;
  words = quotePayload(answer.payload);
  return answer.word == Word::Refused && !words.starts_with(kOtherJob) ? Contact::Refused
                                                                       : Contact::NotHere;
}

Guest::Contact Guest::tryAddress(const addrinfo &each, double deadline) {
  bool isSilent = false;
  int socket = connectTo(each.ai_addr, each.ai_addrlen, std::min(deadline, now() + kConnectSeconds),
                         words, isSilent);
  if (socket < 0)
    return isSilent ? Contact::Silent : Contact::NotHere;
  wire = std::make_unique<Wire>(socket);
  return sayHello(deadline);
}

// Each address of a host, and each port where rank 0 may listen.
Guest::Contact Guest::tryHost(const std::string &host, double deadline) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (options.addresses.empty() ? 0 : AI_NUMERICHOST);
  if (int error =
          ::getaddrinfo(host.c_str(), std::to_string(options.ports[0]).c_str(), &hints, &found)) {
    words = text("the name has no address: ", ::gai_strerror(error));
    return Contact::NotHere;
  }
  Contact contact = Contact::NotHere;
  for (const addrinfo *each = found; each && !isFinal(contact); each = each->ai_next)
    for (uint16_t port : options.ports) {
      auto *name = reinterpret_cast<sockaddr_in *>(each->ai_addr);
      name->sin_port = htons(port); // the port has the same offset for IPv6
      contact = now() >= deadline || isOver() ? Contact::Silent : tryAddress(*each, deadline);
      if (contact != Contact::NotHere)
        break;
    }
  ::freeaddrinfo(found);
  return contact;
}

Guest::Contact Guest::tryAll(double deadline) {
  Contact contact = Contact::NotHere;
  std::string_view rest = options.addresses.empty() ? options.host : options.addresses;
  while (!rest.empty() && !isFinal(contact))
    contact = tryHost(takeHost(rest), deadline);
  return contact;
}

Status Guest::receive(Word word, double seconds, std::string &payload) {
  Message message;
  std::string who = text("rank ", options.rank, " on host '", ownHostName(), "': ");
  if (!wire->await(mostBytes(options.size), now() + seconds + kPatience, message, words))
    return Status::aborted(
        text(who, "rank 0 on host '", options.host, "' ", words, " while the ranks meet"));
  if (message.word == Word::Failed && options.isOver)
    return Status::aborted(quotePayload(message.payload));
  if (message.word == Word::Failed)
    return Status::aborted(options.isQuiet ? std::string() : who + quotePayload(message.payload));
  if (message.word != word)
    return Status::aborted(text(who, "rank 0 says what it could not say then"));
  payload = std::move(message.payload);
  return {};
}

// "no rank 0 of this job is at 'a' (MASTER_ADDR), ports 29500 to 29508 (connecting to it:
// Connection refused)"
std::string Guest::describeAbsence() const {
  return text("no rank 0 of this job is at '", options.host, "' (", options.hostVariable, "), port",
              options.ports.size() > 1 ? text("s ", options.ports.front(), " to ") : " ",
              options.ports.back(), " (", words, ")");
}

// Ends early where all is over: somebody waits for that.
void Guest::pauseFor(double seconds) const {
  for (double until = now() + seconds; now() < until && !isOver();)
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(until - now(), 0.1)));
}

Status Guest::join() {
  double deadline = now() + options.seconds, pause = 0.02;
  for (;;) {
    Contact contact = tryAll(deadline);
    if (contact == Contact::Met)
      break;
    if (isOver())
      return Status::unavailable("");
    std::string who = text("rank ", options.rank, " on host '", ownHostName(), "'");
    if (contact == Contact::Refused)
      return Status::invalidArgument(text(who, " is refused by rank 0: ", words));
    if (now() >= deadline)
      return Status::aborted(
          options.isOver
              ? describeAbsence() +
                    ": it has not started dtrun, is elsewhere, or its port is closed"
              : text(who, " waited ", options.seconds, " s for rank 0: ", describeAbsence(),
                     "; where ranks need longer to start, raise ",
                     envInfo(EnvVar::StartTimeout).name, " or --timeout"));
    pauseFor(std::min(pause, deadline - now()));
    pause = std::min(pause * 1.5, options.isOver ? kMostIdlePause : kMostPause);
  }
  std::string payload;
  DTC_RETURN_IF_ERROR(receive(Word::Welcome, options.seconds, payload));
  std::string_view rest = payload;
  if (!take(rest, 64, ownAddress) || !take(rest, 64, ownToken))
    return Status::aborted("rank 0 says where this rank is in words that no rank 0 uses");
  return {};
}

Status Guest::exchange(const std::vector<std::string> &sent, std::vector<std::string> &received) {
  wire->send(Word::Parcel, encodePieces(sent));
  std::string payload;
  DTC_RETURN_IF_ERROR(receive(Word::Parcel, options.seconds, payload));
  if (!decodePieces(payload, static_cast<size_t>(options.size), received))
    return Status::aborted("rank 0 sent a parcel that none of the ranks makes");
  return {};
}

Status rendezvousAsGuest(const RendezvousOptions &options,
                         std::unique_ptr<Rendezvous> &rendezvous) {
  auto guest = std::make_unique<Guest>(options);
  DTC_RETURN_IF_ERROR(guest->join());
  rendezvous = std::move(guest);
  return {};
}

} // namespace dtc::rt
