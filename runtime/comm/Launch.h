// Starts the local ranks of `dtrun -n N`.
#pragma once

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace dtc::rt {

// Settings of a local launch.
struct LaunchOptions {
  bool savesAtStop = false; // ranks save when they are to end
  bool isAlone = false;     // one rank, which needs no MPI: there is no mpirun between
};

// The end of a local job.
struct LaunchResult {
  int exitCode = 0;
  std::string message; // message for the user if exitCode is not 0; may be empty
  std::string cause;   // reason of the end, as reported by a rank or its keeper; may be empty
  double endedAt = 0;  // when that was said, else when the last rank had ended; of launchClock()
  std::string note;    // message of a rank to the next start of the job; may be empty
  bool byRank = false; // a rank ended by itself with this code
  bool byUser = false; // a signal to this process asked for the end
  int outputError = 0; // errno, where stdout took no more of what ranks print; the job was stopped
};

// Exit codes of dtrun that the launcher itself gives.
inline constexpr int kExitRankDied = 3;
// Exit code of a rank that saved and ended because of SIGTERM: 128 + 15, as if killed by it.
inline constexpr int kExitRankStopped = 143;

// Runs `arguments` (program first) as `ranks` processes of this machine under mpirun, with
// DTRUN_CHILD=1 in their environment, and waits for all. Their output passes through. The first
// exit code of a rank that is not 0 is the result's; where a signal killed a rank the code is 3 and
// the message names rank and signal; SIGINT, SIGTERM and SIGHUP to this process end the ranks and
// give 128 + signal. Ranks that save when they are to end (LaunchOptions) are sent SIGUSR2 in place
// of the first SIGTERM, as mpirun leaves them no time after that. A stdout that takes no more ends
// them and gives 1; so does a job of which no rank came as far as createWorld() although mpirun
// ended well. Nothing of the job is left on this machine when it returns. Errors: Unavailable when
// mpirun is not found.
Status launchLocalRanks(int ranks, const std::vector<std::string> &arguments, LaunchResult &result,
                        const LaunchOptions &options = {});

// Returns true if this process was started by launchLocalRanks.
bool isLaunchedRank();

} // namespace dtc::rt
