// A process beside each rank, which watches over it apart from all that it computes and sends.
//
// The keeper starts the rank as its child, so that it knows how the rank ends, and shares a page of
// memory with it in which the rank says where it stands (Progress.h). It tells rank 0's keeper each
// second, over a TCP connection of its own. Rank 0's keeper finds out which rank was the first to
// end or to stop (Hub.h), says so, and ends the job: each keeper writes the flight recorder of its
// rank, ends the rank, and exits with the code of the verdict.
#pragma once

#include "runtime/comm/Control.h"
#include "runtime/comm/Environment.h"
#include "runtime/monitor/Judge.h"

#include <functional>

namespace dtc::rt {

// Settings of the keeper.
struct KeeperOptions {
  LaunchEnvironment launch;
  Patience patience = {};
  double silenceSeconds = 4; // after which a keeper that is not heard of is lost
  std::string flightFolder;  // empty: folder dtrun-flights-USER-JOB of TMPDIR or /tmp
};

// Runs `rank` in a child process and watches over it. Returns, in both processes, what to exit
// with: there what `rank` gave, here the code of the job. SIGTERM, SIGINT, SIGHUP and SIGUSR2 are
// passed on; SIGUSR1 to either process writes the flight recorder. To be called before there are
// other threads.
int keepRank(const KeeperOptions &options, const std::function<int(Progress &)> &rank);

// Tells the keepers of all ranks where rank 0's is. Collective over `world`, once.
Status introduceKeepers(Control &world, Progress &progress);

} // namespace dtc::rt
