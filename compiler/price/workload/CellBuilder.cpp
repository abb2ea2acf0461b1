// Reads the blocks of a partitioned step.
#include "compiler/price/workload/CellBuilder.h"

#include "compiler/price/workload/Fusions.h"
#include "compiler/price/workload/OpFacts.h"
#include "compiler/price/workload/OpNames.h"
#include "dialects/graph/ExchangeOps.h"
#include "dialects/graph/GradientOps.h"
#include "dialects/graph/RouteOps.h"
#include "dialects/graph/StateAttributes.h"
#include "dialects/graph/StepWeights.h"
#include "passes/graph/MuonStep.h"
#include "passes/shard/Recomputation.h"
#include "passes/shard/StepMesh.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace dtc {
namespace {

// Returns true if the op computes nothing.
bool isStructure(Operation *op) {
  return isa<graph::GetOp, graph::BlockCallOpInterface>(op) || isView(op) ||
         op->hasTrait<OpTrait::ConstantLike>() || op->hasTrait<OpTrait::IsTerminator>();
}

// Returns true if partial sums may pass through the op elementwise.
bool isLinear(Operation *op) {
  auto interface = dyn_cast<graph::RuleOpInterface>(op);
  return interface && isFusible(op) && interface.getRule().jointlyLinear;
}

SmallVector<Operation *> opsOf(graph::FuncOp func) {
  SmallVector<Operation *> ops;
  for (Operation &op : func.getBody().front().without_terminator())
    ops.push_back(&op);
  return ops;
}

} // namespace

CellBuilder::CellBuilder(ModuleOp module, int64_t samples, bool foldsExperts, int64_t exchangeRanks)
    : module(module), samples(static_cast<double>(samples)), foldsExperts(foldsExperts),
      exchangeRanks(exchangeRanks),
      microbatch(module.lookupSymbol<graph::FuncOp>(graph::kMicrobatchFunction)),
      roles(module, graph::kMicrobatchFunction), matrices(hiddenMatricesOf(module)) {
  FailureOr<Mesh> mesh = readMesh(module);
  assert(succeeded(mesh) && "partitioned programs have a mesh");
  sampleAxes = axesOfSamples(*mesh);
  expertAxes = mesh->axesOf(AxisRole::Expert);
  findForward();
  findCounting();
  findSharedGradients();
}

void CellBuilder::findSharedGradients() {
  for (unsigned index = 0; index < microbatch.getNumResults(); ++index) {
    auto symbol = microbatch.getResultAttrOfType<FlatSymbolRefAttr>(index, graph::kGradientOfAttr);
    auto placement =
        microbatch.getResultAttrOfType<graph::PlacementAttr>(index, graph::kPlacementAttr);
    if (!symbol || !placement)
      continue;
    // Data parallelism adds up all gradients.
    for (auto [axis, of] : llvm::enumerate(placement.getAxes()))
      if (of.isPartial() && !llvm::is_contained(sampleAxes, axis))
        sharedGradients.insert(symbol.getValue());
  }
}

void CellBuilder::findForward() {
  Operation *end = microbatch.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(end->getOperands()))
    if (!microbatch.getResultAttr(index, graph::kGradientOfAttr))
      if (Operation *op = value.getDefiningOp())
        forward.insert(op);
  for (size_t next = 0; next < forward.size(); ++next)
    for (Value operand : forward[next]->getOperands())
      if (Operation *op = operand.getDefiningOp())
        forward.insert(op);
}

void CellBuilder::findCounting() {
  Operation *end = microbatch.getBody().front().getTerminator();
  auto isWeight = [&](OpOperand &use) {
    return use.getOwner() == end && microbatch.getResultAttrOfType<StringAttr>(
                                        use.getOperandNumber(), graph::kAccumulatedAttr) ==
                                        StringAttr::get(module.getContext(), graph::kWeightSum);
  };
  for (Operation &op : llvm::reverse(microbatch.getBody().front().without_terminator()))
    if (!op.use_empty() && llvm::all_of(op.getUses(), [&](OpOperand &use) {
          return counting.contains(use.getOwner()) || isWeight(use);
        }))
      counting.insert(&op);
  // Beside other terms the gradient is multiplied with a number that is known before the step.
  for (auto get : microbatch.getBody().getOps<graph::GetOp>())
    if (get.getSymbol() == graph::kWeightScaleState)
      counting.insert(get->user_begin(), get->user_end());
}

