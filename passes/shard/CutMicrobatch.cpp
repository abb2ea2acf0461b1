// Cuts '@microbatch' into one function per pipeline stage.
#include "passes/shard/CutMicrobatch.h"

#include "dialects/graph/Chunks.h"
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/StateOps.h"
#include "dialects/graph/TransferOps.h"
#include "passes/shard/SumMoves.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace dtc {

using graph::ChunkLabel;

int64_t MicrobatchCut::stageOf(Operation *op) const {
  return stageOfChunk[static_cast<size_t>(*graph::getChunk(op))];
}

LogicalResult MicrobatchCut::run() {
  graph::completeChunks(whole);
  Block &body = whole.getBody().front();
  for (Operation &op : body.without_terminator()) {
    std::optional<int64_t> chunk = graph::getChunk(&op);
    if (!chunk || *chunk >= static_cast<int64_t>(stageOfChunk.size()))
      return op.emitOpError("is in no chunk of the pipeline, which has ")
             << stageOfChunk.size() << "; apply a plan with stages first";
  }
  takeApart();
  noteStages();
  addZeros();
  SmallVector<Value> values;
  for (Operation &op : body.without_terminator())
    llvm::append_range(values, op.getResults());
  for (Value value : values)
    if (failed(transfer(value)))
      return failure();
  return success();
}

// Returns the contribution of each stage to a gradient; the only contribution may be `sum` itself.
MicrobatchCut::Parts MicrobatchCut::partsOf(Value sum) {
  Operation *op = sum.getDefiningOp();
  OpBuilder builder(op);
  builder.setInsertionPointAfter(op);
  if (auto add = dyn_cast<graph::AddOp>(op); add && sum.hasOneUse()) {
    Parts parts = partsOf(add.getLhs()), others = partsOf(add.getRhs());
    if (parts.size() == 1 && others.size() == 1 && parts.begin()->first == others.begin()->first &&
        parts.begin()->first == stageOf(op))
      return {{stageOf(op), sum}};
    for (auto [stage, value] : others) {
      Value &part = parts[stage];
      if (!part) {
        part = value;
        continue;
      }
      // Labels the sum with the smaller chunk: backward runs from the last chunk to the first, so
      // both terms are there.
      int64_t chunk =
          std::min(*graph::getChunk(part.getDefiningOp()), *graph::getChunk(value.getDefiningOp()));
      part = graph::AddOp::create(builder, add.getLoc(), add.getType(), part, value);
      graph::setChunkLabel(part.getDefiningOp(), {chunk, /*isBackward=*/true});
    }
    return parts;
  }
  if (!movesSum(op) || !sum.hasOneUse())
    return {{stageOf(op), sum}};
  Parts parts = partsOf(op->getOperand(0));
  if (parts.size() == 1 && parts.begin()->second == op->getOperand(0))
    return {{stageOf(op), sum}};
  for (auto &[stage, value] : parts) {
    Operation *maker = value.getDefiningOp();
    Operation *copy = builder.clone(*op);
    copy->setOperand(0, value);
    graph::setChunkLabel(copy, *graph::getChunkLabel(maker));
    value = copy->getResult(0);
  }
  return parts;
}

// Replaces the returned gradients by the contributions of the stages.
void MicrobatchCut::takeApart() {
  Operation *end = whole.getBody().front().getTerminator();
  SmallVector<Value> results(end->getOperands());
  for (auto [index, value] : llvm::enumerate(results)) {
    Parts found = whole.getResultAttr(index, graph::kGradientOfAttr)
                      ? partsOf(value)
                      : Parts{{stageOf(value.getDefiningOp()), value}};
    for (auto [stage, part] : found)
      parts.push_back({stage, static_cast<unsigned>(index), part});
  }
  end->setOperands(llvm::map_to_vector(parts, [](const Part &part) { return part.value; }));
  SmallVector<Operation *> left;
  for (Value value : results)
    left.push_back(value.getDefiningOp());
  while (!left.empty()) {
    Operation *op = left.pop_back_val();
    if (!op || !op->use_empty())
      continue;
    SmallVector<Value> operands(op->getOperands());
    op->erase();
    for (Value operand : operands)
      if (Operation *maker = operand.getDefiningOp(); maker && !llvm::is_contained(left, maker))
        left.push_back(maker);
  }
}

