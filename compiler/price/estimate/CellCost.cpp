// Seconds and bytes of one block.
#include "compiler/price/estimate/CellCost.h"

#include "compiler/price/cost/CollectiveCost.h"
#include "compiler/price/cost/Constants.h"
#include "compiler/price/cost/MeshGroups.h"
#include "compiler/price/cost/OpCost.h"
#include "compiler/price/cost/UsedLevels.h"
#include "compiler/price/estimate/NetworkLevels.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace dtc {
namespace {

int64_t scaled(int64_t size, uint8_t bits, const CellScale &scale) {
  return std::max<int64_t>(1, std::llround(static_cast<double>(size) * scale.factor(bits)));
}

double sustainedOf(const CellOp &op, const DeviceKind &device) {
  return op.sustained > 0 ? op.sustained : constantsOf(device).sustained;
}

class BlockCoster {
public:
  BlockCoster(const CellScale &scale, const Topology &topology, const CellPrecision &precision)
      : scale(scale), topology(topology), precision(precision) {}

  // Returns the work that the op launches; attention as one blocked kernel.
  OpWork workOf(const CellOp &op) const {
    OpWork work;
    work.kind = op.kind;
    work.type = precision.compute;
    // 8-bit training computes only the matrix products of linear layers in 8 bits.
    if (work.type == ComputeType::FP8)
      work.type = op.kind == WorkKind::Product && !op.staysWide ? precision.eightBitProducts
                                                                : ComputeType::BF16;
    work.bytes = op.bytes.at(scale) * op.traffic;
    if (op.kind != WorkKind::Memory) {
      work.m = scaled(op.m, op.mScale, scale);
      work.n = scaled(op.n, op.nScale, scale);
      work.k = scaled(op.k, op.kScale, scale);
      work.batch = scaled(op.batch, op.batchScale, scale);
      work.flops = op.flops * scale.factor(op.flopsScale) * (op.causal ? 0.5 : 1);
    }
    if (op.looseTraffic > 0)
      work.bytes += op.looseBytes.at(scale) * op.looseTraffic;
    work.bytes *= precision.activationShare;
    return work;
  }

  double secondsOfOp(const CellOp &op) const {
    const DeviceKind &device = topology.device;
    OpWork work = workOf(op);
    if (op.kind == WorkKind::Attention && !op.isBlocked)
      return unfusedAttention(work, op);
    if (op.kind != WorkKind::Memory)
      work.flops /= sustainedOf(op, device);
    double seconds = secondsOf(work, device, op.launch) / op.rateShare;
    if (op.castTraffic > 0)
      seconds += castSeconds(work, op);
    if (op.joined)
      seconds = std::max(0.0, seconds - launchSeconds(device, op.launch));
    return seconds * op.imbalance;
  }

  // Returns the number of experts on a rank; 0 in blocks without experts.
  double expertsOf(const BlockCell &cell) const {
    for (const CellOp &op : cell.ops)
      if (isOfExperts(op))
        return static_cast<double>(workOf(op).batch);
    return 0;
  }

private:
  // Returns the seconds to cast the operands of an 8-bit matrix product, and to transpose them for
  // the other products that read them.
  double castSeconds(const OpWork &product, const CellOp &op) const {
    OpWork cast;
    cast.bytes = product.bytes * op.castTraffic;
    return cast.bytes > 0 ? secondsOf(cast, topology.device, op.launch) : 0;
  }

  // Returns the seconds of attention as separate matrix products: scores in memory, nothing saved
  // by causality.
  double unfusedAttention(const OpWork &attention, const CellOp &op) const {
    double passes = op.phase == CellPhase::Forward ? 1 : 2;
    OpWork scores =
        productWork(attention.m, attention.n, attention.k, attention.batch, precision.compute);
    OpWork values =
        productWork(attention.m, attention.k, attention.n, attention.batch, precision.compute);
    double sustained = sustainedOf(op, topology.device);
    scores.flops /= sustained;
    values.flops /= sustained;
    auto seconds = [&](const OpWork &work) { return secondsOf(work, topology.device, op.launch); };
    OpWork rows;
    rows.type = precision.compute;
    rows.bytes = passes * op.scoreTraffic * 4 * precision.activationShare *
                 static_cast<double>(attention.batch) *
                 static_cast<double>(attention.m * attention.n);
    return (passes * (seconds(scores) + seconds(values))) / op.rateShare + seconds(rows);
  }