bool CellBuilder::isForwardCall(Operation *op) const {
  return isa_and_nonnull<graph::BlockCallOpInterface>(op) && isForward(op);
}

bool CellBuilder::isBackwardCall(Operation *op) const {
  return isa_and_nonnull<graph::BlockCallOpInterface>(op) && !isForward(op);
}

bool CellBuilder::feedsInput(Operation *op) {
  auto it = inputPaths.find(op);
  if (it != inputPaths.end())
    return it->second;
  inputPaths[op] = false;
  bool feeds = false;
  for (Value result : op->getResults())
    for (Operation *user : result.getUsers()) {
      if (isa<graph::BlockCallOpInterface>(user))
        feeds |= (roles.bitsOf(result) & ScalesWithBatch) != 0;
      else if (user->hasTrait<OpTrait::IsTerminator>())
        feeds |= user->getParentOp() != microbatch.getOperation() &&
                 (roles.bitsOf(result) & ScalesWithBatch) != 0;
      else
        feeds |= feedsInput(user);
    }
  return inputPaths[op] = feeds;
}

ModelCells CellBuilder::build() {
  // Ops that depend on a block's forward call belong to the head, and so does what reads a
  // parameter behind one: the embedding of tokens that are looked up again behind the layers. Ops
  // that depend on the last backward call, which is that of the first layer, belong to the
  // embedding.
  ModelCells cells;
  OpList embedding, head;
  llvm::DenseSet<Operation *> afterForward, afterBackward;
  llvm::StringSet<> done;
  Operation *lastBackward = nullptr;
  for (auto call : microbatch.getBody().getOps<graph::BlockCallOpInterface>())
    if (isBackwardCall(call))
      lastBackward = call;
  for (Operation &op : microbatch.getBody().front().without_terminator()) {
    bool ofHead = false, ofEmbedding = false;
    for (Value operand : op.getOperands())
      if (Operation *source = operand.getDefiningOp()) {
        auto get = dyn_cast<graph::GetOp>(source);
        bool readsBehind = get && isParameter(get) && isForward(&op) && !cells.blocks.empty();
        ofHead |= isForwardCall(source) || afterForward.contains(source) || readsBehind;
        ofEmbedding |= source == lastBackward || afterBackward.contains(source);
      }
    if (auto call = dyn_cast<graph::BlockCallOpInterface>(op)) {
      if (isForward(&op) && done.insert(call.getBlockName()).second)
        cells.blocks.push_back(buildBlock(call));
      continue;
    }
    if (ofHead)
      afterForward.insert(&op);
    if (ofEmbedding)
      afterBackward.insert(&op);
    if ((isStructure(&op) && !isView(&op)) || counting.contains(&op))
      continue;
    bool first = cells.blocks.empty() || ofEmbedding || (isForward(&op) && !ofHead);
    (first ? embedding : head).push_back(&op);
  }
  if (cells.blocks.empty()) { // nothing to cut: all of it is one part
    cells.embedding = buildPart("model", embedding);
    return cells;
  }
  cells.embedding = buildPart("embedding", embedding);
  cells.head = buildPart("head", head);
  llvm::DenseSet<Operation *> inHead(head.begin(), head.end());
  llvm::DenseSet<Operation *> inEmbedding(embedding.begin(), embedding.end());
  for (auto get : microbatch.getBody().getOps<graph::GetOp>()) {
    bool byHead = llvm::any_of(get->getUsers(), [&](Operation *u) { return inHead.contains(u); });
    bool byEmbedding =
        llvm::any_of(get->getUsers(), [&](Operation *u) { return inEmbedding.contains(u); });
    if (byHead && byEmbedding)
      addTo(isFrozen(get) ? cells.tiedFrozen : cells.tied,
            static_cast<double>(graph::tensorOf(get.getType()).getNumElements()), 0);
  }
  return cells;
}

