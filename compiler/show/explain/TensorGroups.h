// Parameters of identical layers under one name.
#pragma once

#include "compiler/decide/plan/Plan.h"

namespace dtc {

// The name with its first component that is a number as "*": the layer. Example:
// "transformer.h.7.mlp.c_fc.weight" is "transformer.h.*.mlp.c_fc.weight"; "lm_head.weight" is
// itself.
std::string layerPattern(const std::string &name);

// Tensors with the same pattern and the same placements.
struct TensorGroup {
  std::string pattern; // the name itself where there is one tensor only
  int64_t count = 0;
  std::map<std::string, std::string> placements; // mesh axis -> "replicate" or "shard(DIM)"
};

// In the order of names.
std::vector<TensorGroup> groupTensors(const Plan &plan);

} // namespace dtc
