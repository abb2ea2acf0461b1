// Seconds and bytes of one block of a model under a micro-batch and the degrees that split it.
#pragma once

#include "compiler/stack/SoftwareStack.h"
#include "compiler/workload/Cells.h"

namespace dtc {

// How the f32 graph is computed and held.
struct CellPrecision {
  ComputeType compute = ComputeType::F32;
  double activationShare = 1; // bytes of an activation over those of f32
  double parameterBytes = 4;  // of a parameter that compute reads
  double gradientBytes = 4;   // of an accumulated gradient
  double optimizerBytes = 8;  // of a parameter's state, master copy included
  double reduceBytes = 4;     // of a gradient on the wire
  // Under ZeRO-3 what compute reads is cast from the master copy as it is gathered, and not at rest.
  bool castsGathered = false;

  // Of a parameter between its gathers, beside its state. What lies on the host has no master copy here.
  double bytesAtRest(int64_t zero, bool offloadsOptimizer) const {
    return castsGathered && zero >= 3 && !offloadsOptimizer ? 0 : parameterBytes;
  }
  // Of a frozen parameter, which has no master copy: software that casts what it gathers keeps it wide.
  double frozenBytesAtRest(int64_t zero) const {
    constexpr double kWide = 4;
    return castsGathered && zero >= 3 ? kWide : parameterBytes;
  }
};

// "f32", "bf16", "f16" or "fp8"; optimizer "adamw", "lamb" (two states), "lars" (one) or "sgd"
// (one, momentum).
CellPrecision cellPrecision(llvm::StringRef precision, llvm::StringRef optimizer,
                            const SoftwareStack &software);

// Collectives that run again with what is recomputed, seconds, as if nothing were hidden.
struct AgainCollectives {
  double tp = 0, cp = 0, heads = 0, ep = 0; // as of BlockCost
};

// What a partial way to recompute makes of a block.
struct PartialCost {
  double compute = 0, kept = 0; // seconds again; bytes
  AgainCollectives collectives;
};

// One micro-batch through one block on one rank.
struct BlockCost {
  double forward = 0, backwardInput = 0, backwardWeight = 0; // compute, seconds
  double matrix = 0;                                         // of these, products and attention
  double selective = 0; // compute that selective recomputation adds
  double unread = 0;    // of forward: compute that full recomputation leaves out
  AgainCollectives selectiveCollectives;
  double forwardTp = 0, backwardTp = 0; // collectives, as if nothing were hidden
  double forwardCp = 0, backwardCp = 0, forwardEp = 0, backwardEp = 0;
  double forwardHeads = 0, backwardHeads = 0; // of context parallelism: swaps, which nothing hides
  double input = 0, kept = 0, keptSelective = 0, transient = 0; // bytes
  double forwardTransient = 0;
  std::array<PartialCost, kNumPartials> partial{};
  double denseParameters = 0,
         expertParameters = 0;              // elements of this rank that are trained, under ep
  double frozenDense = 0, frozenExpert = 0; // and those that are not
  bool runsBackward = true;                 // false where nothing in or before it is trained
  double sharedGradients = 0; // of the trained ones, that tensor parallelism adds up once a step

  double allDense() const { return denseParameters + frozenDense; }
  double allExpert() const { return expertParameters + frozenExpert; }
  double backward() const { return backwardInput + backwardWeight; }
  double forwardCollectives() const { return forwardTp + forwardCp + forwardHeads + forwardEp; }
  double backwardCollectives() const {
    return backwardTp + backwardCp + backwardHeads + backwardEp;
  }
};

// Bytes that a block keeps of a micro-batch with what it recomputes.
double keptOf(const BlockCost &block, Recompute recompute);

// Where the ranks of an axis are.
struct AxisGroups {
  RankGroup tp, ep;        // inside a block
  RankGroup dense, expert; // that share gradients of dense and of expert parameters
  RankGroup pp;            // from stage to stage
  // Of cp, inside a block: the ranks that heads are spread over, and those that keys and values of a head come from.
  RankGroup heads, keys;
  bool gathersKeys = false; // before the attention that reads them: ContextKind::AllGather
};

// One op as costBlock adds it up: what it launches on one rank, and its seconds.
struct OpCosting {
  OpWork work;
  double seconds = 0;
  double sustained = 1; // of the rate of compute/cost, in steps of training
};
OpCosting costOp(const CellOp &op, const CellScale &scale, const Topology &topology,
                 const CellPrecision &precision);

// What a collective of a block sends, as collectiveSeconds wants it.
double collectiveBytes(const CellCollective &collective, const CellScale &scale,
                       const RankGroup &group, const Topology &topology,
                       const CellPrecision &precision);

// The ranks that a collective is among.
RankGroup groupOf(const CellCollective &collective, const AxisGroups &groups);

// Whether selective recomputation sends it again: keys that attention reads, tokens of experts.
bool runsAgainSelectively(const BlockCell &cell, const CellCollective &collective);

// The share of its seconds that runs beside compute. Nothing hides an exchange of tokens of experts,
// be it on tensor ranks, but what hides those of expert parallelism; nor a swap of parts of a
// sequence for heads, which all of attention waits for.
double hiddenShareOf(const CellCollective &collective, const Overlap &overlap);

// Adding the gradients of so many elements of parameters to those of the step, every micro-batch.
OpWork accumulationOf(double parameters, const BlockCell &cell);

// What a rank does itself: all of a block's cost but its collectives.
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