  const CellScale &scale;
  const Topology &topology;
  const CellPrecision &precision;
};

// Returns the share of a token's `copies`, sent to random ranks, that go to different ones: to
// different nodes if the group spans several, since the network is what takes the time.
// Example: 8 copies to 2 nodes are 2 (1 - 0.5^8) / 8 = 0.249.
double distinctShare(double copies, const RankGroup &group, const Topology &topology) {
  double ranks = 1, nodes = 1;
  llvm::SmallVector<int64_t> perLevel = ranksPerLevel(group, topology);
  for (auto [level, count] : llvm::zip(topology.levels, perLevel)) {
    ranks *= static_cast<double>(count);
    if (isNetwork(level.kind))
      nodes *= static_cast<double>(count);
  }
  double destinations = nodes > 1 ? nodes : ranks;
  return std::min(1.0, destinations * (1 - std::pow(1 - 1 / destinations, copies)) / copies);
}

// Returns true if an amount scales with the tokens of experts.
bool isOfCapacity(const Amount &amount) {
  for (size_t bits = 0; bits < numScaleSets; ++bits)
    if ((bits & ScalesWithCapacity) && amount.parts[bits] > 0)
      return true;
  return false;
}

// Returns the axis whose share of hidden seconds counts for a collective.
CellAxis hidingAxisOf(const CellCollective &collective) {
  return isOfCapacity(collective.bytes) ? CellAxis::Ep : collective.axis;
}

// Raises the times of a block to the host's, which dominates if kernels are shorter than their
// launches.
void waitForHost(BlockCost &cost, double launch) {
  cost.forward = std::max(cost.forward, launch);
  cost.backwardInput = std::max(cost.backwardInput, 2 * launch - cost.backwardWeight);
}

void addCompute(BlockCost &cost, const BlockCell &cell, const BlockCoster &coster) {
  std::vector<double> seconds;
  for (const CellOp &op : cell.ops) {
    double s = coster.secondsOfOp(op);
    seconds.push_back(s);
    (op.phase == CellPhase::Forward         ? cost.forward
     : op.phase == CellPhase::BackwardInput ? cost.backwardInput
                                            : cost.backwardWeight) += s;
    if (op.kind != WorkKind::Memory)
      cost.matrix += s;
  }
  for (int index : cell.selectiveOps)
    cost.selective += seconds[static_cast<size_t>(index)];
  waitForHost(cost, cell.hostSeconds + cell.hostSecondsPerExpert * coster.expertsOf(cell));
  for (int index : cell.unreadOps)
    cost.unread += seconds[static_cast<size_t>(index)];
  for (auto [op, own] : llvm::zip_equal(cell.ops, seconds))
    for (size_t partial = 0; op.runsAgain.any() && partial < kNumPartials; ++partial)
      if (op.runsAgain[partial])
        cost.partial[partial].compute += own;
}

// Returns the sum that a collective belongs to.
double &partOf(AgainCollectives &all, const CellCollective &collective) {
  if (collective.swapsHeads)
    return all.heads;
  switch (hidingAxisOf(collective)) {
  case CellAxis::Tp:
    return all.tp;
  case CellAxis::Cp:
    return all.cp;
  case CellAxis::Ep:
    return all.ep;
  case CellAxis::Dp:
    return all.heads;
  }
  llvm_unreachable("all axes are there");
}

// Adds the seconds of a collective to every recomputation that repeats it.
void addAgain(BlockCost &cost, const BlockCell &cell, const CellCollective &collective,
              double seconds) {
  for (size_t partial = 0; partial < kNumPartials; ++partial)
    if (collective.runsAgain[partial])
      partOf(cost.partial[partial].collectives, collective) += seconds;
  if (runsAgainSelectively(cell, collective))
    partOf(cost.selectiveCollectives, collective) += seconds;
}

} // namespace

