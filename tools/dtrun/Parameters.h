// Fills and saves the parameters and optimizer state of a run.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/comm/Comm.h"
#include "runtime/exec/Executor.h"

#include <string>

namespace dtc::rt {

// Initialises parameters from `seed`, or from the safetensors file `init` where that is not empty,
// and optimizer state as the file says.
Status fillParameters(const Executable &executable, Executor &executor, Device &device,
                      uint64_t seed, const std::string &init, int threads);

// Writes the whole parameters to `path`. Collective over `world`.
Status saveParameters(const Executable &executable, Executor &executor, Device &device, Comm &world,
                      const std::string &path);

} // namespace dtc::rt
