// The files that a run is asked for: a profile, and dumps of parameters and gradients.
#pragma once

#include "runtime/base/File.h"
#include "runtime/base/Status.h"
#include "runtime/comm/Control.h"
#include "runtime/exec/Loader.h"
#include "tools/dtrun/Options.h"
#include "tools/dtrun/Parameters.h"

#include <memory>

namespace dtc::rt {

// The open files of a run. Those that are not wanted are empty.
struct RunFiles {
  AtomicFile profile; // this rank's
  std::unique_ptr<Dump> parameters, gradients;

  // Opens the files before the first step, so that a run does not lose its results because they
  // cannot be written. Errors: InvalidArgument if a file would replace another one, or one that the
  // run reads. Collective.
  Status open(const Options &options, const Executable &executable, Control &world);
  // Opens the dump of gradients again, after it was written.
  Status openGradients(const Options &options, const Executable &executable, Control &world);

private:
  Status checkApart(const Options &options) const;
};

} // namespace dtc::rt
