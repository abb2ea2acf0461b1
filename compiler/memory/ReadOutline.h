// Reads the outline of a step off its exec.program.
#pragma once

#include "compiler/memory/StepOutline.h"

#include "llvm/ADT/StringMap.h"

#include <optional>

namespace dtc {

struct OutlinedProgram {
  StepOutline outline;
  std::vector<LayerRun> runs;     // empty in a program of fewer than three layers
  BytesByKind middlePersistent{}; // of `outline.persistent`, what belongs to the middle layer
  int64_t middleOnHost = 0;       // of `outline.persistentOnHost`
};

// Of `program` what a step sends once is not in buckets and on stream 0; `layers` has the layer of every
// parameter that belongs to one, 0 to 2. Nothing where its instructions do not go through the
// layers one after another.
std::optional<OutlinedProgram> readOutline(exec::ProgramOp program,
                                           const llvm::StringMap<int> &layers);

} // namespace dtc
