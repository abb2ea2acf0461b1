// The work of each block of a model on one rank of a tensor-parallel group: the unit in which the
// planner costs.
#pragma once

#include "compiler/price/cost/Cost.h"
#include "dialects/graph/Recompute.h"

#include <array>
#include <bitset>
#include <cassert>
#include <string>
#include <vector>

namespace dtc {

// Factors that a size scales with. A dimension that merges batch and sequence has both bits.
enum ScaleBits : uint8_t {
  ScalesWithBatch = 1,    // times the samples of a micro-batch
  ScalesWithSequence = 2, // divided by the ranks of context parallelism
  ScalesWithExperts = 4,  // divided by the ranks of expert parallelism
  ScalesWithCapacity = 8, // times the ranks of expert parallelism: an expert gets their tokens too
  ScalesWithVocabulary = 16, // divided by the parts that the words of the model are cut into
};
constexpr size_t numScaleSets = 32;

// The sizes of a micro-batch and of the parallel axes that amounts are scaled by.
struct CellScale {
  double samples = 1, cp = 1, ep = 1;
  double vocabulary = 1; // parts of the words, beside those of tensor parallelism

  // Returns the product of the factors in `bits`.
  double factor(uint8_t bits) const {
    return (bits & ScalesWithBatch ? samples : 1) / (bits & ScalesWithSequence ? cp : 1) /
           (bits & ScalesWithExperts ? ep : 1) * (bits & ScalesWithCapacity ? ep : 1) /
           (bits & ScalesWithVocabulary ? vocabulary : 1);
  }
};

// A sum of quantities, each for one sample, cp = 1 and ep = 1, by what they scale with.
struct Amount {
  std::array<double, numScaleSets> parts{};

  // Returns the amount for these sizes.
  double at(const CellScale &scale) const {
    double sum = 0;
    for (size_t bits = 0; bits < numScaleSets; ++bits)
      if (parts[bits] != 0)
        sum += parts[bits] * scale.factor(static_cast<uint8_t>(bits));
    return sum;
  }
  // Adds term by term.
  Amount &operator+=(const Amount &other) {
    for (size_t bits = 0; bits < numScaleSets; ++bits)
      parts[bits] += other.parts[bits];
    return *this;
  }
  // Subtracts term by term.
  Amount &operator-=(const Amount &other) {
    for (size_t bits = 0; bits < numScaleSets; ++bits)
      parts[bits] -= other.parts[bits];
    return *this;
  }
};

// Number of partial recomputation modes: all but none, selective and full.
constexpr size_t kNumPartials = kNumRecomputes - 3; // none, selective, full
// Returns the index of a partial recomputation mode, from 0.
inline size_t partialIndex(Recompute recompute) {
  assert(isPartial(recompute));
  return static_cast<size_t>(recompute) - static_cast<size_t>(Recompute::SelectiveAttention);
}
// Returns the partial recomputation mode with an index.
constexpr Recompute partialAt(size_t index) {
  return static_cast<Recompute>(index + static_cast<size_t>(Recompute::SelectiveAttention));
}
using RecomputeSet = std::bitset<kNumPartials>;

// Backward work is split as zero-bubble schedules split it: what the previous block waits for, and
// gradients of weights, which nobody waits for.
enum class CellPhase : uint8_t { Forward, BackwardInput, BackwardWeight };

// Kernel fusions that hand-written kernels of some stacks provide (applyStack).
enum class Fusion : uint8_t { None, Gate, NormGradients };

// One op on one rank. Bytes are those of f32; CellPrecision says how they shrink in 16 bits.
struct CellOp {
  std::string name;      // name of the op in the graph dialect, without "graph."
  std::string parameter; // the parameter that it reads, or whose gradient it computes; "" if none
  WorkKind kind = WorkKind::Memory;
  CellPhase phase = CellPhase::Forward;
  bool joined = false; // to the op before it, in one kernel
  // Sizes of matmuls and attention, and the factors that they scale with.
  int64_t m = 0, n = 0, k = 0, batch = 0;
  uint8_t mScale = 0, nScale = 0, kScale = 0, batchScale = 0;
  double flops = 0;
  uint8_t flopsScale = 0;
  Amount bytes;      // to and from memory where pointwise ops are joined
  Amount looseBytes; // additional bytes if they are not joined
  bool causal = false;
  bool isLoss = false;          // reads the logits, or makes their gradient
  bool isDispatch = false;      // orders tokens by expert, or back
  bool isComposite = false;     // some stacks compose it of ops, as RMS normalisation
  bool isInPlace = false;       // a slice or a concatenation, which may be where a tensor lies
  bool isEpilogue = false;      // the product before it can do it,
  bool isNarrow = false;        // in 16 bits alone where this says so,
  Amount unmovedBytes;          // and so much of `bytes` then stays where products are computed
  Fusion fusion = Fusion::None; // fusion that the op can be part of
  Amount fusedBytes;            // and so much of `bytes` is then not moved
  // Matmuls that can be merged share the index of the one that stands for all; -1: none. `grows` is
  // the size that adds up when they merge, and `sharedBytes` the part of `bytes` that they share.
  int joinsAt = -1;
  int64_t CellOp::*grows = nullptr;
  Amount sharedBytes;
  bool addsJoined = false; // an addition that is then part of the product

