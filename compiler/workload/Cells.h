// What each block of a model does on one rank of a tensor-parallel group: the planner's unit of
// costing.
#pragma once

#include "compiler/cost/Cost.h"
#include "dialects/graph/Recompute.h"

#include <array>
#include <bitset>
#include <cassert>
#include <string>
#include <vector>

namespace dtc {

// What a size scales with. A dim that batch and sequence were merged into has both bits.
enum ScaleBits : uint8_t {
  ScalesWithBatch = 1,    // times the samples of a micro-batch
  ScalesWithSequence = 2, // divided by the ranks of context parallelism
  ScalesWithExperts = 4,  // divided by the ranks of expert parallelism
  ScalesWithCapacity = 8, // times the ranks of expert parallelism: an expert gets their tokens too
  ScalesWithVocabulary = 16, // divided by the parts that the words of the model are cut into
};
constexpr size_t numScaleSets = 32;

struct CellScale {
  double samples = 1, cp = 1, ep = 1;
  double vocabulary = 1; // parts of the words, beside those of tensor parallelism

  double factor(uint8_t bits) const {
    return (bits & ScalesWithBatch ? samples : 1) / (bits & ScalesWithSequence ? cp : 1) /
           (bits & ScalesWithExperts ? ep : 1) * (bits & ScalesWithCapacity ? ep : 1) /
           (bits & ScalesWithVocabulary ? vocabulary : 1);
  }
};

// A sum of quantities, each for one sample, cp = 1 and ep = 1, by what they scale with.
struct Amount {
  std::array<double, numScaleSets> parts{};

  double at(const CellScale &scale) const {
    double sum = 0;
    for (size_t bits = 0; bits < numScaleSets; ++bits)
      if (parts[bits] != 0)
        sum += parts[bits] * scale.factor(static_cast<uint8_t>(bits));
    return sum;
  }
  Amount &operator+=(const Amount &other) {
    for (size_t bits = 0; bits < numScaleSets; ++bits)
      parts[bits] += other.parts[bits];
    return *this;
  }
  Amount &operator-=(const Amount &other) {
    for (size_t bits = 0; bits < numScaleSets; ++bits)
      parts[bits] -= other.parts[bits];
    return *this;
  }
};

// Of partial ways to recompute, in their order.
constexpr size_t kNumPartials = kNumRecomputes - 3; // none, selective, full
inline size_t partialIndex(Recompute recompute) {
  assert(isPartial(recompute));
  return static_cast<size_t>(recompute) - static_cast<size_t>(Recompute::SelectiveAttention);
}
constexpr Recompute partialAt(size_t index) {
  return static_cast<Recompute>(index + static_cast<size_t>(Recompute::SelectiveAttention));
}
using RecomputeSet = std::bitset<kNumPartials>;

// Backward work is split as zero-bubble schedules split it: what the previous block waits for, and
// gradients of weights, which nobody waits for.
enum class CellPhase : uint8_t { Forward, BackwardInput, BackwardWeight };

// What kernels written by hand fuse where stacks have them (applyStack).
enum class Fusion : uint8_t { None, Gate, NormGradients };

// One op on one rank. Bytes are those of f32; CellPrecision says how they shrink in 16 bits.
struct CellOp {
  std::string name;      // of the op in the graph dialect, without "graph."
  std::string parameter; // that it reads, or whose gradient it computes; "" where none
  WorkKind kind = WorkKind::Memory;
  CellPhase phase = CellPhase::Forward;
  bool joined = false; // to the op before it, in one kernel
  // Of products and attention: sizes and what they scale with.
  int64_t m = 0, n = 0, k = 0, batch = 0;
  uint8_t mScale = 0, nScale = 0, kScale = 0, batchScale = 0;
  double flops = 0;
  uint8_t flopsScale = 0;
  Amount bytes;      // to and from memory where pointwise ops are joined
  Amount looseBytes; // what comes on top where they are not
  bool causal = false;
  bool isLoss = false;          // reads the logits, or makes their gradient
  bool isExchange = false;      // orders tokens by expert, or back
  bool isComposite = false;     // some stacks compose it of ops, as RMS normalisation
  bool isInPlace = false;       // a slice or a concatenation, which may be where a tensor lies
  bool isEpilogue = false;      // the product before it can do it,
  bool isNarrow = false;        // in 16 bits alone where this says so,
  Amount unmovedBytes;          // and so much of `bytes` then stays where products are computed
  Fusion fusion = Fusion::None; // that it is part of,
  Amount fusedBytes;            // and so much of `bytes` is then not moved
  // Of a product: which of those that may be one with it stands for all; -1: none. Which of its sizes adds up then, and what
  // of its `bytes` all of them share.
  int joinsAt = -1;
  int64_t CellOp::*grows = nullptr;
  Amount sharedBytes;
  bool addsJoined = false; // an addition that is then part of the product

