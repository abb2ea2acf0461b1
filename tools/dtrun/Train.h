// One rank of a training run, from the file to the last step.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/comm/Comm.h"
#include "runtime/exec/Loader.h"
#include "tools/dtrun/Options.h"

namespace dtc::rt {

// Runs `executable` on this rank of `world` with `threads` compute threads, and prints the step
// lines on rank 0. Collective. `diverged` is set, and ok returned, where the loss stopped being
// finite.
Status train(const Options &options, const Executable &executable, Comm &world, int threads,
             bool &diverged);

} // namespace dtc::rt