BlockCell CellBuilder::buildBlock(graph::BlockCallOpInterface call) {
  BlockCell cell;
  auto func = module.lookupSymbol<graph::FuncOp>(call.getBlockName());
  cell.name = call.getBlockName().str();
  OpList forwardOps = opsOf(func);
  reading = call;
  addOps(cell, forwardOps, true);
  reading = {};
  // Finds the matching backward function and the values that it reads from the forward one.
  graph::BlockCallOpInterface backward;
  llvm::SetVector<Value> kept;
  Operation *end = func.getBody().front().getTerminator();
  for (auto [index, result] : llvm::enumerate(call->getResults()))
    for (Operation *user : result.getUsers())
      if (isBackwardCall(user)) {
        // The output is the input of the next block, or read by the head, and counted there.
        if (!(index == 0 && llvm::any_of(result.getUsers(), [&](Operation *u) {
                return isForwardCall(u) || (isForward(u) && !isa<graph::BlockCallOpInterface>(u));
              })))
          kept.insert(rootOf(end->getOperand(index)));
        if (index != 0 || !backward)
          backward = cast<graph::BlockCallOpInterface>(user);
      }
  for (Value operand : call->getOperands())
    if (roles.bitsOf(operand) & ScalesWithBatch)
      cell.input += bytesOf(operand);
  kept.remove_if([](Value value) { return isa<BlockArgument>(value); });
  addKept(cell, kept, forwardOps);
  addPartials(cell, kept, forwardOps);
  addUnread(cell, kept, forwardOps);
  cell.forwardTransient = peakOf(forwardOps, kept);
  if (backward) {
    OpList backwardOps = opsOf(module.lookupSymbol<graph::FuncOp>(backward.getBlockName()));
    reading = backward;
    addOps(cell, backwardOps, false);
    reading = {};
    cell.backwardTransient = peakOf(backwardOps, {});
  } else { // nothing before it is trained, nor it itself
    cell.runsBackward = false;
    cell.kept = cell.keptSelective = {};
    cell.keptPartial.fill({});
    cell.selectiveOps.clear();
  }
  SmallVector<Value> weights;
  for (Value operand : call->getOperands())
    if (rootOf(operand).getDefiningOp<graph::GetOp>())
      weights.push_back(operand);
  addParameters(cell, weights);
  addGathers(cell, call, backward, kept);
  return cell;
}

void CellBuilder::addGathers(BlockCell &cell, graph::BlockCallOpInterface forward,
                             graph::BlockCallOpInterface backward,
                             const llvm::SetVector<Value> &kept) {
  auto func = module.lookupSymbol<graph::FuncOp>(forward.getBlockName());
  auto add = [&](Amount &amount, Value weight) {
    if (rootOf(weight).getDefiningOp<graph::GetOp>())
      addTo(amount, elementsOf(weight), roles.bitsOf(weight) & ScalesWithExperts);
  };
  auto symbolOf = [](Value weight) {
    auto get = rootOf(weight).getDefiningOp<graph::GetOp>();
    return get ? get.getSymbol() : StringRef();
  };
  for (Value operand : forward->getOperands())
    add(cell.gatheredForward, operand);
  auto isInside = [&](Operation *op) { return op->getBlock() == &func.getBody().front(); };
  // Sums the gathered parameters that backward reads, and those that recomputation reads in
  // addition.
  auto gatheredWith = [&](Recompute recompute) {
    Amount gathered;
    llvm::StringSet<> read;
    for (Value operand : backward ? ValueRange(backward->getOperands()) : ValueRange())
      if (read.insert(symbolOf(operand)).second)
        add(gathered, operand);
    RecomputeGroups groups = recomputedGroups(recompute);
    if (!groups.linear && !groups.experts) // gathers are collectives: what takes one is kept
      return gathered;
    for (Operation *op : selectRecomputation(kept, recompute, isInside).again)
      for (Value operand : op->getOperands())
        if (auto argument = dyn_cast<BlockArgument>(rootOf(operand))) {
          Value weight = forward->getOperand(argument.getArgNumber());
          if (read.insert(symbolOf(weight)).second)
            add(gathered, weight);
        }
    return gathered;
  };
  cell.gatheredBackward = gatheredWith(Recompute::None);
  cell.gatheredFull = gatheredWith(Recompute::Full);
  for (size_t partial = 0; partial < kNumPartials; ++partial)
    cell.gatheredPartial[partial] = gatheredWith(partialAt(partial));
}

