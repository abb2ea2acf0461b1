// Passes a loss and other outputs from the ranks that compute them to the others.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/comm/Control.h"
#include "runtime/exec/Executor.h"

#include <string>

namespace dtc::rt {

// Returns the first rank whose program has the output, or -1.
// Example: for the loss of a pipeline, a rank of its last stage.
int rankWith(const format::Manifest &manifest, format::OutputRole role);

// Sends rank 0, which prints them, the outputs that only programs of other ranks have. Collective,
// between steps. Sends a few bytes, and none if rank 0 has all outputs.
Status bringOutputs(const format::Manifest &manifest, Control &world, StepResult &result);

// Sends rank 0 a number that all ranks with a loss know. Collective.
Status bringFromLoss(const format::Manifest &manifest, Control &world, double &value);

// Sends rank 0 a text of rank `from`, a number that all ranks know. Collective.
Status bringText(Control &world, int from, std::string &value);

} // namespace dtc::rt
