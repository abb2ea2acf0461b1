// Norms of a model's parameters, one for each of its blocks.
#pragma once

#include "runtime/comm/Control.h"
#include "tools/dtrun/JobTensors.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dtc::rt {

struct BlockNorm {
  std::string block;
  double norm = 0; // root of the sum of squares
};

// The part of a model that a parameter is of: up to its first number, or else all but the last word.
// Example: "transformer.h.3.attn.c_attn.weight" is of "transformer.h.3", "lm_head.weight" of
// "lm_head", "w1" of "w1".
std::string blockOf(std::string_view parameter);

// Each rank reads what it alone counts, between steps. Calls are collective.
class BlockNorms {
public:
  // `every`: how many steps from one to the next; 0: never. Without it, as often as takes a
  // four-hundredth of the time. Arguments must outlive this.
  Status open(const Executable &executable, Control &world, const Executor &executor,
              Device &device, std::optional<uint64_t> every);
  bool isDue(uint64_t step) const;
  // Where they are due after `step`, which took `stepSeconds`; in order of names, numbers counted up.
  Status measure(uint64_t step, double stepSeconds, std::vector<BlockNorm> &norms);

private:
  Status addSquares(std::vector<double> &squares) const;

  Control *world = nullptr;
  const Executor *executor = nullptr;
  Device *device = nullptr;
  std::optional<uint64_t> every = 0;
  uint64_t next = 1; // where `every` is not given
  JobTensors tensors;
  std::vector<std::string> blocks;
  std::vector<size_t> blockOfTensor;
  std::vector<OwnedPiece> pieces; // of this rank
};

} // namespace dtc::rt