double keptOf(const BlockCost &block, Recompute recompute) {
  if (isPartial(recompute))
    return block.partial[partialIndex(recompute)].kept;
  return recompute == Recompute::Full        ? (block.runsBackward ? block.input : 0)
         : recompute == Recompute::Selective ? block.keptSelective
                                             : block.kept;
}

bool runsAgainSelectively(const BlockCell &cell, const CellCollective &collective) {
  return collective.axis != CellAxis::Tp && collective.phase == CellPhase::Forward &&
         llvm::any_of(collective.of,
                      [&](int op) { return llvm::is_contained(cell.selectiveOps, op); });
}

CellPrecision cellPrecision(Precision precision, Optimizer optimizer,
                            const SoftwareStack &software) {
  constexpr double kWide = bytesOf(Precision::F32);
  CellPrecision result;
  double states = optimizer.stateBytes();
  result.optimizerBytes = states;
  if (optimizer.kind == OptimizerKind::Muon) {
    result.orthogonalises = true;
    result.otherStateBytes = Optimizer(OptimizerKind::AdamW, optimizer.state).stateBytes() - states;
  }
  if (precision == Precision::F32)
    return result;
  result.compute = computeTypeOf(precision);
  if (software.runsPrograms)
    result.eightBitProducts = ComputeType::BF16;
  result.activationShare = bytesOf(precision) / kWide;
  result.parameterBytes = bytesOf(precision);
  result.gradientBytes = software.gradientBytes;
  result.optimizerBytes = states + kWide;
  result.reduceBytes = software.reduceBytes;
  result.castsGathered = software.castsGathered;
  result.ringsAddInF32 = software.runsPrograms;
  return result;
}

void setReduction(GradientType type, CellPrecision &precision) {
  double bytes = bytesOf(type);
  switch (type) {
  case GradientType::F32:
    if (precision.reduceBytes >= bytes)
      return;
    precision.reduceBytes = bytes;
    precision.gradientBytes = std::max(precision.gradientBytes, bytes);
    return;
  case GradientType::BF16:
    precision.reduceBytes = bytes;
    return;
  case GradientType::F16:
    return;
  }
}

OpCosting costOp(const CellOp &op, const CellScale &scale, const Topology &topology,
                 const CellPrecision &precision) {
  BlockCoster coster(scale, topology, precision);
  double sustained = op.kind == WorkKind::Memory ? 1 : sustainedOf(op, topology.device);
  return {coster.workOf(op), coster.secondsOfOp(op), sustained};
}

double collectiveBytes(const CellCollective &collective, const CellScale &scale,
                       const AxisGroups &groups, const Topology &topology,
                       const CellPrecision &precision) {
  RankGroup group = groupOf(collective, groups);
  bool isOfKeys = collective.axis == CellAxis::Cp && !collective.swapsHeads;
  bool isWide = isOfKeys && !groups.gathersKeys && precision.ringsAddInF32 &&
                collective.kind == CollectiveKind::ReduceScatter;
  double bytes = collective.bytes.at(scale) * (isWide ? 1 : precision.activationShare);
  if (collective.sendsOnce)
    bytes *= distinctShare(collective.copies, group, topology);
  // Ranks of the group have the same heads, the other cp ranks have other ones.
  if (isOfKeys)
    bytes *= ranksOf(group) / scale.cp;
  return bytes;
}

RankGroup groupOf(const CellCollective &collective, const AxisGroups &groups) {
  if (collective.axis == CellAxis::Cp)
    return collective.swapsHeads ? groups.heads : groups.keys;
  if (collective.axis == CellAxis::Dp)
    return groups.dense;
  const RankGroup &all = collective.axis == CellAxis::Tp ? groups.tp : groups.ep;
  return collective.part.size == 0 ? all
                                   : partOfGroup(all, collective.part.size, collective.part.stride);
}

