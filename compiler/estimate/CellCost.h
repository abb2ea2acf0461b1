// Seconds and bytes of one block of a model under a micro-batch and the degrees that split it.
#pragma once

#include "compiler/stack/SoftwareStack.h"
#include "compiler/workload/Cells.h"

namespace dtc {

// The types in which the f32 graph is computed and stored.
struct CellPrecision {
  ComputeType compute = ComputeType::F32;
  double activationShare = 1; // bytes of an activation over those of f32
  double parameterBytes = 4;  // bytes of a parameter that compute reads
  double gradientBytes = 4;   // bytes of an accumulated gradient
  double optimizerBytes = 8;  // bytes of a parameter's optimizer state, master copy included
  double reduceBytes = 4;     // bytes of a gradient on the wire
  // Under ZeRO-3 what compute reads is cast from the master copy as it is gathered, and not at
  // rest.
  bool castsGathered = false;

  // Returns the bytes of a parameter between its gathers, besides its state. A parameter with its
  // state on the host has no master copy on the device.
  double bytesAtRest(int64_t zero, bool offloadsOptimizer) const {
    return castsGathered && zero >= 3 && !offloadsOptimizer ? 0 : parameterBytes;
  }
};

// "f32", "bf16", "f16" or "fp8"; optimizer "adamw", "lamb" (two states), "lars" (one) or "sgd"
// (one, momentum).
CellPrecision cellPrecision(llvm::StringRef precision, llvm::StringRef optimizer,
                            const SoftwareStack &software);

// Collectives that run again with what is recomputed, seconds, as if nothing were hidden.
struct AgainCollectives {
  double tp = 0, cp = 0, heads = 0, ep = 0; // named as in BlockCost
};

// The cost of a block under a partial recomputation mode.
struct PartialCost {
  double compute = 0, kept = 0; // seconds again; bytes
  AgainCollectives collectives;
};

// One micro-batch through one block on one rank.
struct BlockCost {
  double forward = 0, backwardInput = 0, backwardWeight = 0; // compute, seconds
  double matrix = 0;    // part of these seconds in matmuls and attention
  double selective = 0; // compute that selective recomputation adds
  double unread = 0;    // forward compute that full recomputation leaves out
  AgainCollectives selectiveCollectives;
  double forwardTp = 0, backwardTp = 0; // collectives, as if nothing were hidden
  double forwardCp = 0, backwardCp = 0, forwardEp = 0, backwardEp = 0;
  // Context parallelism: swaps of sequence and heads, which never overlap.
  double forwardHeads = 0, backwardHeads = 0;
  double input = 0, kept = 0, keptSelective = 0, transient = 0; // bytes
  double forwardTransient = 0;
  std::array<PartialCost, kNumPartials> partial{};
  double denseParameters = 0, expertParameters = 0; // elements of this rank, under ep
  // Part of the parameters whose gradients tensor parallelism adds up once a step.
  double sharedGradients = 0;

  // Returns the compute seconds of the backward pass.
  double backward() const { return backwardInput + backwardWeight; }
  // Returns the seconds of the forward pass's collectives.
  double forwardCollectives() const { return forwardTp + forwardCp + forwardHeads + forwardEp; }
  // Returns the seconds of the backward pass's collectives.
  double backwardCollectives() const {
    return backwardTp + backwardCp + backwardHeads + backwardEp;
  }
};

// Bytes that a block keeps of a micro-batch with what it recomputes.
double keptOf(const BlockCost &block, Recompute recompute);

// The ranks of each parallel axis.
struct AxisGroups {
  RankGroup tp, ep;        // inside a block
  RankGroup dense, expert; // groups that share gradients of dense and of expert parameters
  RankGroup pp;            // group from stage to stage
  // Context parallelism inside a block: the ranks that heads are spread over, and the ranks that
  // hold keys and values of one head.
  RankGroup heads, keys;
  bool gathersKeys = false; // before the attention that reads them: ContextKind::AllGather
};

// One op as costBlock adds it up: what it launches on one rank, and its seconds.
struct OpCosting {
  OpWork work;
  double seconds = 0;
  double sustained = 1; // share of compute/cost's rate that training steps sustain
};
// Returns the seconds of an op and their terms.
OpCosting costOp(const CellOp &op, const CellScale &scale, const Topology &topology,
                 const CellPrecision &precision);

// Returns the bytes of a block's collective, as collectiveSeconds takes them.
double collectiveBytes(const CellCollective &collective, const CellScale &scale,
                       const RankGroup &group, const Topology &topology,
                       const CellPrecision &precision);

// The ranks that a collective is among.
RankGroup groupOf(const CellCollective &collective, const AxisGroups &groups);

// Returns true if selective recomputation repeats the collective: keys that attention reads, tokens
// of experts.
bool runsAgainSelectively(const BlockCell &cell, const CellCollective &collective);

// The share of its seconds that runs beside compute. Nothing hides an exchange of tokens of
// experts, be it on tensor ranks, but what hides those of expert parallelism; nor a swap of parts
// of a sequence for heads, which all of attention waits for.
double hiddenShareOf(const CellCollective &collective, const Overlap &overlap);

// Adding the gradients of so many elements of parameters to those of the step, every micro-batch.
OpWork accumulationOf(double parameters, const BlockCell &cell);

// Returns the cost of a block without its collectives.
BlockCost costWork(const BlockCell &cell, const CellScale &scale, const Topology &topology,
                   const CellPrecision &precision);

// collectiveSeconds, or what is known of them already.
using CollectiveSeconds = llvm::function_ref<double(CollectiveKind, double, const RankGroup &)>;

// Adds a block's collectives to its cost.
void addCollectives(const BlockCell &cell, const CellScale &scale, const AxisGroups &groups,
                    const Topology &topology, const CellPrecision &precision,
                    CollectiveSeconds secondsOfCollective, BlockCost &cost);

// Both.
BlockCost costBlock(const BlockCell &cell, const CellScale &scale, const AxisGroups &groups,
                    const Topology &topology, const CellPrecision &precision);

} // namespace dtc
