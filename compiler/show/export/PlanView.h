// A view of a plan for all launchers. Internal to this folder.
#pragma once

#include "compiler/decide/plan/Plan.h"
#include "compiler/describe/stack/SoftwareStack.h"
#include "compiler/show/export/ExportedPlan.h"

#include "llvm/ADT/SmallVector.h"

namespace dtc::launch {

// A run of layers on one stage, with how many of its layers recompute how much.
struct Chunk {
  int64_t first = 0, last = -1; // inclusive
  int64_t stage = 0;
  int64_t selective = 0, full = 0;
  // Returns the number of layers.
  int64_t layers() const { return last - first + 1; }
  bool operator==(const Chunk &) const = default;
};

// Element type in which something travels or is added up.
enum class Width : uint8_t { Full, Half }; // 32 or 16 bits

// A plan with derived values that launchers need.
class PlanView {
public:
  // `release`: that the export is written for.
  PlanView(const Plan &plan, const SoftwareStack &software, LauncherRelease release = {});

  const Plan &plan;
  const Decisions &d;
  const SoftwareStack &software;
  LauncherRelease release;
  std::vector<Chunk> chunks; // in the order of the model
  int64_t layers = 0;
  bool hasExperts = false;
  // Experts have room for another number of rows than their share, or drop tokens beyond it.
  bool hasCapacity() const {
    return hasExperts && plan.architecture.capacity > 0 && plan.architecture.capacity != 1;
  }
  // Query heads of one kv head on several ranks of tensor parallelism.
  bool splitsKvGroups = false;
  // Gradients: between ranks, and added up over micro-batches.
  Width reduced = Width::Full, accumulated = Width::Full;

  // Ranks that hold parts of what ZeRO shards, and copies of each part. Context parallelism is
  // within the first.
  int64_t shards() const { return d.zero == 0 ? 1 : d.zeroRanks(); }
  // Returns the number of copies of each ZeRO shard.
  int64_t replicas() const { return d.dp / shards(); }
  // Returns the number of ranks that gradients are summed over.
  int64_t gradientRanks() const { return d.dp * d.cp; }
  // Returns the number of devices of a node.
  int64_t devicesPerNode() const { return plan.devices / plan.nodes; }
  // Returns true if the stack can overlap tensor-parallel collectives with the matmuls around them,
  // on any links; hidesTensor() also requires that the group is inside a node.
  bool mayHideTensor() const { return d.tp > 1 && d.sequenceParallel && software.tpHidden > 0; }
  // Returns true if tensor-parallel collectives overlap with the matmuls around them.
  bool hidesTensor() const {
    int64_t inside = 1; // ranks of axes that lie inside of tp
    for (size_t axis = 0; d.order[axis] != 't'; ++axis)
      inside *= d.sizeOf(d.order[axis]);
    return mayHideTensor() && inside * d.tp <= devicesPerNode();
  }
  // Returns the elements of a gradient bucket; 0: the software's default.
  int64_t bucketElements() const { return d.bucketBytes / (reduced == Width::Half ? 2 : 4); }

  // Returns true if all chunks have the same number of layers.
  bool hasEvenChunks() const;
  // Returns true if all layers recompute the same.
  bool recomputesEvenly() const { return d.recompute == d.recomputeMost; }
  // Returns true if ranks are placed on the links in the order of axes `order`; axes of one rank do
  // not matter.
  bool liesAs(const AxisOrder &order) const;
  // Returns true if stages have the ranks that the order of axes gives them, which fails if the
  // plan assigns them to groups of different devices.
  bool hasRanksOfOrder() const;

  // Lines for the head of a file, without a comment's sign: what the plan is of and what it costs.
  std::vector<std::string> summary() const;
};

// Returns what PyTorch and JAX call the type of activations: "float32", "bfloat16" or "float16".
llvm::StringRef arrayTypeOf(Precision precision);
// Returns what Megatron and DeepSpeed call training with activations of that type: "fp32", "bf16"
// or "fp16".
llvm::StringRef trainingModeOf(Precision precision);

// Checks that the layers of each stage are those of the plan's schedule. Returns "", or the fault
// of a plan that was edited by hand.
std::string findMisplacedChunk(const PlanView &view);

// Adds a note if the launcher places ranks on the links differently from the plan: `name` orders
// its axes as `order`.
void noteRanks(const PlanView &view, llvm::StringRef name, const AxisOrder &order,
               std::vector<std::string> &notes);

// A number with as many digits as it needs: "1e-05", "0.5", "500000".
std::string decimalOf(double value);

// "a, b and c".
std::string listOf(llvm::ArrayRef<std::string> words);

} // namespace dtc::launch
