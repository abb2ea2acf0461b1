// Runs one rank of a training run, from the file to the last step.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/comm/Comm.h"
#include "runtime/comm/StartUp.h"
#include "runtime/exec/Loader.h"
#include "runtime/monitor/Progress.h"
#include "tools/dtrun/Options.h"

namespace dtc::rt {

// How a run ended, and whose error it is.
struct TrainEnd {
  bool diverged = false; // the loss was no longer finite; the same on all ranks
  bool stopped = false;  // a signal asked for it; the same on all ranks
  bool isOwn = false;    // the error is this rank's own, and the others do not know of it
};

// Runs `executable` on this rank of `world` with `threads` compute threads, and prints the step
// lines on rank 0. Collective. `startUp` is told of the phases up to the first step, and
// `progress`, which may be null, of the position of this rank.
Status train(const Options &options, const Executable &executable, Comm &world, int threads,
             StartUp &startUp, Progress *progress, TrainEnd &end);

} // namespace dtc::rt
