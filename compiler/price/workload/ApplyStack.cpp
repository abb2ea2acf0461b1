// Applies the properties of a software stack to a model's cells.
#include "compiler/price/workload/ApplyStack.h"

#include "compiler/decide/decisions/RecomputeMixes.h"
#include "compiler/price/workload/Fusions.h"

#include "llvm/ADT/STLExtras.h"

namespace dtc {
namespace {

// Returns true if the op computes on tokens of experts, of which ranks get unequal numbers.
bool isOfTokensOfExperts(const CellOp &op) {
  return (op.batchScale | op.mScale | op.nScale | op.kScale) & ScalesWithCapacity;
}

// Returns the share of compute/cost's rate that the op reaches. Unblocked attention runs as batched
// matmuls of heads.
double rateShareOf(const CellOp &op, const SoftwareStack &stack) {
  switch (op.kind) {
  case WorkKind::Product:
    return isOfExperts(op) ? stack.productShare * stack.groupedShare : stack.productShare;
  case WorkKind::Attention:
    return stack.blockedAttention ? stack.attentionShare : stack.productShare;
  case WorkKind::Memory:
    return 1;
  }
  return 1;
}

// Times the bytes of an op, where they are what it takes.
double trafficOf(const CellOp &op, const SoftwareStack &stack) {
  if (op.kind != WorkKind::Memory)
    return 1;
  return op.isLoss        ? stack.lossTraffic
         : op.isComposite ? stack.compositeTraffic * stack.memoryTraffic
         : op.isDispatch  ? stack.dispatchTraffic * stack.memoryTraffic
                          : stack.memoryTraffic;
}

// Sets the ops that selective recomputation repeats and the activations that remain. For attention
// alone, all of `kept` remains, which excludes the attention scores.
void setSelective(BlockCell &cell, const SoftwareStack &stack) {
  cell.selectiveShare = stack.selectiveShare;
  if (stack.selectiveAttention) {
    cell.keptSelective = cell.kept;
    cell.normKeptSelective = cell.normKept;
    cell.selectiveOps.clear();
  }
  if (stack.selectiveAttention || !stack.blockedAttention)
    for (auto [index, op] : llvm::enumerate(cell.ops))
      if (op.kind == WorkKind::Attention && op.phase == CellPhase::Forward)
        cell.selectiveOps.push_back(static_cast<int>(index));
}

// Returns true if a tensor-parallel collective serves only experts and their dispatch and combine.
bool isForExperts(const CellCollective &collective, const BlockCell &cell) {
  return collective.axis == CellAxis::Tp && !collective.of.empty() &&
         llvm::all_of(collective.of, [&](int index) {
           const CellOp &op = cell.ops[static_cast<size_t>(index)];
           return op.isDispatch || isOfExperts(op);
         });
}

// Each of `ranks` of tensor parallelism exchanges its part of the sequence's tokens; what all of
// them receive is gathered, and on the way back scattered as it is summed.
void gatherRows(BlockCell &cell, int64_t ranks) {
  llvm::erase_if(cell.collectives,
                 [&](const CellCollective &each) { return isForExperts(each, cell); });
  std::vector<CellCollective> rows;
  for (CellCollective &exchange : cell.collectives) {
    if (exchange.axis != CellAxis::Ep)
      continue;
    CellCollective &all = rows.emplace_back(exchange);
    all.axis = CellAxis::Tp;
    all.kind = exchange.isToExperts ? CollectiveKind::AllGather : CollectiveKind::ReduceScatter;
    for (double &part : exchange.bytes.parts)
      part /= static_cast<double>(ranks);
  }
  cell.collectives.insert(cell.collectives.end(), rows.begin(), rows.end());
}

bool fuses(const SoftwareStack &stack, Fusion fusion) {
  switch (fusion) {
  case Fusion::None:
    return false;
  case Fusion::Gate:
    return stack.fusesGates && stack.joinsPointwise;
  case Fusion::NormGradients:
    return stack.fusesNormGradients;
  }
  return false;
}

void applyTo(BlockCell &cell, const SoftwareStack &stack, ComputeType compute, int64_t tp) {
  for (CellOp &op : cell.ops)
    op = applyStack(std::move(op), stack, compute);
  if (stack.joinsProducts)
    joinProducts(cell);
  for (CellCollective &collective : cell.collectives)
    collective.sendsOnce = collective.axis == CellAxis::Ep && stack.sendsTokensOnce;
  cell.keptShare = stack.keptShare * (compute == ComputeType::FP8 ? stack.keptShare8 : 1);
  cell.normKept = stack.rmsNormKept;
  cell.hostSeconds = stack.hostSecondsPerLayer;
  cell.hostSecondsPerExpert = stack.hostSecondsPerExpert;
  cell.accumulateBytes = stack.accumulateBytes;
  cell.launch = stack.replaysGraphs ? Launch::Replayed : Launch::Single;
  cell.logitBytes = stack.logitBytes * static_cast<double>(stack.gathersLogits ? tp : 1);
  if (stack.blockedAttention)
    cell.attentionScores = {};
  setSelective(cell, stack);
  if (!stack.skipsUnread)
    cell.unreadOps.clear();
}

} // namespace

CellOp applyStack(CellOp op, const SoftwareStack &stack, ComputeType compute) {
  op.rateShare = rateShareOf(op, stack);
  op.traffic = trafficOf(op, stack);
  op.looseTraffic = stack.joinsPointwise ? 0 : stack.memoryTraffic;
  op.joined = op.joined && stack.joinsPointwise;
  if (fuses(stack, op.fusion)) {
    op.bytes -= op.fusedBytes;
    // The multiplication by a gate joins the kernel of the gate, not the reverse.
    op.joined |= op.phase != CellPhase::Forward;
  }
  if (op.isInPlace && stack.partsInPlace) {
    op.bytes = op.looseBytes = {};
  } else if (op.isEpilogue && stack.productEpilogues &&
             !(op.isNarrow && compute == ComputeType::F32)) {
    op.bytes -= op.unmovedBytes;
    op.joined = true;
  }
  op.sustained = stack.sustained;
  op.launch = stack.replaysGraphs ? Launch::Replayed : Launch::Single;
  op.isBlocked = stack.blockedAttention;
  op.scoreTraffic = stack.scoreTraffic;
  bool casts = op.kind == WorkKind::Product && compute == ComputeType::FP8;
  op.castTraffic = casts ? stack.castTraffic : 0;
  op.imbalance = isOfTokensOfExperts(op) ? stack.expertImbalance : 1;
  return op;
}

ModelCells applyStack(ModelCells cells, const SoftwareStack &stack, ComputeType compute) {
  bool isByPart = cells.tp > 1 && cells.sequenceParallel && !cells.foldsExperts;
  if (stack.gathersRows && isByPart)
    for (BlockCell &block : cells.blocks)
      gatherRows(block, cells.tp);
  applyTo(cells.embedding, stack, compute, cells.tp);
  applyTo(cells.head, stack, compute, cells.tp);
  // Training in 8 bits keeps the output layer in 16: --fp8-output-proj of Megatron-LM is off,
  // torchtitan's float8 recipes filter lm_head, and MaxText's logits_dense has no quantization.
  for (CellOp &op : cells.head.ops) {
    op.staysWide = op.kind == WorkKind::Product;
    op.castTraffic = op.staysWide ? 0 : op.castTraffic;
  }
  for (BlockCell &block : cells.blocks)
    applyTo(block, stack, compute, cells.tp);
  cells.overlap = {stack.tpHidden,     stack.cpHidden,  stack.epHidden,       stack.dpHidden,
                   stack.gatherHidden, stack.p2pHidden, stack.overlapSlowdown};
  cells.process = {stack.reservedBytes, stack.communicatorBytes,     stack.fragmentation,
                   stack.wholeLayers,   stack.keepsEmbeddingAndHead, stack.keepsSent};
  cells.gatherShare = stack.gatherShare;
  cells.gathersAgain = stack.gathersAgain;
  cells.recomputeMixes = recomputeMixes(stack.space);
  cells.hostRecomputes = stack.space.offloadActivations;
  cells.keepsALayer = !stack.space.offloadAllLayers;
  cells.dividesVocabulary = stack.space.vocabOverPp != 0;
  return cells;
}

} // namespace dtc
