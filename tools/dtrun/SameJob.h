// Checks that all ranks run the same job: the same program, options and data.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/comm/Control.h"
#include "runtime/exec/Loader.h"
#include "runtime/trust/TrustedKeys.h"
#include "tools/dtrun/Options.h"

namespace dtc::rt {

// Checks that all ranks run the same dtrun. Errors, on all ranks: one that names a rank that
// differs, its host and the difference. Collective. Call it before anything else, because later
// exchanges need the same dtrun.
Status checkSameDtrun(Control &world);

// Checks the bytes of the loaded program, the keys that are trusted, the options that change the
// training, and the libraries that multiply matrices. Errors as above. Collective.
Status checkSameJob(Control &world, const Options &options, const Executable &executable,
                    const TrustedKeys &trusted);

} // namespace dtc::rt
