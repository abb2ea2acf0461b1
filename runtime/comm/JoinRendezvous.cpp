#include "runtime/comm/JoinRendezvous.h"

#include "runtime/base/Env.h"
#include "runtime/base/Text.h"
#include "runtime/comm/RendezvousAddress.h"
#include "runtime/comm/RendezvousGuest.h"
#include "runtime/comm/RendezvousHello.h"
#include "runtime/comm/RendezvousHost.h"

#include <algorithm>
#include <charconv>
#include <netdb.h>
#include <sys/socket.h>

namespace dtc::rt {
using format::text;

namespace {
constexpr uint16_t kDefaultPort = 29500; // torchrun's
constexpr int kMorePorts = 8;            // behind the first
// Ports of jobs that launchers name: below Linux's ephemeral ports (32768), and far enough apart.
constexpr uint16_t kFirstJobPort = 20000, kJobPorts = 512, kPortsApart = 16;
constexpr int kMostRanks = 1024; // each is connected to each
} // namespace

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
                       RendezvousAddress &rankZero, RendezvousOptions &options) {
  // dtrun -n gives each job a name of its own.
  std::string child = textOf(read, envInfo(EnvVar::Child).name);
  bool isChild = child.size() > 1;
  options.host = textOf(read, "MASTER_ADDR");
  options.hostVariable = "MASTER_ADDR";
  if (options.host.empty()) {
    DTC_RETURN_IF_ERROR(findRendezvousAddress(launch, read, rankZero));
    options.host = rankZero.host;
    options.hostVariable = rankZero.variable;
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
    options.job = isChild ? child : rankZero.job;
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
  RendezvousAddress rankZero;
  DTC_RETURN_IF_ERROR(planHost(launch, read, rankZero, options));
  uint16_t port = rankZero.job.empty() ? kDefaultPort : portOf(rankZero.job);
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

Status joinRendezvous(const RendezvousOptions &options, std::unique_ptr<Rendezvous> &rendezvous) {
  return options.rank == 0 ? rendezvousAsHost(options, rendezvous)
                           : rendezvousAsGuest(options, rendezvous);
}

} // namespace dtc::rt
