// Where ranks meet, and what guests do.
#include "runtime/comm/Meeting.h"

#include "runtime/base/Env.h"
#include "runtime/base/Text.h"
#include "runtime/comm/MeetingSides.h"
#include "runtime/comm/MeetingWire.h"

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
constexpr int kMostRanks = 1024;         // each is connected to each
constexpr double kConnectSeconds = 2, kAnswerSeconds = 5;
// Rank 0 knows more than a guest: it speaks first.
constexpr double kPatience = 5;
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
    if (!take(payload, Meeting::kMostParcel, piece))
      return false;
  return payload.empty();
}

uint64_t hashOf(const std::string &job) { return XXH3_64bits(job.data(), job.size()); }

std::string ownHostName() {
  char host[HOST_NAME_MAX + 1] = {};
  (void)::gethostname(host, HOST_NAME_MAX);
  return host;
}

size_t mostBytes(int size) { return static_cast<size_t>(size) * (Meeting::kMostParcel + 8) + 4096; }

static Status portOf(const char *name, const char *value, uint16_t &port) {
  std::string_view digits = value;
  auto [end, error] = std::from_chars(digits.begin(), digits.end(), port);
  if (error == std::errc() && end == digits.end() && port > 0)
    return {};
  return Status::invalidArgument(text("reading the launch environment: ", name, " is '", value,
                                      "'; wanted a port, 1 to 65535"));
}

Status planMeeting(const LaunchEnvironment &launch, const EnvironmentReader &read, double seconds,
                   MeetingOptions &options) {
  auto textOf = [&](const char *name) {
    const char *value = read(name);
    return std::string(value ? value : "");
  };
  options.rank = launch.rank;
  options.size = launch.size;
  options.seconds = seconds;
  options.isQuiet = launch.localRank > 0;
  if (launch.size > kMostRanks)
    return Status::invalidArgument(text("joining the job of ", launch.source, ": more than ",
                                        kMostRanks, " ranks need MPI: mpirun or srun --mpi=pmix"));
  // What dtrun -n started has a name of its own, and all of it is here.
  std::string child = textOf(envInfo(EnvVar::Child).name);
  bool isLocal = child.size() > 1;
  options.host = textOf("MASTER_ADDR");
  if (options.host.empty() && !isLocal)
    return Status::invalidArgument(text("joining the job of ", launch.source,
                                        ": MASTER_ADDR is not set; it names rank 0's host"));
  if (options.host.empty())
    options.host = "127.0.0.1";
  options.job = textOf(envInfo(EnvVar::JobId).name);
  bool isNamed = isLocal || !options.job.empty();
  if (options.job.empty())
    options.job = isLocal ? child : textOf("TORCHELASTIC_RUN_ID");

  std::string chosen = textOf(envInfo(EnvVar::RendezvousPort).name), given = textOf("MASTER_PORT");
  uint16_t port = kDefaultPort;
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
  bool isTaken = textOf("TORCHELASTIC_USE_AGENT_STORE") == "True";
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

namespace {
class Guest final : public Meeting {
public:
  explicit Guest(const MeetingOptions &options) : options(options) {}
  Status join();
  Status exchange(const std::vector<std::string> &sent,
                  std::vector<std::string> &received) override;
  const std::string &address() const override { return ownAddress; }
  const std::string &token() const override { return ownToken; }

private:
  enum class Outcome { Met, NotHere, Silent, Refused };
  Outcome tryAddress(const addrinfo &each, double deadline);
  Outcome tryAll(double deadline);
  // Of a connection that is open: whether the host of this job is there.
  Outcome sayHello(double deadline);
  // The host's next message, which is to be a `word`.
  Status hear(Word word, double seconds, std::string &payload);

  MeetingOptions options;
  std::unique_ptr<Wire> wire;
  std::string ownAddress, ownToken;
  std::string words; // why the last try failed
};
} // namespace

Guest::Outcome Guest::sayHello(double deadline) {
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
    return Outcome::NotHere;
  if (answer.word == Word::Taken)
    return Outcome::Met;
  words = answer.payload;
  return answer.word == Word::Refused && !words.starts_with(kOtherJob) ? Outcome::Refused
                                                                       : Outcome::NotHere;
}

Guest::Outcome Guest::tryAddress(const addrinfo &each, double deadline) {
  bool isSilent = false;
  int socket = connectTo(each.ai_addr, each.ai_addrlen, std::min(deadline, now() + kConnectSeconds),
                         words, isSilent);
  if (socket < 0)
    return isSilent ? Outcome::Silent : Outcome::NotHere;
  wire = std::make_unique<Wire>(socket);
  return sayHello(deadline);
}

// Each address of the host, and each port where rank 0 may listen.
Guest::Outcome Guest::tryAll(double deadline) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  if (int error = ::getaddrinfo(options.host.c_str(), std::to_string(options.ports[0]).c_str(),
                                &hints, &found)) {
    words = text("the name has no address: ", ::gai_strerror(error));
    return Outcome::NotHere;
  }
  Outcome outcome = Outcome::NotHere;
  for (const addrinfo *each = found; each && outcome != Outcome::Met && outcome != Outcome::Refused;
       each = each->ai_next)
    for (uint16_t port : options.ports) {
      auto *name = reinterpret_cast<sockaddr_in *>(each->ai_addr);
      name->sin_port = htons(port); // where IPv6 has it as well
      outcome = now() < deadline ? tryAddress(*each, deadline) : Outcome::Silent;
      if (outcome != Outcome::NotHere)
        break;
    }
  ::freeaddrinfo(found);
  return outcome;
}

