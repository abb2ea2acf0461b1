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

enum class DumpedTensors { Parameters, Gradients };

// A file that the parameters, or gradients, of all ranks will go to.
struct Dump {
  DumpedTensors which;
  std::vector<TensorSpec> specs;
  std::unique_ptr<ParameterDump> file;
};

// Makes sure that the whole tensors can be written to `path`. Collective over `world`.
Status openDump(const Executable &executable, Control &world, const std::string &path,
                DumpedTensors which, std::unique_ptr<Dump> &dump);

// Writes them, times `scale`; gradients are there after a run of the entry of that name. Collective.
Status writeDump(Dump &dump, const Executor &executor, Device &device, float scale = 1);

} // namespace dtc::rt