BlockCell CellBuilder::buildPart(StringRef name, const OpList &ops) {
  BlockCell cell;
  cell.name = name.str();
  OpList forwardOps, backwardOps;
  for (Operation *op : ops)
    (isForward(op) ? forwardOps : backwardOps).push_back(op);
  addOps(cell, forwardOps, true);
  addOps(cell, backwardOps, false);
  llvm::SetVector<Value> kept;
  llvm::SetVector<Value> weights, inputs;
  llvm::DenseSet<Operation *> inside(ops.begin(), ops.end());
  for (Operation *op : forwardOps)
    for (Value result : op->getResults())
      for (Operation *user : result.getUsers())
        if (inside.contains(user) && !isForward(user) && !isView(op))
          kept.insert(rootOf(result));
  for (Operation *op : ops)
    for (Value operand : op->getOperands()) {
      Operation *source = rootOf(operand).getDefiningOp();
      if (auto get = dyn_cast_or_null<graph::GetOp>(source); get && isParameter(get))
        weights.insert(operand);
      else if (isForward(op) && isForwardCall(source) && inputs.insert(operand))
        cell.input += bytesOf(operand);
    }
  kept.remove_if([](Value v) { return !v.getDefiningOp() || isStructure(v.getDefiningOp()); });
  addKept(cell, kept, forwardOps);
  cell.forwardTransient = peakOf(forwardOps, kept);
  cell.backwardTransient = peakOf(backwardOps, {});
  addParameters(cell, weights.getArrayRef());
  for (Operation *op : ops) {
    llvm::SmallSetVector<Value, 4> read(op->operand_begin(), op->operand_end());
    for (Value operand : read)
      if (auto get = operand.getDefiningOp<graph::GetOp>(); get && isParameter(get)) {
        uint8_t bits = roles.bitsOf(operand) & ScalesWithExperts;
        if (isForward(op))
          addTo(cell.gatheredForward, elementsOf(operand), bits);
        else
          addTo(cell.gatheredBackward, elementsOf(operand), bits);
      }
  }
  return cell;
}

void CellBuilder::addOps(BlockCell &cell, const OpList &ops, bool forwardPart) {
  SmallVector<std::pair<Operation *, size_t>> collectives;
  for (Operation *op : ops) {
    CellPhase phase = forwardPart      ? CellPhase::Forward
                      : feedsInput(op) ? CellPhase::BackwardInput
                                       : CellPhase::BackwardWeight;
    size_t before = cell.collectives.size();
    if (collectiveOf(op)) {
      if (isOfSamples(op))
        continue;
      collectives.push_back({op, before});
      addCollective(cell, op, phase);
    } else if (!isStructure(op)) {
      addOp(cell, op, phase);
      for (CellCollective &added : llvm::drop_begin(cell.collectives, before))
        added.of = {indices.at(op)};
    }
  }
  markFusions(cell, ops, indices, [&](Value value) { return bytesOf(value); });
  for (auto [op, index] : collectives) {
    cell.collectives[index].of = isAmongExperts(op) ? packingOf(op) : opsBehind(op);
    collectiveIndices[op] = index;
  }
}

