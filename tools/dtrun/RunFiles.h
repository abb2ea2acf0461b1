// The files that a run is asked for: a profile, and dumps of parameters and gradients.
#pragma once

#include "runtime/base/File.h"
#include "runtime/base/Status.h"
#include "runtime/comm/Control.h"
#include "runtime/exec/Loader.h"
#include "tools/dtrun/Options.h"
#include "tools/dtrun/Parameters.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace dtc::rt {

// Returns the files of --dump-grads by the step whose gradients they get: the last one's has the
// name that is given, those of --dump-grads-at have ".stepK" before its ending.
std::map<uint64_t, std::string> gradientFiles(const Options &options);

// The open files of a run. Those that are not wanted are empty.
struct RunFiles {
  AtomicFile profile; // this rank's
  std::unique_ptr<Dump> parameters;
  std::map<uint64_t, std::unique_ptr<Dump>> gradients; // by step

  // Opens the files before the first step, so that a run does not lose its results because they
  // cannot be written. Errors: InvalidArgument if a file would replace another one, or one that the
  // run reads. Collective.
  Status open(const Options &options, const Executable &executable, Control &world);
  // Opens the dumps of gradients of steps after `step` that are not open: all of them, or those
  // that were written before the run went back. Collective.
  Status openGradients(const Options &options, const Executable &executable, Control &world,
                       uint64_t step);

private:
  Status checkApart(const Options &options) const;
};

} // namespace dtc::rt
