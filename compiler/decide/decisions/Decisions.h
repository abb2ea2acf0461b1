// The values of all decisions about how a step is spread over devices. Decision.h has everything
// else that is known of each; docs/adding-a-decision.md says what a new decision takes.
#pragma once

#include "compiler/search/pipeline/Schedule.h"
#include "dialects/graph/Compression.h"
#include "dialects/graph/Recompute.h"

#include <algorithm>
#include <array>
#include <compare>

namespace dtc {

// The way that the queries of ranks that share a sequence reach all of its keys.
enum class ContextKind : uint8_t {
  Ring,     // ranks pass keys and values on, overlapped with the attention to those received before
            // (Liu et al. 2023, arXiv:2310.01889)
  AllToAll, // ranks swap parts of the sequence for heads (Jacobs et al. 2023, arXiv:2309.14509)
  Both,     // groups of ranks swap, rings go over the groups (Fang and Zhao 2024, arXiv:2405.07719)
  AllGather, // each gathers all keys and values before (Llama 3, arXiv:2407.21783, section 3.3.2)
};

// Returns true if the kind has a ring.
inline bool hasRing(ContextKind kind) {
  return kind == ContextKind::Ring || kind == ContextKind::Both;
}

// The layers of a stage whose saved activations are in host memory until their backward pass.
enum class LayersOnHost : uint8_t {
  None,
  Some, // the first ones, as few as necessary, if that is the fastest way to fit
  All,  // and all recompute the same
};

// The order of axes from the innermost one on: a permutation of these letters. t tensor, c context,
// d data (expert parallelism lies inside c and d), p pipeline.
using AxisOrder = std::array<char, 4>;
constexpr AxisOrder kMegatronOrder{'t', 'c', 'd', 'p'};

// The tensor-parallel degree of the stages on each device group of a heterogeneous system, groups
// in the order of ranks; 0 for groups that do not exist. All 0: equal degrees, which systems of
// more than kMostUnevenParts groups always have.
constexpr size_t kMostUnevenParts = 4;
constexpr int64_t kMostTensorOfPart = 1 << 14;
using TensorOfParts = std::array<int16_t, kMostUnevenParts>;

// All decisions of a plan.
struct Decisions {
  int64_t dp = 1, tp = 1, pp = 1, cp = 1, ep = 1;
  // Experts are spread over the ranks of tensor parallelism, too, each whole on its rank: ep
  // divides tp x cp x dp. Otherwise tensor parallelism splits each expert, and ep divides cp x dp.
  // MoE parallel folding: Liu et al. 2025, arXiv:2504.14960. False where tp is 1.
  bool foldedExperts = false;
  ContextKind contextKind = ContextKind::Ring; // used if cp is more than 1
  // Rows that a rank of expert parallelism has room for, per 1,000 that each gets where all get as
  // many; the rest go in further rounds. 0: all rows of all ranks.
  int32_t expertRoomPerMille = 0;
  int64_t contextInner = 1; // Both: size of the all-to-all groups, the innermost ranks of cp
  bool sequenceParallel = false;
  int64_t zero = 0;
  int64_t zeroGroup = 0; // ranks of dp among which ZeRO shards, the groups holding copies; 0: all
  int64_t microBatch = 1, numMicroBatches = 1;
  ScheduleKind schedule = ScheduleKind::OneForwardOneBackward;
  int64_t virtualStages = 1;
  // Every stage has its share of the embedding and the output layer, by words, and computes it in
  // passes S (logits) and T (gradients) between those of its layers. Yeung et al. 2024,
  // arXiv:2411.05288: their algorithm 1, with two barriers among the stages for each micro-batch,
  // or 2, with one. 0: they are on the first and the last stage.
  int64_t vocabOverPp = 0;
  // The least and the most recomputation of every layer. If a stage does not fit with the least, as
  // few of its layers as necessary recompute more, in the fastest of the modes between the two that
  // the software can mix. In a finished plan: the modes in use.
  Recompute recompute = Recompute::None, recomputeMost = Recompute::None;
  // Every chunk has the same number of layers, as in Megatron, instead of equal seconds. If that
  // only divides with embedding and head counted as a layer each, they are.
  bool evenStages = false;
  // The same number of layers in every chunk recomputes more, as Megatron's flags express it.
  bool evenRecompute = false;
  // The output layer, the loss and their gradients are computed for so many chunks of a
  // micro-batch's tokens one after another, so that the logits of one chunk alone exist at a time.
  int64_t lossChunks = 1;
  bool offloadOptimizer = false; // states live in the host's memory
  // Layers whose activations are on the host; in a finished plan, the ones that are.
  LayersOnHost layersOnHost = LayersOnHost::None;
  AxisOrder order = kMegatronOrder;
  int placement = 0; // a point of the frontier of (tp, sp); 0: Megatron's
  int partOrder = 0; // index in partOrders: order in which stages visit the device groups
  // Divisors of tp, which is the largest. With t of them stages have dp x tp / t ranks of dp in
  // place of dp, each with micro-batches of microBatch x t / tp samples: as many devices, and as
  // many samples of a micro-batch in all.
  TensorOfParts tensorOfParts{};
  // Returns true if device groups have different tensor-parallel degrees.
  bool hasUnevenTensor() const { return tensorOfParts != TensorOfParts{}; }
  // Returns the decisions of the stages on one device group, with tensorOfParts resolved.
  Decisions onPart(size_t part) const {
    Decisions d = *this;
    d.tensorOfParts = {};
    int64_t ranks = part < tensorOfParts.size() ? tensorOfParts[part] : 0;
    if (ranks == 0 || ranks == tp)
      return d;
    d.tp = ranks;
    d.dp = dp * tp / ranks;
    d.microBatch = microBatch * ranks / tp;
    d.sequenceParallel &= ranks > 1;
    d.foldedExperts &= ranks > 1;
    return d;
  }
  // Ranks of context parallelism among which heads are spread; a ring goes over groups of so many.
  int64_t headRanks() const {
    return contextKind == ContextKind::AllToAll ? cp
           : contextKind == ContextKind::Both   ? contextInner
                                                : 1;
  }
  // Ranks that pass or gather the keys and values of the same heads. The product of both is cp.
  int64_t ringRanks() const { return cp / headRanks(); }
  // Returns true if ranks gather keys and values before their attention, instead of passing them.
  bool gathersKeys() const { return contextKind == ContextKind::AllGather; }
  // Returns true if ZeRO shards among groups of dp, which hold copies of each other.
  bool hasZeroGroups() const { return zeroGroup > 0; }
  // Ranks that hold parts of what ZeRO shards.
  int64_t zeroRanks() const { return zeroGroup > 0 ? zeroGroup : dp; }
  // Ranks of a stage that expert parallelism spreads experts over, `ep` after `ep` of them.
  int64_t ranksOfExperts() const { return ranksOfExperts(dp); }
  // The same of so many of the ranks of dp.
  int64_t ranksOfExperts(int64_t dataRanks) const {
    return (foldedExperts ? tp : 1) * cp * dataRanks;
  }
  // Returns true if expert parallelism spreads experts over the ranks of an axis.
  bool spreadsExperts(char axis) const {
    return axis == 'c' || axis == 'd' || (axis == 't' && foldedExperts);
  }
  // Ranks of tensor parallelism that split one expert.
  int64_t tensorRanksOfExpert() const { return foldedExperts ? 1 : tp; }
  // Returns true if ranks hold different experts, or experts other than tensor parallelism splits.
  bool hasExpertParallelism() const { return ep > 1 || foldedExperts; }
  // Ranks that hold parts of what ZeRO shards of one expert.
  int64_t zeroRanksOfExpert() const {
    return std::max<int64_t>(1, ranksOfExperts(zeroRanks()) / ep);
  }
  // Returns true if several ranks have the same parameters, so that gradients are reduced and ZeRO
  // can shard.
  bool hasReplicas() const { return dp * cp > 1 || ranksOfExperts() > ep || hasUnevenTensor(); }
  // Set last, by the estimate: gradients overlap with the backward pass, in buckets of so many
  // bytes (0: the software stack's default), or are reduced as a whole after it.
  bool overlapGradients = true;
  int64_t bucketBytes = 0;
  CompressionNumbers compression{}; // how gradients are summed; only where --fix asks for it
  // Returns the method by which gradients are summed.
  Compression compress() const { return compressionOf(compression); }

