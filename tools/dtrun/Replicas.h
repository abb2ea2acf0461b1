// Whether ranks that hold the same part of a tensor hold the same bits.
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
  size_t tensor = 0;     // the first of these, by its index
  size_t numTensors = 0; // that differ on any ranks
  std::vector<int> odd;  // ranks whose part is not what most have; all holders where none is
  std::vector<int> rest; // the other holders of that part
};

// `hashes` are of each rank's parts, those of rank 0 first; of what a rank does not hold they do not
// count. Ranks hold the same part of a tensor that are alike along all axes that split it.
// Example: three ranks hold w, with hashes 7, 7 and 8: rank 2 is odd.
std::optional<OddReplicas> findOdd(const std::vector<TensorSpec> &tensors,
                                   const format::RankMesh &mesh,
                                   const std::vector<uint64_t> &hashes);

// Parameters and optimizer state of all ranks, compared between steps.
class Replicas {
public:
  // `every`: after how many steps; 0: never. Arguments must outlive this.
  void open(const Executable &executable, Control &control, const Executor &runs, Device &on,
            uint64_t every);
  bool areDue(uint64_t step) const { return every > 0 && step % every == 0; }
  // Collective. DataLoss, on all ranks, names tensor and ranks that differ, with their hosts.
  Status check(uint64_t step) const;

private:
  Status hashOwn(std::vector<uint64_t> &hashes) const;
  // ranks "0 and 2 (on 'a')", for messages. Collective.
  Status describe(const std::vector<int> &ranks, std::string &words) const;

  uint64_t every = 0;
  const Executable *executable = nullptr;
  Control *world = nullptr;
  const Executor *executor = nullptr;
  Device *device = nullptr;
  JobTensors tensors;
  std::vector<TensorSpec> specs; // of `tensors`
};

} // namespace dtc::rt
