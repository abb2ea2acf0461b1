// Reads the outline of a step off its exec.program.
#pragma once

#include "compiler/price/memory/RepeatLayer.h"
#include "compiler/price/memory/StepOutline.h"

#include "llvm/ADT/StringMap.h"

#include <optional>

namespace dtc {

// The outline of a step with three layers, and the position of its middle layer.
struct OutlinedProgram {
  StepOutline outline;
  std::vector<LayerRun> runs;     // empty in a program of fewer than three layers
  BytesByKind middlePersistent{}; // part of `outline.persistent` that belongs to the middle layer
  int64_t middleOnHost = 0;       // part of `outline.persistentOnHost`
};

// Reads the outline of `program`, in which collectives that run once per step are neither bucketed
// nor on streams of their own. `layers` has the layer of every parameter that belongs to one, 0 to
// 2. Returns nullopt if the instructions do not pass through the layers one after another.
std::optional<OutlinedProgram> readOutline(exec::ProgramOp program,
                                           const llvm::StringMap<int> &layers);

} // namespace dtc
