// Starts the local ranks of `dtrun -n N`.
#pragma once

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace dtc::rt {

struct LaunchResult {
  int exitCode = 0;
  std::string message; // what to tell the user where exitCode is not 0; may be empty
  bool byRank = false; // a rank ended by itself with this code
};

// Exit codes of dtrun that the launcher itself gives.
inline constexpr int kExitRankDied = 3;

// Runs `arguments` (program first) as `ranks` processes of this machine under mpirun, with
// DTRUN_CHILD=1 in their environment, and waits for all. Their output passes through. The first
// exit code of a rank that is not 0 is the result's; where a signal killed a rank the code is 3
// and the message names rank and signal; SIGINT, SIGTERM and SIGHUP to this process end the ranks
// and give 128 + signal.
// Errors: Unavailable when mpirun is not found.
Status launchLocalRanks(int ranks, const std::vector<std::string> &arguments, LaunchResult &result);

// Whether this process was started by launchLocalRanks.
bool isLaunchedRank();

} // namespace dtc::rt