  // Set by applyStack; the defaults follow the graph.
  Launch launch = Launch::Single;
  // Sustained share of the isolated rate of matmuls and attention; 0: DeviceConstants::sustained.
  double sustained = 0;
  double rateShare = 1;    // share of the rate that compute/cost gives its kind
  double traffic = 1;      // times `bytes`
  double looseTraffic = 0; // times `looseBytes`
  bool isBlocked = true;   // attention only: scores are never in memory
  double scoreTraffic = 0; // otherwise: elements moved for each score of a pass
  double castTraffic = 0;  // times its bytes, which casting its operands moves beside it
  bool staysWide = false;  // a product in 16 bits where others are in 8
  double imbalance = 1;    // times its seconds: the fullest rank over the mean

  RecomputeSet runsAgain; // partial ways to recompute that run it again
};

// Returns true if the op is a matmul of experts, each with its own parameters.
inline bool isOfExperts(const CellOp &op) {
  return op.kind == WorkKind::Product && (op.batchScale & ScalesWithExperts);
}

// A collective of a block. Tp: inside the tensor-parallel group; Cp: keys and values, or their
// gradients, of all ranks that share a sequence, or a swap of its parts for heads; Ep: tokens on
// their way to and from experts; Dp: statistics of a batch.
enum class CellAxis : uint8_t { Tp, Cp, Ep, Dp };
// One collective of a block.
struct CellCollective {
  CellAxis axis = CellAxis::Tp;
  CollectiveKind kind = CollectiveKind::AllReduce;
  CellPhase phase = CellPhase::Forward;
  Amount bytes;             // size of the whole tensor in f32, as collectiveSeconds takes it
  RankSpan part = {0, 1};   // Tp: every `stride`-th rank of the group, `size` of them; size 0: all
  double copies = 1;        // Ep: of each token
  bool isToExperts = false; // Ep: tokens on their way there, not back
  bool sendsOnce = false;   // Ep: copies for the same place travel as one
  // Cp: one rank's part of the sequence for its share of the heads, or back, among the ranks that
  // heads are spread over. Otherwise `bytes` are of all heads, and each such rank takes its share.
  bool swapsHeads = false;
  bool isUnread = false; // Ep: full recomputation does not repeat it
  // The ops of the block that it is there for: those whose partial results it adds up, those that
  // read what it gathers, or the one that exchanges.
  std::vector<int> of = {};
  RecomputeSet runsAgain = {}; // partial ways to recompute that run it again
};

// A block of layers, the part before the first block or the part after the last.
struct BlockCell {
  std::string name;
  std::vector<CellOp> ops; // in program order, the forward ones first
  std::vector<CellCollective> collectives;
  Amount input;         // bytes that come in from the block before
  Amount kept;          // bytes from forward to backward, the input included
  Amount keptSelective; // the same where everything that costs no product is recomputed
  std::array<Amount, kNumPartials>
      keptPartial;               // and with further ops, of the ways for which isPartial
  std::vector<int> selectiveOps; // indices of the forward ops that are then run again
  std::vector<int>
      unreadOps; // forward ops that nothing of the backward pass needs, as a layer's last product
  Amount logits; // bytes that the loss reads
  Amount rmsNormInputs;   // bytes that RMS normalisations read
  Amount attentionScores; // elements of softmax rows, which attention that is not blocked keeps
  Amount forwardTransient, backwardTransient; // bytes beyond those kept
  Amount parameters;                          // elements on this rank that are trained
  Amount matrices;                            // those of them that are in hidden matrices
  Amount frozen;                              // those that are not trained: no gradient, no state
  bool runsBackward = true; // a block in front of all that is trained has no backward pass
  // Elements of both kinds that each pass reads, gathered for it if parameters rest split: once for
  // a block, and for each op of a part outside of blocks. `gatheredFull`: backward that recomputes
  // all; recomputation without matrix products repeats nothing that takes a gather.
  Amount gatheredForward, gatheredBackward, gatheredFull;
  std::array<Amount, kNumPartials> gatheredPartial; // as gatheredFull
  // Trained elements whose gradients ranks of tensor parallelism add up, once a step.
  Amount sharedGradients;
  // Elements of the whole hidden matrices that are trained, and the floating-point operations that
  // make them orthogonal, which muon spends once a step. Neither is split by tensor parallelism.
  Amount matrixElements, matrixFlops;