void MicrobatchCut::noteStages() {
  for (auto get : whole.getBody().getOps<graph::GetOp>())
    readers[get.getSymbol()].insert(stageOf(get));
  for (const Part &part : parts) {
    if (auto parameter =
            whole.getResultAttrOfType<FlatSymbolRefAttr>(part.result, graph::kGradientOfAttr))
      readers[parameter.getValue()].insert(part.stage);
    if (auto name = whole.getResultAttrOfType<StringAttr>(part.result, graph::kAccumulatedAttr))
      sums[name.getValue()] = part.stage;
  }
}

// Stages that only read a parameter without its gradient (graph.detach) add zeros to the sum of the
// stages that have parts of it, as every stage that has the parameter takes part in that. Where a
// part is missing because the sum is moved behind the addition, the stage of the sum has it all.
void MicrobatchCut::addZeros() {
  llvm::StringMap<std::set<int64_t>> differentiates; // stages, by parameter
  for (auto get : whole.getBody().getOps<graph::GetOp>())
    if (!llvm::all_of(get->getUsers(), [](Operation *user) { return isa<graph::DetachOp>(user); }))
      differentiates[get.getSymbol()].insert(stageOf(get));
  std::map<unsigned, std::set<int64_t>> stages; // by result, those that have parts
  for (const Part &part : parts)
    stages[part.result].insert(part.stage);
  Operation *end = whole.getBody().front().getTerminator();
  OpBuilder builder(end);
  for (const auto &entry : stages) {
    unsigned result = entry.first;
    auto parameter = whole.getResultAttrOfType<FlatSymbolRefAttr>(result, graph::kGradientOfAttr);
    if (!parameter)
      continue;
    Value first =
        llvm::find_if(parts, [&](const Part &part) { return part.result == result; })->value;
    for (int64_t stage : readers[parameter.getValue()]) {
      if (entry.second.count(stage) || differentiates[parameter.getValue()].count(stage))
        continue;
      auto zeros = graph::ConstantOp::create(builder, whole.getLoc(), first.getType(),
                                             builder.getF64FloatAttr(0));
      auto chunk = llvm::find(stageOfChunk, stage) - stageOfChunk.begin();
      graph::setChunkLabel(zeros, {static_cast<int64_t>(chunk), /*isBackward=*/true});
      parts.push_back({stage, result, zeros});
    }
  }
  end->setOperands(llvm::map_to_vector(parts, [](const Part &part) { return part.value; }));
}

const std::set<int64_t> &MicrobatchCut::stagesOf(StringRef parameter) const {
  static const std::set<int64_t> first{0};
  auto found = readers.find(parameter);
  return found == readers.end() ? first : found->second;
}

// Transfers a value from chunk `from` to its neighbour `to`; returns it there.
Value MicrobatchCut::hop(OpBuilder &builder, Value value, int64_t from, int64_t to) {
  if (stageOfChunk[static_cast<size_t>(from)] == stageOfChunk[static_cast<size_t>(to)])
    return value;
  bool isBackward = to < from;
  std::string name =
      ((isBackward ? "gradient." : "activation.") + Twine(numTransfers[{from, to}]++)).str();
  Location loc = value.getLoc();
  auto send = graph::SendOp::create(builder, loc, value, static_cast<uint64_t>(from),
                                    static_cast<uint64_t>(to), name);
  auto receive = graph::ReceiveOp::create(builder, loc, value.getType(), static_cast<uint64_t>(to),
                                          static_cast<uint64_t>(from), name);
  graph::setChunkLabel(send, {from, isBackward});
  graph::setChunkLabel(receive, {to, isBackward});
  return receive.getValue();
}