double hiddenShareOf(const CellCollective &collective, const Overlap &overlap) {
  switch (hidingAxisOf(collective)) {
  case CellAxis::Tp:
    return overlap.tp;
  case CellAxis::Cp:
    return collective.swapsHeads ? 0 : overlap.cp;
  case CellAxis::Ep:
    return overlap.ep;
  case CellAxis::Dp: // what follows waits for it
    return 0;
  }
  llvm_unreachable("all axes are there");
}

OpWork accumulationOf(double parameters, const BlockCell &cell) {
  OpWork work;
  work.bytes = parameters * cell.accumulateBytes;
  return work;
}

void addCollectives(const BlockCell &cell, const CellScale &scale, const AxisGroups &groups,
                    const Topology &topology, const CellPrecision &precision,
                    CollectiveSeconds secondsOfCollective, BlockCost &cost) {
  double gatheredForward = 0, gatheredBackward = 0; // bytes of keys and values
  for (const CellCollective &collective : cell.collectives) {
    RankGroup group = groupOf(collective, groups);
    if (llvm::all_of(group, [](const RankSpan &span) { return span.size == 1; }))
      continue;
    double bytes = collectiveBytes(collective, scale, groups, topology, precision);
    double seconds = secondsOfCollective(collective.kind, bytes, group);
    bool forward = collective.phase == CellPhase::Forward;
    CellAxis axis = hidingAxisOf(collective);
    bool isBare = collective.swapsHeads || axis == CellAxis::Dp;
    (isBare                 ? (forward ? cost.forwardHeads : cost.backwardHeads)
     : axis == CellAxis::Ep ? (forward ? cost.forwardEp : cost.backwardEp)
     : axis == CellAxis::Tp ? (forward ? cost.forwardTp : cost.backwardTp)
                            : (forward ? cost.forwardCp : cost.backwardCp)) += seconds;
    if (forward)
      addAgain(cost, cell, collective, seconds);
    if (forward && collective.isUnread)
      cost.unread += seconds;
    // Chunks of the loss share out the bytes, and each waits for its own.
    auto isOfLoss = [&](int op) { return cell.ops[static_cast<size_t>(op)].isLoss; };
    if (llvm::any_of(collective.of, isOfLoss))
      cost.chunkSeconds += secondsOfCollective(collective.kind, 1, group);
    if (groups.gathersKeys && collective.axis == CellAxis::Cp)
      (forward ? gatheredForward : gatheredBackward) += bytes;
  }
  cost.forwardTransient += gatheredForward;
  cost.transient += std::max(gatheredForward, gatheredBackward);
}

BlockCost costBlock(const BlockCell &cell, const CellScale &scale, const AxisGroups &groups,
                    const Topology &topology, const CellPrecision &precision) {
  BlockCost cost = costWork(cell, scale, topology, precision);
  addCollectives(
      cell, scale, groups, topology, precision,
      [&](CollectiveKind kind, double bytes, const RankGroup &group) {
        return collectiveSeconds(kind, bytes, group, topology);
      },
      cost);
  return cost;
}

ParameterCounts parametersOf(const BlockCell &cell, const CellScale &scale) {
  ParameterCounts counts;
  for (size_t bits = 0; bits < numScaleSets; ++bits) {
    bool isExpert = bits & ScalesWithExperts;
    double factor = scale.factor(static_cast<uint8_t>(bits));
    (isExpert ? counts.expert : counts.dense) += cell.parameters.parts[bits] * factor;
    (isExpert ? counts.expertMatrices : counts.denseMatrices) += cell.matrices.parts[bits] * factor;
    (isExpert ? counts.frozenExpert : counts.frozenDense) += cell.frozen.parts[bits] * factor;
  }
  return counts;
}

