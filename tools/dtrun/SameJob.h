// What makes ranks ranks of one job: the same program, options and data.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/comm/Control.h"
#include "runtime/exec/Loader.h"
#include "tools/dtrun/Options.h"

namespace dtc::rt {

// Collective: an error on all ranks, which names one that differs, its host and what differs,
// unless all run the same dtrun. Before anything else: the exchanges that follow are this dtrun's.
Status checkSameDtrun(Control &world);

// The same for the bytes of the program that was loaded, for the options that change what is trained, and for the libraries that
// multiply matrices.
Status checkSameJob(Control &world, const Options &options, const Executable &executable);

} // namespace dtc::rt
