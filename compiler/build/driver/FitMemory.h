// The check that a program for GPUs and the communicators that it makes fit in the device's memory.
#pragma once

#include "compiler/decide/plan/Plan.h"
#include "compiler/support/Error.h"
#include "runtime/format/dte_generated.h"

namespace dtc {

// Adds up what each rank of several holds: the arena of its program, the buffers of NCCL's
// communicators, which are made before the first step (runtime/format/Communicators.h), and what
// the plan reserves for libraries. Fails where that is more than the plan may use of a device,
// unless it was made for any memory, or does not say.
Status checkFits(const Plan &plan, const format::Manifest &manifest);

} // namespace dtc