// Adds what a loss in chunks of tokens changes. Each further chunk launches the kernels again, and
// reads and writes the f32 gradients of the output layer, to which it adds its own.
static void addChunks(BlockCost &cost, const BlockCell &cell, const CellScale &scale,
                      const Topology &topology, const CellPrecision &precision) {
  double logits = cell.logits.at(scale);
  if (logits == 0)
    return;
  cost.logits = logits * precision.activationShare * cell.keptShare;
  double unread = logits / 4 * (cell.logitBytes - 4);
  cost.logitGradients =
      std::max(0.0, logits * precision.activationShare +
                        (unread < 0 ? unread * precision.activationShare / 0.5 : unread));
  constexpr double kReadAndWritten = 8; // bytes
  OpWork sum;
  sum.bytes = kReadAndWritten * cost.denseParameters;
  cost.chunkSeconds =
      secondsOf(sum, topology.device, cell.launch) +
      static_cast<double>(cell.ops.size()) * launchSeconds(topology.device, cell.launch);
}

BlockCost costWork(const BlockCell &cell, const CellScale &scale, const Topology &topology,
                   const CellPrecision &precision) {
  BlockCost cost;
  addCompute(cost, cell, BlockCoster(scale, topology, precision));
  double share = precision.activationShare;
  cost.input = cell.input.at(scale) * share;
  double keptShare = share * cell.keptShare;
  double norms = cell.rmsNormInputs.at(scale) * share;
  cost.kept = std::max(cost.input, cell.kept.at(scale) * keptShare) + norms * cell.normKept;
  cost.keptSelective = std::max(cost.input, cell.keptSelective.at(scale) * keptShare) +
                       norms * cell.normKeptSelective;
  for (auto [partial, kept] : llvm::zip_equal(cost.partial, cell.keptPartial))
    partial.kept = std::max(cost.input, kept.at(scale) * keptShare);
  if (cell.selectiveShare > 0) {
    cost.selective = cell.selectiveShare * cost.forward;
    cost.keptSelective = cost.input + (1 - cell.selectiveShare) * (cost.kept - cost.input);
  }
  // Softmax rows, their dropout mask and what comes out of it: 2 + 1 + 2 bytes (Korthikanti et al.
  // 2022, 5 a s^2 b).
  cost.kept += 5 * cell.attentionScores.at(scale) * share / 0.5;
  // The graph itself counts one saved copy and one gradient, 2 bytes each in 16 bits. Bytes above
  // that have the same width in any training; bytes below it are as wide as the training.
  double lossBytes = cell.logits.at(scale) / 4 * (cell.logitBytes - 4);
  if (lossBytes < 0)
    lossBytes *= share / 0.5;
  cost.forwardTransient = cell.forwardTransient.at(scale) * share;
  cost.transient =
      std::max({0.0, cost.forwardTransient, cell.backwardTransient.at(scale) * share + lossBytes});
  ParameterCounts parameters = parametersOf(cell, scale);
  cost.denseParameters = parameters.dense;
  cost.expertParameters = parameters.expert;
  cost.denseMatrices = parameters.denseMatrices;
  cost.expertMatrices = parameters.expertMatrices;
  cost.frozenDense = parameters.frozenDense;
  cost.frozenExpert = parameters.frozenExpert;
  cost.runsBackward = cell.runsBackward;
  if (!cost.runsBackward) {
    cost.kept = cost.keptSelective = cost.selective = 0;
    cost.partial.fill({});
  }
  cost.sharedGradients = cell.sharedGradients.at(scale);
  cost.matrixElements = cell.matrixElements.at(scale);
  cost.matrixFlops = cell.matrixFlops.at(scale);
  OpWork accumulation = accumulationOf(cost.denseParameters + cost.expertParameters, cell);
  cost.backwardWeight += secondsOf(accumulation, topology.device, cell.launch);
  addChunks(cost, cell, scale, topology, precision);
  return cost;
}

BlockCost withLossInChunks(BlockCost head, int64_t chunks) {
  double others = static_cast<double>(chunks - 1), freed = others / static_cast<double>(chunks);
  head.kept = std::max(head.input, head.kept - freed * head.logits);
  head.keptSelective = std::max(head.input, head.keptSelective - freed * head.logits);
  head.transient -= freed * std::min(head.transient, head.logitGradients);
  head.forwardTransient = std::min(head.forwardTransient, head.transient);
  head.backwardWeight += others * head.chunkSeconds;
  return head;
}

} // namespace dtc
