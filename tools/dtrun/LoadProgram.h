// Loads the program of a run.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/exec/Loader.h"
#include "runtime/trust/TrustedKeys.h"
#include "tools/dtrun/Options.h"

#include <memory>

namespace dtc::rt {

// Reads the keys of --trust into `trusted`, which stays empty without that flag, and loads the
// program, which one of them has to have signed.
Status loadProgram(const Options &options, TrustedKeys &trusted,
                   std::unique_ptr<Executable> &executable);

// Returns the keys if there are any, as the readers of programs and checkpoints take them.
const TrustedKeys *keysOf(const Options &options, const TrustedKeys &trusted);

} // namespace dtc::rt
