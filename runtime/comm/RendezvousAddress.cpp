// Reads what srun and mpirun say of hosts. It may be anything: variables come from whoever starts
// the job.
#include "runtime/comm/RendezvousAddress.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <arpa/inet.h>

namespace dtc::rt {
using format::text;

namespace {
constexpr size_t kMostName = 255;     // letters of a host's name, by DNS
constexpr size_t kMostAddresses = 16; // each may take seconds to try
constexpr size_t kMostShown = 80;

bool isDigit(char letter) { return letter >= '0' && letter <= '9'; }
bool isOfName(char letter) {
  return isDigit(letter) || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         letter == '-' || letter == '.' || letter == '_';
}

size_t digitsOf(std::string_view words) {
  return static_cast<size_t>(std::find_if_not(words.begin(), words.end(), isDigit) - words.begin());
}

// "3-7", "007"
bool isRange(std::string_view range) {
  size_t first = digitsOf(range);
  if (first == 0 || first == range.size())
    return first > 0;
  range.remove_prefix(first);
  return range[0] == '-' && range.size() > 1 && digitsOf(range.substr(1)) == range.size() - 1;
}

// Removes a list up to its closing bracket, e.g. "3-7,12]...", and returns its first number as
// written, with leading zeros.
bool takeBracket(std::string_view &list, std::string_view &number) {
  size_t end = list.find(']');
  if (end == std::string_view::npos)
    return false;
  std::string_view ranges = list.substr(0, end);
  number = ranges.substr(0, digitsOf(ranges));
  list.remove_prefix(end + 1);
  for (;;) {
    size_t comma = std::min(ranges.find(','), ranges.size());
    if (!isRange(ranges.substr(0, comma)))
      return false;
    if (comma == ranges.size())
      return true;
    ranges.remove_prefix(comma + 1);
  }
}

// Returns true if the name is a valid host name; digits alone would be taken for an address.
bool isHostName(const std::string &name) {
  return !name.empty() && name.size() <= kMostName && name[0] != '-' && name[0] != '.' &&
         digitsOf(name) < name.size();
}

std::string valueOf(const EnvironmentReader &read, const char *name) {
  const char *value = read(name);
  return value ? value : "";
}

std::string shown(std::string_view value) {
  return text(value.substr(0, kMostShown), value.size() > kMostShown ? "..." : "");
}

constexpr const char *kRemedy = "; set MASTER_ADDR to rank 0's host";

Status addressInStep(const LaunchEnvironment &launch, const EnvironmentReader &read,
                     RendezvousAddress &rankZero) {
  std::string job = valueOf(read, "SLURM_JOB_ID"), step = valueOf(read, "SLURM_STEP_ID");
  if (!job.empty())
    rankZero.job = text("slurm ", job, ".", step);
  rankZero.variable = "SLURM_STEP_NODELIST";
  std::string list = valueOf(read, rankZero.variable.c_str());
  if (list.empty()) {
    rankZero.variable = "SLURM_JOB_NODELIST";
    list = valueOf(read, rankZero.variable.c_str());
  }
  if (list.empty())
    return {};
  std::string who = text("joining the job of ", launch.source, ": ");
  std::string distribution = valueOf(read, "SLURM_DISTRIBUTION");
  if (distribution.starts_with("arbitrary") ||
      (distribution.empty() && !valueOf(read, "SLURM_HOSTFILE").empty()))
    return Status::invalidArgument(text(who,
                                        "tasks are distributed by a host file, so that rank 0 "
                                        "may be on any node of the step",
                                        kRemedy));
  std::string components = valueOf(read, "SLURM_HET_SIZE");
  if (!components.empty() && components != "1")
    return Status::invalidArgument(
        text(who, "the job has ", shown(components),
             " components (SLURM_HET_SIZE), of which each knows its own nodes alone", kRemedy));
  Status status = firstHostOf(list, rankZero.host);
  if (!status.ok())
    return Status::invalidArgument(text("reading the launch environment: ", rankZero.variable,
                                        " is ", status.message(), kRemedy));
  // Only rank 0 can tell.
  std::string own = valueOf(read, "SLURMD_NODENAME");
  if (launch.rank == 0 && !own.empty() && own != rankZero.host)
    return Status::invalidArgument(text(who, "rank 0 is on node '", shown(own), "', and ",
                                        rankZero.variable, " begins with '", rankZero.host, "'",
                                        kRemedy));
  return {};
}

// mpirun places ranks from its own host on, unless it was told to leave that out; rank 0 sees
// whether its daemon is mpirun.
Status addressAtMpirun(const LaunchEnvironment &launch, const EnvironmentReader &read,
                       RendezvousAddress &rankZero) {
  if (std::string space = valueOf(read, "PMIX_NAMESPACE"); !space.empty())
    rankZero.job = text("pmix ", space);
  if (launch.localSize == launch.size) {
    rankZero.host = "127.0.0.1";
    rankZero.variable = "OMPI_COMM_WORLD_LOCAL_SIZE";
    return {};
  }
  std::string uri = valueOf(read, "OMPI_MCA_orte_hnp_uri");
  std::string daemon = valueOf(read, "OMPI_MCA_orte_local_daemon_uri");
  if (uri.empty())
    return {};
  rankZero.variable = "OMPI_MCA_orte_hnp_uri";
  rankZero.host = addressesOf(uri);
  if (rankZero.host.empty())
    return Status::invalidArgument(text("reading the launch environment: ", rankZero.variable,
                                        " is '", shown(uri),
                                        "', which has no address of mpirun's host", kRemedy));
  if (launch.rank == 0 && !daemon.empty() && daemon != uri)
    return Status::invalidArgument(text("joining the job of ", launch.source,
                                        ": rank 0 is not on mpirun's host, where the others would "
                                        "look for it",
                                        kRemedy));
  return {};
}
} // namespace

Status firstHostOf(std::string_view list, std::string &host) {
  std::string_view rest = list;
  host.clear();
  auto refuse = [&](const char *what) {
    host.clear();
    return Status::invalidArgument(text("'", shown(list), "', ", what));
  };
  while (!rest.empty() && rest[0] != ',') {
    if (rest[0] == '[') {
      rest.remove_prefix(1);
      std::string_view number;
      if (!takeBracket(rest, number))
        return refuse("whose brackets hold no numbers");
      host += number;
    } else if (isOfName(rest[0])) {
      host += rest[0];
      rest.remove_prefix(1);
    } else {
      return refuse("which begins with no name of a host");
    }
    if (host.size() > kMostName)
      return refuse("which begins with a name that is too long");
  }
  return isHostName(host) ? Status() : refuse("which begins with no name of a host");
}

std::string addressesOf(std::string_view uri) {
  std::string out;
  size_t found = 0;
  while (!uri.empty()) {
    std::string_view part = uri.substr(0, uri.find(';'));
    uri.remove_prefix(std::min(part.size() + 1, uri.size()));
    bool isSix = part.starts_with("tcp6://");
    if (!isSix && !part.starts_with("tcp://"))
      continue;
    part.remove_prefix(part.find("//") + 2);
    part = part.substr(0, std::min(part.rfind(':'), part.size()));
    while (!part.empty()) {
      std::string address(part.substr(0, part.find(',')));
      part.remove_prefix(std::min(address.size() + 1, part.size()));
      if (isSix && address.size() > 2 && address.front() == '[' && address.back() == ']')
        address = address.substr(1, address.size() - 2);
      in6_addr number;
      if (::inet_pton(isSix ? AF_INET6 : AF_INET, address.c_str(), &number) == 1 &&
          found++ < kMostAddresses)
        out += (out.empty() ? "" : ",") + address;
    }
  }
  return out;
}

Status findRendezvousAddress(const LaunchEnvironment &launch, const EnvironmentReader &read,
                             RendezvousAddress &rankZero) {
  rankZero = {};
  switch (launch.launcher) {
  case Launcher::OpenMpi:
    return addressAtMpirun(launch, read, rankZero);
  case Launcher::Slurm:
  case Launcher::
      Pmi: // srun --mpi=pmi2, and other launchers, which set none of Slurm's variables for a step
    return valueOf(read, "SLURM_STEP_ID").empty() ? Status()
                                                  : addressInStep(launch, read, rankZero);
  case Launcher::Torchrun:
  case Launcher::None:
    break;
  }
  return {};
}

std::string takeHost(std::string_view &hosts) {
  std::string host(hosts.substr(0, hosts.find(',')));
  hosts.remove_prefix(std::min(host.size() + 1, hosts.size()));
  return host;
}

} // namespace dtc::rt
