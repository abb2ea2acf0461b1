// Partitions the training step over the mesh (pass dtc-partition).
#include "passes/shard/Partition.h"
#include "passes/shard/Passes.h"

namespace dtc {
#define GEN_PASS_DEF_PARTITION
#include "passes/shard/Passes.h.inc"

namespace {

struct PartitionPass : impl::PartitionBase<PartitionPass> {
  void runOnOperation() override {
    if (failed(partitionModule(getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace dtc
