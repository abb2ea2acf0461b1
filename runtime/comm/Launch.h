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
  int outputError = 0; // errno, where stdout took no more of what ranks print; the job was stopped
};

// Exit codes of dtrun that the launcher itself gives.
inline constexpr int kExitRankDied = 3;
// What a rank gives that saved and ended because SIGTERM came: 128 + 15, as if it had been killed.
inline constexpr int kExitRankStopped = 143;

// Runs `arguments` (program first) as `ranks` processes of this machine under mpirun, with
// DTRUN_CHILD=1 in their environment, and waits for all. Their output passes through. The first
// exit code of a rank that is not 0 is the result's; where a signal killed a rank the code is 3
// and the message names rank and signal; SIGINT, SIGTERM and SIGHUP to this process end the ranks
// and give 128 + signal. Ranks that save when they are to end (`savesAtStop`) are sent SIGUSR2 in place
// of the first SIGTERM, as mpirun leaves them no time after that. A stdout that takes no more ends them
// and gives 1; so does a rank that has not come as far as createWorld() although mpirun ended well.
// Errors: Unavailable when mpirun is not found.
Status launchLocalRanks(int ranks, const std::vector<std::string> &arguments, LaunchResult &result,
                        bool savesAtStop = false);

// Whether this process was started by launchLocalRanks.
bool isLaunchedRank();

} // namespace dtc::rt