std::vector<int> CellBuilder::opsBehind(Operation *collective) const {
  llvm::SetVector<int> found;
  // Reshapes, sums of partial results and further collectives are on the way.
  std::function<void(Value)> makersOf = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !indices.contains(op)) {
      if (op && (isView(op) || collectiveOf(op)))
        makersOf(op->getOperand(0));
      return;
    }
    if (!isLinear(op))
      found.insert(indices.at(op));
    else
      for (Value operand : op->getOperands())
        makersOf(operand);
  };
  std::function<void(Value)> readersOf = [&](Value value) {
    for (Operation *user : value.getUsers())
      if (indices.contains(user))
        found.insert(indices.at(user));
      else if (isView(user) || collectiveOf(user))
        readersOf(user->getResult(0));
  };
  if (collectiveOf(collective)->kind == CollectiveKind::AllGather)
    readersOf(collective->getResult(0));
  else
    makersOf(collective->getOperand(0));
  return std::vector<int>(found.begin(), found.end());
}

void CellBuilder::addTo(Amount &amount, double value, uint8_t bits) const {
  // A program that is partitioned over experts has what its ranks have.
  if (exchangeRanks > 1) {
    bits &= ~ScalesWithCapacity;
    if (bits & ScalesWithExperts)
      value *= static_cast<double>(exchangeRanks);
  }
  amount.parts[bits] += bits & ScalesWithBatch ? value / samples : value;
}

Amount CellBuilder::bytesOf(Value value) const {
  Amount amount;
  addTo(amount, tensorBytes(value.getType()), roles.bitsOf(value));
  return amount;
}

void CellBuilder::addOp(BlockCell &cell, Operation *op, CellPhase phase) {
  auto interface = dyn_cast<graph::RuleOpInterface>(op);
  if (!interface)
    return;
  graph::OpRule rule = interface.getRule();
  CellOp cellOp = cellOpOf(op, rule);
  cellOp.phase = phase;
  cellOp.parameter = parameterOf(op, reading);
  if (rule.multiplies())
    setSizesOfSample(cellOp, op, rule);
  if (rule.kind == graph::OpKind::Attention)
    addContext(cell, cellOp, op, rule);
  if (exchangeRanks == 1)
    addDispatch(cell, op, rule, phase);
  if (rule.kind == graph::OpKind::Loss && rule.isGradient)
    cell.logits += bytesOf(op->getOperand(0));
  if (rule.kind == graph::OpKind::Normalisation && rule.isComposite && !rule.isGradient)
    cell.rmsNormInputs += bytesOf(op->getOperand(0));
  bool fusible = isFusible(op);
  for (Value operand : op->getOperands())
    (fusible && isFusible(operand.getDefiningOp()) ? cellOp.looseBytes : cellOp.bytes) +=
        bytesOf(operand);
  for (Value result : op->getResults()) {
    bool stays = fusible && result.hasOneUse() && isFusible(*result.getUsers().begin());
    (stays ? cellOp.looseBytes : cellOp.bytes) += bytesOf(result);
  }
  addEpilogue(cellOp, op);
  indices[op] = static_cast<int>(cell.ops.size());
  cell.ops.push_back(cellOp);
  if (op->hasAttr(graph::kStatisticAttr))
    cell.collectives.push_back(
        {CellAxis::Dp, CollectiveKind::AllReduce, cellOp.phase, bytesOf(op->getResult(0))});
}

void CellBuilder::addEpilogue(CellOp &cellOp, Operation *op) {
  auto [parts, isNew] = epilogues.try_emplace(op->getBlock());
  if (isNew)
    parts->second = findEpilogues(*op->getBlock());
  auto part = parts->second.find(op);
  if (part == parts->second.end())
    return;
  cellOp.isEpilogue = true;
  cellOp.isNarrow = part->second.isNarrow;
  for (Value value : part->second.unmoved) {
    bool stays = value.getDefiningOp() == op && value.hasOneUse() &&
                 isFusible(*value.getUsers().begin()); // already counted as unmoved by the op above
    if (!stays)
      cellOp.unmovedBytes += bytesOf(value);
  }
}

