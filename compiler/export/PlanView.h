// What every launcher reads off a plan. Internal to this folder.
#pragma once

#include "compiler/export/Export.h"

#include "llvm/ADT/SmallVector.h"

namespace dtc::launch {

// A run of layers on one stage, with how many of its layers recompute how much.
struct Chunk {
  int64_t first = 0, last = -1; // inclusive
  int64_t stage = 0;
  int64_t selective = 0, full = 0;
  int64_t layers() const { return last - first + 1; }
  bool operator==(const Chunk &) const = default;
};

// Element type in which something travels or is added up.
enum class Width : uint8_t { Full, Half }; // 32 or 16 bits

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
  int64_t replicas() const { return d.dp / shards(); }
  // Between which gradients are added up.
  int64_t gradientRanks() const { return d.dp * d.cp; }
  int64_t devicesPerNode() const { return plan.devices / plan.nodes; }
  // Whether tensor-parallel collectives run beside the products around them, as the stack has it: among the devices
  // of a node, with sequence parallelism. `mayHideTensor`: the same, whichever links these are on.
  bool mayHideTensor() const { return d.tp > 1 && d.sequenceParallel && software.tpHidden > 0; }
  bool hidesTensor() const {
    int64_t inside = 1; // ranks of axes that lie inside of tp
    for (size_t axis = 0; d.order[axis] != 't'; ++axis)
      inside *= d.sizeOf(d.order[axis]);
    return mayHideTensor() && inside * d.tp <= devicesPerNode();
  }
  // Of a bucket; 0: the software's own size.
  int64_t bucketElements() const { return d.bucketBytes / (reduced == Width::Half ? 2 : 4); }

  bool hasEvenChunks() const;
  // Whether all layers recompute alike.
  bool recomputesAlike() const { return d.recompute == d.recomputeMost; }
  // Whether ranks lie on the links as `order` has them; axes of one rank may be anywhere.
  bool liesAs(const AxisOrder &order) const;
  // Whether stages have the ranks that the order of axes gives them. They don't where the plan puts
  // them on parts of a system whose devices differ.
  bool hasRanksOfOrder() const;

  // Lines for the head of a file, without a comment's sign: what the plan is of and what it costs.
  std::vector<std::string> summary() const;
};

// What decides whether the runs of layers are what a schedule makes of the stages: empty, or what is
// wrong with a plan that somebody edited.
std::string findMisplacedChunk(const PlanView &view);

// What to say where the launcher lays ranks on the links in another way than the plan: `name` has its
// axes as `order`. Nothing where both do alike.
void noteRanks(const PlanView &view, llvm::StringRef name, const AxisOrder &order,
               std::vector<std::string> &notes);

// A number with as many digits as it needs: "1e-05", "0.5", "500000".
std::string decimalOf(double value);

// "a, b and c".
std::string listOf(llvm::ArrayRef<std::string> words);

} // namespace dtc::launch
