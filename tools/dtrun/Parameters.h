// Fills and saves the parameters and optimizer state of a run.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/checkpoint/ParameterDump.h"
#include "runtime/comm/Control.h"
#include "runtime/exec/Executor.h"

#include <memory>
#include <string>

namespace dtc::rt {

// Initialises parameters from `seed`, or from the safetensors file `init` unless that is empty, and
// optimizer state as the .dte file defines.
Status fillParameters(const Executable &executable, Executor &executor, Device &device,
                      uint64_t seed, const std::string &init, int threads);

// The tensors that a dump holds.
enum class DumpedTensors { Parameters, Gradients };

// A file that receives the parameters, or gradients, of all ranks.
struct Dump {
  DumpedTensors which;
  std::vector<TensorSpec> specs;
  std::unique_ptr<ParameterDump> file;
};

// Makes sure that the whole tensors can be written to `path`, and opens it. Collective over
// `world`.
Status openDump(const Executable &executable, Control &world, const std::string &path,
                DumpedTensors which, std::unique_ptr<Dump> &dump);

// Writes the tensors, multiplied by `scale`. Gradients are available after a run of the entry
// `gradients`. Collective.
Status writeDump(Dump &dump, const Executor &executor, Device &device, float scale = 1);

} // namespace dtc::rt
