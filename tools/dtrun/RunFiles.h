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

struct RunFiles {
  AtomicFile profile; // of this rank
  std::unique_ptr<Dump> parameters, gradients;

  // Opens those that are wanted, before the first step: nothing that a run makes is lost for want
  // of a place to put it. InvalidArgument where one would replace another, or what the run reads.
  // Collective.
  Status open(const Options &options, const Executable &executable, Control &world);
  // Anew, after they were written.
  Status openGradients(const Options &options, const Executable &executable, Control &world);

private:
  Status checkApart(const Options &options) const;
};

} // namespace dtc::rt
