// Seconds and bytes of one block of a model under a micro-batch and the degrees that split it.
#pragma once

#include "compiler/describe/stack/SoftwareStack.h"
#include "compiler/price/estimate/AxisGroups.h"
#include "compiler/price/workload/Cells.h"
#include "dialects/graph/GradientType.h"
#include "dialects/graph/StateType.h"

namespace dtc {

// The numeric formats of training: how the f32 graph is computed, stored and sent.
struct CellPrecision {
  ComputeType compute = ComputeType::F32;
  // The rate of products of linear layers in 8-bit training: BF16 where a program rounds operands
  // to 8 bits and multiplies them as bf16.
  ComputeType eightBitProducts = ComputeType::FP8;
  double activationShare = 1; // bytes of an activation over those of f32
  double parameterBytes = 4;  // bytes of a parameter that compute reads
  double gradientBytes = 4;   // bytes of an accumulated gradient
  double optimizerBytes = 8;  // bytes of a parameter's state, master copy included
  double reduceBytes = 4;     // bytes of a gradient on the wire
  // True: under ZeRO-3 parameters are cast from the master copy while they are gathered, and no
  // cast copy is stored.
  bool castsGathered = false;
  // True: gradients of keys and values are added up in f32 on their way round a ring.
  bool ringsAddInF32 = false;
  bool orthogonalises = false; // the optimizer is muon
  double otherStateBytes = 0;  // of further state that parameters outside hidden matrices have

  // Returns the bytes of a parameter between its gathers, besides its state: 0 if it is cast from
  // the master copy, which has to be on the device.
  double bytesAtRest(int64_t zero, bool offloadsOptimizer) const {
    return castsGathered && zero >= 3 && !offloadsOptimizer ? 0 : parameterBytes;
  }
  // Returns the bytes of a frozen parameter, which has no master copy: software that casts the
  // parameters that it gathers keeps it in f32.
  double frozenBytesAtRest(int64_t zero) const {
    constexpr double kWide = 4;
    return castsGathered && zero >= 3 ? kWide : parameterBytes;
  }
};

// Returns the formats of a precision with the states of an optimizer.
CellPrecision cellPrecision(Precision precision, Optimizer optimizer,
                            const SoftwareStack &software);

// Makes gradients reduced in `type` instead of the software's type. Gradients that are to be
// reduced in F32 but were kept narrower are kept in F32, too. F16, which is never asked for, is
// what the software does by itself, and changes nothing.
void setReduction(GradientType type, CellPrecision &precision);

// Seconds of the collectives that recomputation repeats, as if nothing were hidden.
struct AgainCollectives {
  double tp = 0, cp = 0, heads = 0, ep = 0; // see BlockCost
};

// The cost of one partial recomputation of a block.
struct PartialCost {
  double compute = 0, kept = 0; // seconds recomputed; bytes saved
  AgainCollectives collectives;
};

// The cost of one block for one micro-batch on one rank.
struct BlockCost {
  double forward = 0, backwardInput = 0, backwardWeight = 0; // compute, seconds
  double matrix = 0;    // part of these: matrix products, attention
  double selective = 0; // compute that selective recomputation adds
  double unread = 0;    // part of forward, and of forwardEp, that full recomputation skips
  AgainCollectives selectiveCollectives;
  double forwardTp = 0, backwardTp = 0; // collectives, as if nothing were hidden
  double forwardCp = 0, backwardCp = 0, forwardEp = 0, backwardEp = 0;
  // Collectives that nothing hides: all-to-alls of context parallelism over heads, statistics of a
  // batch over data parallelism.
  double forwardHeads = 0, backwardHeads = 0;
  double input = 0, kept = 0, keptSelective = 0, transient = 0; // bytes
  double forwardTransient = 0;
  // Parts of `kept` and of `transient` that a loss in chunks of tokens has for one chunk at a time,
  // in bytes: the logits, and their gradients. Seconds that each chunk but the first adds.
  double logits = 0, logitGradients = 0, chunkSeconds = 0;
  std::array<PartialCost, kNumPartials> partial{};
  // Elements of this rank that are trained, under ep, and those of them in hidden matrices.
  double denseParameters = 0, expertParameters = 0;
  double denseMatrices = 0, expertMatrices = 0;
  double frozenDense = 0, frozenExpert = 0; // elements that are frozen
  bool runsBackward = true;                 // false if nothing in or before it is trained
  double sharedGradients = 0; // part of the trained ones that tensor parallelism sums once a step
  // Elements of the whole hidden matrices, and the flops that make them orthogonal, under ep.
  double matrixElements = 0, matrixFlops = 0;

