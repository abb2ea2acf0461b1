// The parameters and optimizer state of all ranks, and the parts that this rank has.
#pragma once

#include "runtime/checkpoint/Layout.h"
#include "runtime/exec/Executor.h"

#include <functional>
#include <vector>

namespace dtc::rt {

// The tensors of a job. Tensors of one name are one tensor: the loader has checked that all
// programs describe it in the same way.
struct JobTensors {
  std::vector<CheckpointSource> all; // the same on all ranks
  // for each of `all` the tensor in this rank's program, or null
  std::vector<const format::Tensor *> own;
};

// Lists the parameters, and with `withState` the optimizer state, of all programs. `mine` is one of
// the manifest's programs.
JobTensors tensorsOfJob(const format::Manifest &manifest, const format::Program &mine,
                        bool withState);

// Reads this rank's part of a tensor, padding included, and passes it to `take` in pieces of up to
// a megabyte. `at` is the offset in bytes. Call it between steps only.
Status readLocal(const format::Tensor &tensor, uint64_t bytes, const Executor &executor,
                 Device &device,
                 const std::function<void(uint64_t at, std::span<const std::byte>)> &take);

} // namespace dtc::rt