void CellBuilder::setSizesOfSample(CellOp &cellOp, Operation *op, const graph::OpRule &rule) const {
  SmallVector<uint8_t, 8> bits = roles.ofLoops(op, rule);
  SmallVector<int64_t, 8> sizes;
  for (auto [index, loop] : llvm::enumerate(rule.loops)) {
    sizes.push_back(loop.size);
    // Queries meet the keys of the whole sequence, which are gathered.
    if (rule.kind == graph::OpKind::Attention && rule.productLoops[index] == graph::ProductLoop::N)
      bits[index] &= ~ScalesWithSequence;
    if (exchangeRanks == 1)
      continue;
    bits[index] &= ~ScalesWithCapacity;
    if (bits[index] & ScalesWithExperts)
      sizes[index] *= exchangeRanks;
    // There is room for any routing, and products take the rows that are there.
    if (isa<graph::GroupedLinearOp, graph::GroupedLinearWeightGradOp>(op) &&
        llvm::is_contained(rule.operands[0][2], index))
      sizes[index] /= exchangeRanks;
  }
  setSizes(cellOp, rule, sizes, bits);
  for (auto [size, scale] :
       {std::tie(cellOp.m, cellOp.mScale), std::tie(cellOp.n, cellOp.nScale),
        std::tie(cellOp.k, cellOp.kScale), std::tie(cellOp.batch, cellOp.batchScale)})
    if (scale & ScalesWithBatch)
      size = std::max<int64_t>(1, size / static_cast<int64_t>(samples));
  if (cellOp.flopsScale & ScalesWithBatch)
    cellOp.flops /= samples;
}

void CellBuilder::addContext(BlockCell &cell, const CellOp &cellOp, Operation *op,
                             const graph::OpRule &rule) const {
  double scores = static_cast<double>(cellOp.batch) * static_cast<double>(cellOp.m * cellOp.n);
  if (cellOp.phase == CellPhase::Forward)
    cell.attentionScores.parts[cellOp.flopsScale] += scores;
  // Keys and values of the whole sequence are gathered, their gradients scattered. The ranks of a
  // sequence together hold the whole tensor, so its bytes do not shrink with their number. Where
  // ranks swap parts of the sequence for heads instead, all that attention reads and writes takes
  // part; what the forward pass swapped is kept that way, so of the backward pass's inputs the
  // gradient of the output alone.
  auto context = [&](const graph::TensorLoops &tensor) {
    return hasLoop(rule, tensor, graph::ProductLoop::N) &&
           !hasLoop(rule, tensor, graph::ProductLoop::M);
  };
  auto add = [&](CollectiveKind kind, Value value) {
    CellCollective collective{CellAxis::Cp, kind, cellOp.phase, {}};
    addTo(collective.bytes, tensorBytes(value.getType()),
          roles.bitsOf(value) & ~ScalesWithSequence);
    cell.collectives.push_back(collective);
  };
  for (auto [operand, tensor] : llvm::zip(op->getOperands(), rule.operands))
    if (context(tensor))
      add(CollectiveKind::AllGather, operand);
  for (auto [result, tensor] : llvm::zip(op->getResults(), rule.results))
    if (context(tensor))
      add(CollectiveKind::ReduceScatter, result);
  auto swap = [&](Value value) {
    CellCollective collective{CellAxis::Cp, CollectiveKind::AllToAll, cellOp.phase, bytesOf(value)};
    collective.swapsHeads = true;
    cell.collectives.push_back(collective);
  };
  auto isOfHeads = [&](const graph::TensorLoops &tensor) {
    return hasLoop(rule, tensor, graph::ProductLoop::K);
  };
  if (auto gradient = dyn_cast<graph::AttentionGradOp>(op))
    swap(gradient.getDout());
  else
    for (auto [operand, tensor] : llvm::zip(op->getOperands(), rule.operands))
      if (isOfHeads(tensor))
        swap(operand);
  for (auto [result, tensor] : llvm::zip(op->getResults(), rule.results))
    if (isOfHeads(tensor))
      swap(result);
}