  // Returns the elements that are trained or frozen.
  double allDense() const { return denseParameters + frozenDense; }
  double allExpert() const { return expertParameters + frozenExpert; }
  // Returns the compute seconds of the backward pass.
  double backward() const { return backwardInput + backwardWeight; }
  // Returns the seconds of the forward pass's collectives, as if nothing were hidden.
  double forwardCollectives() const { return forwardTp + forwardCp + forwardHeads + forwardEp; }
  // Returns the seconds of the backward pass's collectives, as if nothing were hidden.
  double backwardCollectives() const {
    return backwardTp + backwardCp + backwardHeads + backwardEp;
  }
};

// Returns the cost of a head that computes its loss in so many chunks of tokens.
BlockCost withLossInChunks(BlockCost head, int64_t chunks);

// Returns the bytes of activations that a block saves of a micro-batch under a recomputation.
double keptOf(const BlockCost &block, Recompute recompute);

// One op as costBlock counts it: its work on one rank, and its seconds.
struct OpCosting {
  OpWork work;
  double seconds = 0;
  double sustained = 1; // share of the rate of compiler/price/cost that training steps reach
};
// Returns the work and the seconds of an op.
OpCosting costOp(const CellOp &op, const CellScale &scale, const Topology &topology,
                 const CellPrecision &precision);

// Returns the bytes that a block's collective sends, as collectiveSeconds expects them.
double collectiveBytes(const CellCollective &collective, const CellScale &scale,
                       const AxisGroups &groups, const Topology &topology,
                       const CellPrecision &precision);

// Returns the ranks that take part in a collective.
RankGroup groupOf(const CellCollective &collective, const AxisGroups &groups);

// Returns true if selective recomputation repeats the collective: keys that attention reads, tokens
// of experts.
bool runsAgainSelectively(const BlockCell &cell, const CellCollective &collective);

// Returns the share of a collective's seconds that runs beside compute. An all-to-all of expert
// tokens, even one on tensor-parallel ranks, is hidden as much as expert parallelism is.
// All-to-alls over heads are never hidden, as all of attention waits for them.
double hiddenShareOf(const CellCollective &collective, const Overlap &overlap);

// Returns the work of adding the gradients of so many parameters to those of the step, done every
// micro-batch.
OpWork accumulationOf(double parameters, const BlockCell &cell);

// Elements of parameters on one rank.
struct ParameterCounts {
  double dense = 0, expert = 0;                 // trained
  double denseMatrices = 0, expertMatrices = 0; // trained, in hidden matrices
  double frozenDense = 0, frozenExpert = 0;     // not trained
};
// Returns the parameters of a block.
ParameterCounts parametersOf(const BlockCell &cell, const CellScale &scale);

// Returns the cost of a block without its collectives.
BlockCost costWork(const BlockCell &cell, const CellScale &scale, const Topology &topology,
                   const CellPrecision &precision);

// Computes collectiveSeconds, or looks it up.
using CollectiveSeconds = llvm::function_ref<double(CollectiveKind, double, const RankGroup &)>;

// Adds a block's collectives to its cost.
void addCollectives(const BlockCell &cell, const CellScale &scale, const AxisGroups &groups,
                    const Topology &topology, const CellPrecision &precision,
                    CollectiveSeconds secondsOfCollective, BlockCost &cost);

// Returns the cost of a block, collectives included.
BlockCost costBlock(const BlockCell &cell, const CellScale &scale, const AxisGroups &groups,
                    const Topology &topology, const CellPrecision &precision);

} // namespace dtc
