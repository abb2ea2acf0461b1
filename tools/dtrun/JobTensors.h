// The parameters and optimizer state of all ranks, and what this one has of them.
#pragma once

#include "runtime/checkpoint/Layout.h"
#include "runtime/exec/Executor.h"

#include <functional>
#include <vector>

namespace dtc::rt {

// What has one name is one tensor, of which the loader knows that all programs say the same.
struct JobTensors {
  std::vector<CheckpointSource> all;       // alike on all ranks
  std::vector<const format::Tensor *> own; // of `all`, as this rank's program has it, or null
};

// `mine` is one of the manifest's programs.
JobTensors tensorsOfJob(const format::Manifest &manifest, const format::Program &mine,
                        bool withState);

// Gives `take` this rank's part of a tensor, padding included, in pieces of up to a megabyte: `at` is
// the offset in bytes. Between steps only.
Status readLocal(const format::Tensor &tensor, uint64_t bytes, const Executor &executor,
                 Device &device,
                 const std::function<void(uint64_t at, std::span<const std::byte>)> &take);

} // namespace dtc::rt