void CellBuilder::addCollective(BlockCell &cell, Operation *op, CellPhase phase) const {
  std::optional<CollectiveWork> work = collectiveOf(op);
  bool ofResult = work->kind == CollectiveKind::AllGather;
  Value whole = ofResult ? op->getResult(0) : op->getOperand(0);
  bool isDispatch = isAmongExperts(op);
  CellCollective collective{isDispatch ? CellAxis::Ep : CellAxis::Tp, work->kind, phase, {}};
  addTo(collective.bytes, work->bytes, roles.bitsOf(whole));
  if (!isDispatch)
    collective.part = partOfTensorGroup(op);
  else
    collective.isToExperts =
        llvm::any_of(op->getUsers(), [](Operation *user) { return isa<graph::SortRowsOp>(user); });
  cell.collectives.push_back(collective);
}

void CellBuilder::addKept(BlockCell &cell, const llvm::SetVector<Value> &kept,
                          const OpList &ops) const {
  cell.kept = cell.input;
  cell.keptSelective = cell.input;
  llvm::DenseSet<Operation *> inside(ops.begin(), ops.end());
  Recomputation selective = selectRecomputation(kept, Recompute::Selective,
                                                [&](Operation *op) { return inside.contains(op); });
  for (Value value : kept) {
    Amount bytes = ownBytesOf(value);
    cell.kept += bytes;
    if (!selective.dropped.contains(value))
      cell.keptSelective += bytes;
  }
  for (Operation *op : selective.again)
    if (auto index = indices.find(op); index != indices.end())
      cell.selectiveOps.push_back(index->second);
  llvm::SetVector<Operation *> needed; // to compute `kept`
  for (Value value : kept)
    if (Operation *op = value.getDefiningOp())
      needed.insert(op);
  for (size_t next = 0; next < needed.size(); ++next)
    for (Value operand : needed[next]->getOperands())
      if (Operation *op = operand.getDefiningOp(); op && inside.contains(op))
        needed.insert(op);
  for (Operation *op : ops)
    if (auto index = indices.find(op); index != indices.end() && !needed.contains(op))
      cell.unreadOps.push_back(index->second);
}

// Rounds of rows behind the first are exchanged again in the backward pass as it is.
void CellBuilder::addUnread(BlockCell &cell, const llvm::SetVector<Value> &kept,
                            const OpList &ops) const {
  if (exchangeRanks == 1)
    return;
  llvm::DenseSet<Operation *> inside(ops.begin(), ops.end());
  Recomputation full = selectRecomputation(kept, Recompute::Full,
                                           [&](Operation *op) { return inside.contains(op); });
  for (Operation *op : ops)
    if (auto index = collectiveIndices.find(op);
        index != collectiveIndices.end() && isAmongExperts(op))
      cell.collectives[index->second].isUnread = !full.again.contains(op);
}

// Collectives that are not in the graph, of tokens and keys, follow the ops that need them.
void CellBuilder::addPartials(BlockCell &cell, const llvm::SetVector<Value> &kept,
                              const OpList &ops) const {
  llvm::DenseSet<Operation *> inside(ops.begin(), ops.end());
  for (size_t partial = 0; partial < kNumPartials; ++partial) {
    Recomputation recomputed = selectRecomputation(
        kept, partialAt(partial), [&](Operation *op) { return inside.contains(op); });
    cell.keptPartial[partial] = cell.input;
    for (Value value : kept)
      if (!recomputed.dropped.contains(value))
        cell.keptPartial[partial] += ownBytesOf(value);
    for (Operation *op : recomputed.again) {
      if (auto index = indices.find(op); index != indices.end())
        cell.ops[static_cast<size_t>(index->second)].runsAgain.set(partial);
      if (auto index = collectiveIndices.find(op); index != collectiveIndices.end())
        cell.collectives[index->second].runsAgain.set(partial);
    }
    for (CellCollective &collective : cell.collectives) {
      bool isRead =
          collective.axis == CellAxis::Tp || (collective.axis == CellAxis::Ep && exchangeRanks > 1);
      if (!isRead && collective.phase == CellPhase::Forward)
        collective.runsAgain[partial] = llvm::any_of(collective.of, [&](int op) {
          return cell.ops[static_cast<size_t>(op)].runsAgain[partial];
        });
    }
  }
}

