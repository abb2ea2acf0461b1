// The Chrome trace that 'dtrun --profile' writes, as events.
#pragma once

#include "compiler/support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dtc {

// One run of an instruction.
struct TracedRun {
  uint64_t step = 0;
  std::string task, name; // "forward", "gemm at model.mlir:3:1 (h.0.mlp)"
  uint32_t instruction = 0;
  double begin = 0, end = 0; // seconds
};

// The runs in `text`, one at least, and the `rank` that they are of; all else that such a trace may
// have is passed over. Errors: text that is no such trace, with the file's name.
Result<std::vector<TracedRun>> readTrace(const std::string &text, const std::string &file,
                                         uint32_t &rank);

} // namespace dtc
