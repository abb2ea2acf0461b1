// Fills and saves the parameters and optimizer state of a run.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/checkpoint/Parameters.h"
#include "runtime/comm/Control.h"
#include "runtime/exec/Executor.h"

#include <memory>
#include <string>

namespace dtc::rt {

// Initialises parameters from `seed`, or from the safetensors file `init` where that is not empty,
// and optimizer state as the file says.
Status fillParameters(const Executable &executable, Executor &executor, Device &device,
                      uint64_t seed, const std::string &init, int threads);

// Makes sure that the whole parameters can be written to `path`. Collective over `world`.
Status openDump(const Executable &executable, const Executor &executor, Control &world,
                const std::string &path, std::unique_ptr<ParameterDump> &dump);

// Writes them. Collective.
Status writeDump(ParameterDump &dump, const Executor &executor, Device &device);

} // namespace dtc::rt
