// Computes the norms of a model's parameters, one for each of its blocks.
#pragma once

#include "runtime/comm/Control.h"
#include "tools/dtrun/JobTensors.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dtc::rt {

// The norm of the parameters of one block.
struct BlockNorm {
  std::string block;
  double norm = 0; // root of the sum of squares
};

// Returns the part of a model to which a parameter belongs: the name up to its first number, or
// without a number all but the last word.
// Example: "transformer.h.3.attn.c_attn.weight" gives "transformer.h.3", "lm_head.weight" gives
// "lm_head", "w1" gives "w1".
std::string blockOf(std::string_view parameter);

// Measures the norms between steps. Each rank reads the pieces that it alone counts. Calls are
// collective.
class BlockNorms {
public:
  // Prepares the measuring. `every` is the number of steps from one measuring to the next, 0 for
  // never. Without it, norms are measured as often as costs a four-hundredth of the time. Arguments
  // must outlive this.
  Status open(const Executable &executable, Control &world, const Executor &executor,
              Device &device, std::optional<uint64_t> every);
  // Returns true if the norms are to be measured after `step`.
  bool isDue(uint64_t step) const;
  // Measures the norms if they are due after `step`, which took `stepSeconds`. `norms` is ordered
  // by name, with numbers counted up.
  Status measure(uint64_t step, double stepSeconds, std::vector<BlockNorm> &norms);

private:
  Status addSquares(std::vector<double> &squares) const;

  Control *world = nullptr;
  const Executor *executor = nullptr;
  Device *device = nullptr;
  std::optional<uint64_t> every = 0;
  uint64_t next = 1; // used if `every` is not given
  JobTensors tensors;
  std::vector<std::string> blocks;
  std::vector<size_t> blockOfTensor;
  std::vector<OwnedPiece> pieces; // pieces of this rank
};

} // namespace dtc::rt