  // As software computes it (applyStack), who does what the graph says unless told otherwise.
  Launch launch = Launch::Single;
  double sustained = 0; // of what products and attention reach alone; 0: DeviceConstants::sustained
  double rateShare = 1; // of the rate that compute/cost gives its kind
  double traffic = 1;   // times `bytes`
  double looseTraffic = 0; // times `looseBytes`
  bool isBlocked = true;   // of attention: its scores are never in memory
  double scoreTraffic = 0; // otherwise: elements moved for each score of a pass
  double castTraffic = 0;  // times its bytes, which casting its operands moves beside it
  bool staysWide = false;  // a product in 16 bits where others are in 8
  double imbalance = 1;    // times its seconds: the fullest rank over the mean

  RecomputeSet runsAgain; // partial ways to recompute that run it again
};

// Of experts, each with its own parameters.
inline bool isOfExperts(const CellOp &op) {
  return op.kind == WorkKind::Product && (op.batchScale & ScalesWithExperts);
}

// A collective of a block. Tp: inside the tensor-parallel group; Cp: keys and values, or their
// gradients, of all ranks that share a sequence, or a swap of its parts for heads; Ep: tokens on
// their way to and from experts.
enum class CellAxis : uint8_t { Tp, Cp, Ep };
struct CellCollective {
  CellAxis axis = CellAxis::Tp;
  CollectiveKind kind = CollectiveKind::AllReduce;
  CellPhase phase = CellPhase::Forward;
  Amount bytes;             // of the whole tensor as collectiveSeconds wants it, f32
  RankSpan part = {0, 1};   // Tp: every `stride`-th rank of the group, `size` of them; size 0: all
  double copies = 1;        // Ep: of each token
  bool isToExperts = false; // Ep: tokens on their way there, not back
  bool sendsOnce = false;   // Ep: copies for the same place travel as one
  // Cp: one rank's part of the sequence for its share of the heads, or back, among the ranks that
  // heads are spread over. Otherwise `bytes` are of all heads, and each such rank takes its share.
  bool swapsHeads = false;
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
  Amount frozen;                              // and those that are not: no gradient, no state
  bool runsBackward = true; // a block in front of all that is trained has no backward pass
  // Of both, what each pass reads, which is gathered for it where parameters rest split: a block once,
  // of a part outside of blocks each op for itself. `gatheredFull`: backward that recomputes all; what runs
  // no product again runs nothing again that takes a gather.
  Amount gatheredForward, gatheredBackward, gatheredFull;
  std::array<Amount, kNumPartials> gatheredPartial; // as gatheredFull
  Amount
      sharedGradients; // of the trained ones, whose gradients ranks of tensor parallelism add up, once a
                       // step

  // As software computes it (applyStack).
  Launch launch = Launch::Single;             // of what is no op of the graph
  double keptShare = 1;                       // times `kept` and `keptSelective`
  double normKept = 0, normKeptSelective = 0; // times `rmsNormInputs`, on top of these
  // Where not 0: selective recomputation is of so much of the forward pass, whatever
  // `selectiveOps` says, and frees as much of what is kept.
  double selectiveShare = 0;
  double logitBytes = 4;      // alive for each logit that a rank sees while their gradient is made
  double accumulateBytes = 0; // moved for each parameter to add its gradient to the step's
  // That the host takes to launch the forward pass; on top for each expert of a rank.
  double hostSeconds = 0, hostSecondsPerExpert = 0;
};

// What runs beside compute, as shares.
struct Overlap {
  double tp = 0, cp = 0, ep = 0; // of the seconds of collectives inside blocks
  double gradients = 0;          // of the passes, behind which gradients and parameters can travel
  double gathers = 0;   // of a block's compute, behind which what ZeRO moves for it can travel
  double transfers = 0; // of the seconds of transfers between stages, without virtual stages
  double slowdown = 1;  // 1, and what compute loses to each second beside it
};

// Memory of a process beside what is alive.
struct ProcessMemory {
  double reserved = 0, perCommunicator = 0; // bytes; a communicator for each axis
  double fragmentation = 1;                 // times activations and temporaries
  // Of ZeRO-2 and 3: layers that are whole at a time; whether embedding and head are whole always.
  double wholeLayers = 2;
  bool keepsEnds = false;
  bool keepsSent = false; // of pipelines: what a stage has sent on, until its gradient comes back
};

// A model on a tensor-parallel group of `tp` ranks.
struct ModelCells {
  int64_t tp = 1;
  bool sequenceParallel = false;
  bool foldsExperts = false; // experts are whole, each rank of the group sends tokens of its own
  BlockCell embedding, head;
  std::vector<BlockCell> blocks; // distinct ones
  std::vector<int> chain;        // block of each layer, in order
  // Elements of parameters that embedding and head share, trained and frozen: with several stages both
  // hold them.
  Amount tied, tiedFrozen;

  // As software runs it (applyStack).
  Overlap overlap;
  ProcessMemory process;
  double gatherShare = 1;    // of a collective's rate, that what ZeRO moves for a block reaches
  bool gathersAgain = false; // full recomputation gathers once for itself, once for the gradients
  // What some layers of a stage may recompute, and the others, who do less.
  std::vector<std::pair<Recompute, Recompute>> recomputeMixes;
  // What layers may recompute that have the rest of what they keep on the host.
  std::bitset<kNumRecomputes> hostRecomputes;
  bool keepsALayer = false; // on the device, of those of a stage that are on the host otherwise
  bool dividesVocabulary = false; // stages may share out embedding and output layer by words
};

} // namespace dtc
