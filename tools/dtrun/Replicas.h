// Checks that ranks that hold the same part of a tensor hold the same bits.
#pragma once

#include "runtime/comm/Control.h"
#include "runtime/format/RankMesh.h"
#include "tools/dtrun/JobTensors.h"

#include <optional>
#include <string>
#include <vector>

namespace dtc::rt {

// Replicas that differ.
struct OddReplicas {
  size_t tensor = 0;     // index of the first tensor that differs
  size_t numTensors = 0; // number of tensors that differ on any ranks
  // ranks whose part differs from that of most; all holders if there is no majority
  std::vector<int> odd;
  std::vector<int> rest; // the other holders of that part
};

// Finds replicas that differ. `hashes` holds the hashes of each rank's parts, beginning with rank
// 0; the values of tensors that a rank does not hold are ignored. Ranks hold the same part if they
// have the same coordinates along all axes that split the tensor.
// Example: three ranks hold w, with hashes 7, 7 and 8: rank 2 is odd.
std::optional<OddReplicas> findOdd(const std::vector<TensorSpec> &tensors,
                                   const format::RankMesh &mesh,
                                   const std::vector<uint64_t> &hashes);

// Compares parameters and optimizer state of all ranks between steps.
class Replicas {
public:
  // Prepares the checks, every `every` steps, 0 for never. Arguments must outlive this.
  void open(const Executable &executable, Control &control, const Executor &runs, Device &on,
            uint64_t every);
  // Returns true if replicas are to be compared after `step`.
  bool areDue(uint64_t step) const { return every > 0 && step % every == 0; }
  // Compares them. Collective. Errors: DataLoss, on all ranks, which names the tensor, the ranks
  // that differ and their hosts.
  Status check(uint64_t step) const;

private:
  Status hashOwn(std::vector<uint64_t> &hashes) const;
  // Describes ranks for messages, as in ranks "0 and 2 (on 'a')". Collective.
  Status describe(const std::vector<int> &ranks, std::string &words) const;

  uint64_t every = 0;
  const Executable *executable = nullptr;
  Control *world = nullptr;
  const Executor *executor = nullptr;
  Device *device = nullptr;
  JobTensors tensors;
  std::vector<TensorSpec> specs; // for each of `tensors`
};

} // namespace dtc::rt