Status Guest::hear(Word word, double seconds, std::string &payload) {
  Message message;
  std::string who = text("rank ", options.rank, " on host '", ownHostName(), "': ");
  if (!wire->await(mostBytes(options.size), now() + seconds + kPatience, message, words))
    return Status::aborted(
        text(who, "rank 0 on host '", options.host, "' ", words, " while the ranks meet"));
  if (message.word == Word::Failed)
    return Status::aborted(options.isQuiet ? std::string() : who + message.payload);
  if (message.word != word)
    return Status::aborted(text(who, "rank 0 says what it could not say then"));
  payload = std::move(message.payload);
  return {};
}

Status Guest::join() {
  double deadline = now() + options.seconds, pause = 0.02;
  for (;;) {
    Outcome outcome = tryAll(deadline);
    if (outcome == Outcome::Met)
      break;
    std::string who = text("rank ", options.rank, " on host '", ownHostName(), "'");
    if (outcome == Outcome::Refused)
      return Status::invalidArgument(text(who, " is refused by rank 0: ", words));
    if (now() + pause > deadline)
      return Status::aborted(
          text(who, " waited ", options.seconds, " s for rank 0: no rank 0 of this job is at '",
               options.host, "' (MASTER_ADDR), port",
               options.ports.size() > 1 ? text("s ", options.ports.front(), " to ") : " ",
               options.ports.back(), " (", words, "); where ranks need longer to start, raise ",
               envInfo(EnvVar::StartTimeout).name, " or --timeout"));
    std::this_thread::sleep_for(std::chrono::duration<double>(pause));
    pause = std::min(pause * 1.5, 0.5);
  }
  std::string payload;
  DTC_RETURN_IF_ERROR(hear(Word::Welcome, options.seconds, payload));
  std::string_view rest = payload;
  if (!take(rest, 64, ownAddress) || !take(rest, 64, ownToken))
    return Status::aborted("rank 0 says where this rank is in words that no rank 0 uses");
  return {};
}

Status Guest::exchange(const std::vector<std::string> &sent, std::vector<std::string> &received) {
  wire->send(Word::Parcel, encodePieces(sent));
  std::string payload;
  DTC_RETURN_IF_ERROR(hear(Word::Parcel, options.seconds, payload));
  if (!decodePieces(payload, static_cast<size_t>(options.size), received))
    return Status::aborted("rank 0 sent a parcel that none of the ranks makes");
  return {};
}

Status meetAsGuest(const MeetingOptions &options, std::unique_ptr<Meeting> &meeting) {
  auto guest = std::make_unique<Guest>(options);
  DTC_RETURN_IF_ERROR(guest->join());
  meeting = std::move(guest);
  return {};
}

Status meet(const MeetingOptions &options, std::unique_ptr<Meeting> &meeting) {
  return options.rank == 0 ? meetAsHost(options, meeting) : meetAsGuest(options, meeting);
}

} // namespace dtc::rt