  // Returns true if every stage has a share of the vocabulary.
  bool dividesVocabulary() const { return vocabOverPp > 0; }
  // Barriers of a micro-batch among all stages; each keeps one more micro-batch alive on each.
  int64_t vocabBarriers() const { return dividesVocabulary() ? 3 - vocabOverPp : 0; }

  // Returns the number of devices.
  int64_t devices() const { return dp * tp * pp * cp; }
  // Ranks along an axis, by its letter in AxisOrder.
  int64_t sizeOf(char axis) const {
    return axis == 't' ? tp : axis == 'c' ? cp : axis == 'd' ? dp : pp;
  }
  // Returns true if layers may recompute more than the least.
  bool mayRecomputeMore() const { return recomputeMost > recompute; }
  // Returns true if activations of all layers are on the host.
  bool offloadsAllLayers() const { return layersOnHost == LayersOnHost::All; }
  // Returns true if activations of some layers are on the host, or of none if all fit without.
  bool offloadsSomeLayers() const { return layersOnHost == LayersOnHost::Some; }
  // Returns true if activations of a layer may be on the host.
  bool offloadsLayers() const { return offloadsAllLayers() || offloadsSomeLayers(); }
  // Returns true if layers may save more memory than at first.
  bool mayKeepLess() const { return mayRecomputeMore() || offloadsSomeLayers(); }
  // Returns the decisions whose layers all keep the most that these permit: they recompute and
  // offload the least.
  Decisions keepingMost() const {
    Decisions d = *this;
    d.recomputeMost = recompute;
    if (offloadsSomeLayers())
      d.layersOnHost = LayersOnHost::None;
    return d;
  }
  bool operator==(const Decisions &) const = default;
  // Compares in the order that decides ties between plans (AllDecisions.cpp), not that of fields.
  std::strong_ordering operator<=>(const Decisions &other) const;
};

} // namespace dtc
