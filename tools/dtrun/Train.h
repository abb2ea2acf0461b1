// One rank of a training run, from the file to the last step.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/comm/Comm.h"
#include "runtime/comm/StartUp.h"
#include "runtime/exec/Loader.h"
#include "runtime/monitor/Progress.h"
#include "tools/dtrun/Options.h"

namespace dtc::rt {

// How a run ended that gave no error, or whose error it is.
struct TrainEnd {
  bool diverged = false; // the loss stopped being finite; all ranks have it alike
  bool stopped = false;  // a signal asked for it; all ranks have it alike
  bool isOwn = false;    // the error is this rank's own, of which the others do not know
};

// Runs `executable` on this rank of `world` with `threads` compute threads, and prints the step
// lines on rank 0. Collective. `startUp` hears of the phases up to the first step, `progress`, which
// may be null, where this rank stands.
Status train(const Options &options, const Executable &executable, Comm &world, int threads,
             StartUp &startUp, Progress *progress, TrainEnd &end);

} // namespace dtc::rt