  // Set by applyStack.
  Launch launch = Launch::Single;             // launch kind of work that is no op of the graph
  double keptShare = 1;                       // times `kept` and `keptSelective`
  double normKept = 0, normKeptSelective = 0; // times `rmsNormInputs`, on top of these
  // If not 0, the share of the forward pass that selective recomputation repeats, in place of
  // `selectiveOps`; it frees the same share of the saved activations.
  double selectiveShare = 0;
  double logitBytes = 4;      // alive for each logit that a rank sees while their gradient is made
  double accumulateBytes = 0; // moved for each parameter to add its gradient to the step's
  // Seconds that the host takes to launch the forward pass, and additional seconds per expert of a
  // rank.
  double hostSeconds = 0, hostSecondsPerExpert = 0;
};

// Shares of communication that overlap with compute.
struct Overlap {
  double tp = 0, cp = 0, ep = 0; // share of the seconds of collectives inside blocks
  // Share of the passes that can hide the communication of gradients and parameters.
  double gradients = 0;
  double gathers = 0;   // share of a block's compute that can hide ZeRO's gathers and reductions
  double transfers = 0; // share of the seconds of transfers between stages, without virtual stages
  double slowdown = 1;  // 1, and what compute loses to each second beside it
};

// Memory of a process beside what is alive.
struct ProcessMemory {
  double reserved = 0, perCommunicator = 0; // bytes; a communicator for each axis
  double fragmentation = 1;                 // times activations and temporaries
  // ZeRO-2 and 3: number of layers that are gathered at a time, and whether embedding and head
  // always are.
  double wholeLayers = 2;
  bool keepsEmbeddingAndHead = false;
  bool keepsSent = false; // pipelines keep a sent activation until its gradient arrives
};

// A model on a tensor-parallel group of `tp` ranks.
struct ModelCells {
  int64_t tp = 1;
  bool sequenceParallel = false;
  bool foldsExperts = false; // experts are whole, each rank of the group sends tokens of its own
  BlockCell embedding, head;
  std::vector<BlockCell> blocks; // distinct ones
  std::vector<int> chain;        // block of each layer, in order
  // Elements of parameters that embedding and head share, trained and frozen: with several stages
  // both hold them.
  Amount tied, tiedFrozen;

  // Set by applyStack.
  Overlap overlap;
  ProcessMemory process;
  double gatherShare = 1; // share of a collective's rate that ZeRO's gathers and reductions reach
  bool gathersAgain = false; // full recomputation gathers once for itself, once for the gradients
  // Pairs of recomputation modes that layers of one stage may mix; the second one recomputes less.
  std::vector<std::pair<Recompute, Recompute>> recomputeMixes;
  // Recomputation modes that layers may use if their other saved activations are on the host.
  std::bitset<kNumRecomputes> hostRecomputes;
  bool keepsALayer = false; // on the device, of those of a stage that are on the host otherwise
  bool dividesVocabulary = false; // stages may share out embedding and output layer by words
};

} // namespace dtc