Amount CellBuilder::ownBytesOf(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op || isStructure(op))
    return {};
  if (isFusible(op) && value.hasOneUse() && isFusible(*value.getUsers().begin()))
    return {};
  return bytesOf(value);
}

// Returns the peak bytes of temporaries: walks the ops in order, adds results and drops values
// after their last use. Saved activations and returned values are counted elsewhere.
Amount CellBuilder::peakOf(const OpList &ops, const llvm::SetVector<Value> &kept) const {
  CellScale one;
  one.ep = static_cast<double>(exchangeRanks);
  llvm::DenseMap<Value, Operation *> lastUse;
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      lastUse[rootOf(operand)] = op;
  Amount live, peak;
  llvm::DenseSet<Value> counted;
  for (Operation *op : ops) {
    for (Value result : op->getResults()) {
      bool gradient = !(roles.bitsOf(result) & ScalesWithBatch);
      if (kept.contains(result) || gradient || !lastUse.contains(result))
        continue;
      live += ownBytesOf(result);
      counted.insert(result);
    }
    if (live.at(one) > peak.at(one))
      peak = live;
    for (Value operand : op->getOperands()) {
      Value root = rootOf(operand);
      if (lastUse[root] == op && counted.erase(root))
        live -= ownBytesOf(root);
    }
  }
  return peak;
}

double CellBuilder::elementsOf(Value value) const {
  return static_cast<double>(graph::tensorOf(value.getType()).getNumElements());
}

static graph::ParameterOp parameterRead(graph::GetOp get) {
  return SymbolTable::lookupNearestSymbolFrom<graph::ParameterOp>(get, get.getSymbolAttr());
}

bool CellBuilder::isParameter(graph::GetOp get) { return parameterRead(get) != nullptr; }

bool CellBuilder::isFrozen(graph::GetOp get) {
  graph::ParameterOp parameter = parameterRead(get);
  return parameter && parameter.getFrozen();
}

void CellBuilder::addParameters(BlockCell &cell, ValueRange values) {
  for (Value value : values) {
    double elements = elementsOf(value);
    uint8_t bits = roles.bitsOf(value) & (ScalesWithExperts | ScalesWithVocabulary);
    auto get = rootOf(value).getDefiningOp<graph::GetOp>();
    addTo(get && isFrozen(get) ? cell.frozen : cell.parameters, elements, bits);
    // Ranks that have the same folded expert add its gradients up with the others that have it.
    bool isLeft = (bits & ScalesWithExperts) && foldsExperts;
    if (get && sharedGradients.contains(get.getSymbol()) && !isLeft)
      addTo(cell.sharedGradients, elements, bits);
    if (get && !isFrozen(get))
      addMatrices(cell, value, get);
  }
}

void CellBuilder::addMatrices(BlockCell &cell, Value value, graph::GetOp get) const {
  auto found = matrices.find(get.getSymbol());
  if (found == matrices.end())
    return;
  const HiddenMatrix &matrix = found->second;
  ArrayRef<int64_t> whole = cast<RankedTensorType>(parameterRead(get).getType()).getShape();
  double share = 1; // of the matrices, which are the experts of this rank
  if (matrix.batch > 0)
    share = static_cast<double>(graph::tensorOf(value.getType()).getDimSize(0)) /
            static_cast<double>(whole.front());
  uint8_t bits = roles.bitsOf(value) & ScalesWithExperts;
  double elements = share * static_cast<double>(matrix.matrices(whole)) *
                    static_cast<double>(matrix.rows(whole) * matrix.columns(whole));
  addTo(cell.matrices, elementsOf(value), bits);
  addTo(cell.matrixElements, elements, bits);
  addTo(cell.matrixFlops, share * flopsOfOrthogonal(matrix, whole), bits);
}

} // namespace dtc
