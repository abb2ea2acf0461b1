// Plans the rendezvous, and implements the side of guests.
#include "runtime/comm/Rendezvous.h"

#include "runtime/base/Env.h"
#include "runtime/base/Text.h"
#include "runtime/comm/RendezvousAddress.h"
#include "runtime/comm/RendezvousSides.h"
#include "runtime/comm/RendezvousWire.h"
#include "runtime/format/Printable.h"

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstring>
#include <netdb.h>
#include <netinet/in.h>
#include <thread>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dtc::rt {
using format::text;

namespace {
constexpr uint16_t kDefaultPort = 29500; // torchrun's
constexpr int kMorePorts = 8;            // behind the first
// Ports of jobs that launchers name: below Linux's ephemeral ports (32768), and far enough apart.
constexpr uint16_t kFirstJobPort = 20000, kJobPorts = 512, kPortsApart = 16;
constexpr int kMostRanks = 1024; // each is connected to each
constexpr double kConnectSeconds = 2, kAnswerSeconds = 5;
// Rank 0 knows more than a guest: it speaks first.
constexpr double kPatience = 5;
// Longest pauses between a guest's tries, in seconds; the second one applies to a rendezvous that
// the job does not depend on.
constexpr double kMostPause = 0.5, kMostIdlePause = 3;
// Longest text that is accepted at rank 0's port, where a stranger may listen; ranks send less.
constexpr size_t kMostWords = 2000;
} // namespace

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

static Status portOf(const char *name, const char *value, uint16_t &port) {
  std::string_view digits = value;
  auto [end, error] = std::from_chars(digits.begin(), digits.end(), port);
  if (error == std::errc() && end == digits.end() && port > 0)
    return {};
  return Status::invalidArgument(text("reading the launch environment: ", name, " is '", value,
                                      "'; wanted a port, 1 to 65535"));
}

// Jobs of one machine hardly ever have the same; where they do, their names keep them apart.
static uint16_t portOf(const std::string &job) {
  return static_cast<uint16_t>(kFirstJobPort + kPortsApart * (hashOf(job) % kJobPorts));
}

static std::string textOf(const EnvironmentReader &read, const char *name) {
  const char *value = read(name);
  return value ? value : "";
}

// The host, and the job's name, which is empty where nothing gives it one.
static Status planHost(const LaunchEnvironment &launch, const EnvironmentReader &read,
                       RendezvousAddress &place, RendezvousOptions &options) {
  // dtrun -n gives each job a name of its own.
  std::string child = textOf(read, envInfo(EnvVar::Child).name);
  bool isChild = child.size() > 1;
  options.host = textOf(read, "MASTER_ADDR");
  options.hostVariable = "MASTER_ADDR";
  if (options.host.empty()) {
    DTC_RETURN_IF_ERROR(findRendezvousAddress(launch, read, place));
    options.host = place.host;
    options.hostVariable = place.variable;
  }
  if (options.host.empty() && isChild) {
    options.host = "127.0.0.1";
    options.hostVariable = envInfo(EnvVar::Child).name;
  }
  if (options.host.empty())
    return Status::invalidArgument(text("joining the job of ", launch.source,
                                        ": MASTER_ADDR is not set; it names rank 0's host"));
  options.job = textOf(read, envInfo(EnvVar::JobId).name);
  if (options.job.empty())
    options.job = isChild ? child : place.job;
  return {};
}

Status planRendezvous(const LaunchEnvironment &launch, const EnvironmentReader &read,
                      double seconds, RendezvousOptions &options) {
  options.rank = launch.rank;
  options.size = launch.size;
  options.seconds = seconds;
  options.isQuiet = launch.localRank > 0;
  if (launch.size > kMostRanks)
    return Status::invalidArgument(text("joining the job of ", launch.source, ": more than ",
                                        kMostRanks, " ranks need MPI: mpirun or srun --mpi=pmix"));
  RendezvousAddress place;
  DTC_RETURN_IF_ERROR(planHost(launch, read, place, options));
  uint16_t port = place.job.empty() ? kDefaultPort : portOf(place.job);
  std::string chosen = textOf(read, envInfo(EnvVar::RendezvousPort).name),
              given = textOf(read, "MASTER_PORT");
  bool isNamed = !options.job.empty();
  if (!isNamed)
    options.job = textOf(read, "TORCHELASTIC_RUN_ID");
  if (!chosen.empty()) {
    DTC_RETURN_IF_ERROR(portOf(envInfo(EnvVar::RendezvousPort).name, chosen.c_str(), port));
    options.ports = {port};
    return {};
  }
  if (!given.empty())
    DTC_RETURN_IF_ERROR(portOf("MASTER_PORT", given.c_str(), port));
  // Two jobs of one name, as torchrun calls all "none" that were given no other, keep apart.
  if (!isNamed)
    options.job += text(" at port ", port);
  bool isTaken = textOf(read, "TORCHELASTIC_USE_AGENT_STORE") == "True";
  options.ports.clear();
  for (int next = port + (isTaken ? 1 : 0); next <= std::min(port + kMorePorts, 65535); ++next)
    options.ports.push_back(static_cast<uint16_t>(next));
  if (options.ports.empty())
    return Status::invalidArgument(text("reading the launch environment: no port is behind "
                                        "MASTER_PORT=",
                                        given, ", which torchrun's agent has; set ",
                                        envInfo(EnvVar::RendezvousPort).name));
  return {};
}

// "a,b" is "a" and then "b".
static std::string takeHost(std::string_view &hosts) {
  std::string host(hosts.substr(0, hosts.find(',')));
  hosts.remove_prefix(std::min(host.size() + 1, hosts.size()));
  return host;
}

Status findAddresses(RendezvousOptions &options) {
  std::string why = "there is none";
  for (std::string_view rest = options.host; !rest.empty();) {
    addrinfo hints = {}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    if (int error = ::getaddrinfo(takeHost(rest).c_str(), nullptr, &hints, &found)) {
      why = ::gai_strerror(error);
      continue;
    }
    for (const addrinfo *each = found; each; each = each->ai_next) {
      char number[NI_MAXHOST];
      if (::getnameinfo(each->ai_addr, each->ai_addrlen, number, sizeof(number), nullptr, 0,
                        NI_NUMERICHOST) == 0)
        options.addresses += (options.addresses.empty() ? "" : ",") + std::string(number);
    }
    ::freeaddrinfo(found);
  }
  return options.addresses.empty()
             ? Status::unavailable(text("rank 0 is looked for at '", options.host, "' (",
                                        options.hostVariable,
                                        "), a name without an address: ", why))
             : Status();
}

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

Status joinRendezvous(const RendezvousOptions &options, std::unique_ptr<Rendezvous> &rendezvous) {
  return options.rank == 0 ? rendezvousAsHost(options, rendezvous)
                           : rendezvousAsGuest(options, rendezvous);
}

} // namespace dtc::rt