LogicalResult MicrobatchCut::transfer(Value value) {
  Operation *maker = value.getDefiningOp();
  ChunkLabel made = *graph::getChunkLabel(maker);
  std::map<int64_t, SmallVector<OpOperand *>> uses; // keyed by chunk
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (user->hasTrait<OpTrait::IsTerminator>() || stageOf(user) == stageOf(maker))
      continue;
    ChunkLabel read = *graph::getChunkLabel(user);
    if (made.isBackward ? read.chunk > made.chunk : read.chunk < made.chunk) {
      InFlightDiagnostic error = maker->emitOpError("makes in chunk ")
                                 << made.chunk << " of the pipeline what chunk " << read.chunk
                                 << (made.isBackward ? " reads, whose backward pass is before it"
                                                     : " reads, whose forward pass is before it");
      error.attachNote(user->getLoc()) << "it is read here";
      return error;
    }
    uses[read.chunk].push_back(&use);
  }
  if (uses.empty())
    return success();
  if (!isa<RankedTensorType>(value.getType()))
    return maker->emitOpError("makes ")
           << value.getType() << " in chunk " << made.chunk
           << " of the pipeline, which another chunk reads; only tensors go from chunk to chunk";
  OpBuilder builder(maker);
  builder.setInsertionPointAfter(maker);
  int64_t step = made.isBackward ? -1 : 1;
  int64_t last = made.isBackward ? uses.begin()->first : uses.rbegin()->first;
  Value there = value;
  for (int64_t chunk = made.chunk; chunk != last; chunk += step) {
    there = hop(builder, there, chunk, chunk + step);
    for (OpOperand *use : uses[chunk + step])
      use->set(there);
  }
  return success();
}

graph::FuncOp MicrobatchCut::build(OpBuilder &builder, int64_t stage) const {
  graph::FuncOp from = whole;
  auto func = graph::FuncOp::create(builder, from.getLoc(), from.getSymName(),
                                    FunctionType::get(from.getContext(), {}, {}));
  if (func.getBody().empty())
    func.getBody().emplaceBlock();
  Block &body = func.getBody().front();
  auto isOwn = [&](Operation *op) { return stageOf(op) == stage; };
  IRMapping mapping;
  SmallVector<DictionaryAttr> argumentAttrs;
  // Assigns inputs that the loss does not read to the first stage: they belong to the job all the
  // same.
  for (BlockArgument argument : from.getArguments())
    if (argument.use_empty() ? stage == 0 : llvm::any_of(argument.getUsers(), isOwn)) {
      mapping.map(argument, body.addArgument(argument.getType(), argument.getLoc()));
      argumentAttrs.push_back(from.getArgAttrDict(argument.getArgNumber()));
    }
  OpBuilder inside = OpBuilder::atBlockEnd(&body);
  for (Operation &op : from.getBody().front().without_terminator())
    if (isOwn(&op))
      inside.clone(op, mapping);
  SmallVector<Value> results;
  SmallVector<DictionaryAttr> resultAttrs;
  for (const Part &part : parts)
    if (part.stage == stage) {
      results.push_back(mapping.lookup(part.value));
      resultAttrs.push_back(from.getResultAttrDict(part.result));
    }
  graph::ReturnOp::create(inside, from.getLoc(), results);
  func.setFunctionType(FunctionType::get(func.getContext(), body.getArgumentTypes(),
                                         ValueRange(results).getTypes()));
  for (auto [index, attrs] : llvm::enumerate(argumentAttrs))
    func.setArgAttrs(index, attrs);
  for (auto [index, attrs] : llvm::enumerate(resultAttrs))
    func.setResultAttrs(index, attrs);
  return func;
}

} // namespace dtc
