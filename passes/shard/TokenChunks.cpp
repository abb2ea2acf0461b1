// Rewrites ops of a rank's program so that they work on one chunk of the tokens after another.
#include "passes/shard/TokenChunks.h"

#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/ShapeOps.h"
#include "dialects/graph/Slices.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "passes/shard/OpSplit.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace dtc {
namespace {

// Returns the dim that has the loop; -1 if there is none.
int64_t dimWith(const graph::TensorLoops &tensor, unsigned loop) {
  for (auto [dim, loops] : llvm::enumerate(tensor))
    if (llvm::is_contained(loops, loop))
      return static_cast<int64_t>(dim);
  return -1;
}

// Returns the loop of a dim that has more than one step, or its only one; nullopt if there are
// several, or none.
std::optional<unsigned> loopOf(const graph::OpRule &rule, const graph::DimLoops &dim) {
  if (dim.size() == 1)
    return dim.front();
  std::optional<unsigned> found;
  for (unsigned loop : dim)
    if (rule.loops[loop].size != 1) {
      if (found)
        return std::nullopt;
      found = loop;
    }
  return found;
}

std::string nameOf(Operation *op) { return op->getName().getStringRef().str(); }

RankedTensorType part(Type type, int64_t dim, int64_t chunks) {
  auto tensor = cast<RankedTensorType>(type);
  if (dim < 0)
    return tensor;
  SmallVector<int64_t> shape(tensor.getShape());
  shape[dim] /= chunks;
  return tensor.clone(shape);
}

void copyAttr(Operation *from, Operation *to, StringRef name) {
  if (Attribute attr = from->getAttr(name))
    to->setAttr(name, attr);
}

} // namespace

std::string TokenChunks::note(Value value, int64_t dim) {
  auto [entry, isNew] = dimOf.try_emplace(value, dim);
  if (!isNew)
    return entry->second == dim ? "" : nameOf(value.getDefiningOp()) + " has tokens in two dims";
  if (dim >= 0) {
    left.push_back(value);
    return "";
  }
  // A sum over the tokens is complete after the last chunk.
  for (Operation *user : value.getUsers())
    if (ops.contains(user))
      return nameOf(user) + " needs all tokens at once";
  return "";
}

std::string TokenChunks::followOp(Operation *op, Value known, int64_t dim) {
  if (dims.contains(op))
    return "";
  Dims found;
  if (isa<shard::AllReduceOp>(op)) {
    found = {{dim}, {dim}};
  } else if (auto interface = dyn_cast<graph::RuleOpInterface>(op)) {
    graph::OpRule rule = interface.getRule();
    const graph::TensorLoops &tensor =
        known.getDefiningOp() == op
            ? rule.results[cast<OpResult>(known).getResultNumber()]
            : rule.operands[llvm::find(op->getOperands(), known) - op->operand_begin()];
    std::optional<unsigned> loop = loopOf(rule, tensor[dim]);
    if (!loop || rule.loops[*loop].size % chunks != 0 ||
        llvm::is_contained(rule.indexedLoops, *loop))
      return nameOf(op) + " can't compute a part of its tokens";
    graph::LoopKind kind = rule.loops[*loop].kind;
    if ((kind != graph::LoopKind::Parallel && kind != graph::LoopKind::Sum) ||
        !canSplitLoop(rule, static_cast<int>(*loop), chunks))
      return nameOf(op) + " needs all tokens at once";
    for (const graph::TensorLoops &operand : rule.operands)
      found.operands.push_back(dimWith(operand, *loop));
    for (const graph::TensorLoops &result : rule.results)
      found.results.push_back(dimWith(result, *loop));
  } else {
    return nameOf(op) + " can't compute a part of its tokens";
  }
  dims[op] = found;
  for (auto [result, at] : llvm::zip_equal(op->getResults(), found.results))
    if (std::string why = note(result, at); !why.empty())
      return why;
  for (auto [operand, at] : llvm::zip_equal(op->getOperands(), found.operands))
    if (operand.getDefiningOp() && ops.contains(operand.getDefiningOp()))
      if (std::string why = note(operand, at); !why.empty())
        return why;
  return "";
}

std::string TokenChunks::follow(Value value, int64_t dim, int64_t numChunks) {
  chunks = numChunks;
  dims.clear();
  dimOf.clear();
  left.clear();
  if (cast<RankedTensorType>(value.getType()).getDimSize(dim) % chunks != 0)
    return std::to_string(cast<RankedTensorType>(value.getType()).getDimSize(dim)) + " tokens";
  left.push_back(value);
  if (value.getDefiningOp() && ops.contains(value.getDefiningOp()))
    dimOf[value] = dim;
  while (!left.empty()) {
    Value next = left.pop_back_val();
    int64_t at = next == value ? dim : dimOf.lookup(next);
    SmallVector<Operation *> around(next.getUsers());
    if (next.getDefiningOp())
      around.push_back(next.getDefiningOp());
    for (Operation *op : around)
      if (ops.contains(op))
        if (std::string why = followOp(op, next, at); !why.empty())
          return why;
  }
  for (Operation *op : ops)
    if (!dims.contains(op))
      return nameOf(op) + " has no tokens";
  return "";
}

// Moves what the ops read, and stands after the first of them, in front of it.
void TokenChunks::moveOperandsInFront() {
  Operation *first = ops.front();
  SmallVector<Value> read;
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp(); maker && !ops.contains(maker))
        read.push_back(operand);
  graph::OpSet needed = graph::getProducers(read);
  for (Operation &op :
       llvm::make_early_inc_range(llvm::make_range(first->getIterator(), first->getBlock()->end())))
    if (needed.contains(&op))
      op.moveBefore(first);
}

Value TokenChunks::slice(OpBuilder &builder, OpOperand &use, int64_t dim, int64_t chunk) {
  Value &known = slices[{use.get(), dim}];
  if (known)
    return known;
  RankedTensorType type = part(use.get().getType(), dim, chunks);
  auto made = graph::SliceOp::create(builder, use.getOwner()->getLoc(), type, use.get(),
                                     builder.getI64IntegerAttr(dim),
                                     builder.getI64IntegerAttr(chunk * type.getDimSize(dim)),
                                     builder.getI64IntegerAttr(type.getDimSize(dim)), UnitAttr());
  copyAttr(use.getOwner(), made, graph::kChunkAttr);
  return known = made;
}

void TokenChunks::replace(StringRef mark) {
  moveOperandsInFront();
  OpBuilder builder(ops.front());
  // per result that ops outside read: its parts, or its sum so far
  llvm::MapVector<Value, SmallVector<Value>> parts;
  llvm::DenseMap<Value, Value> sums;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    Attribute number = builder.getI64IntegerAttr(chunk);
    auto finish = [&](Operation *made, Operation *like) {
      copyAttr(like, made, graph::kChunkAttr);
      made->setAttr(mark, number);
      return made->getResult(0);
    };
    IRMapping map;
    slices.clear();
    for (Operation *op : ops) {
      const Dims &at = dims[op];
      SmallVector<Value> operands;
      for (auto [operand, dim] : llvm::zip_equal(op->getOpOperands(), at.operands))
        operands.push_back(map.contains(operand.get()) ? map.lookup(operand.get())
                           : dim >= 0                  ? slice(builder, operand, dim, chunk)
                                                       : operand.get());
      SmallVector<Type> types;
      for (auto [type, dim] : llvm::zip_equal(op->getResultTypes(), at.results))
        types.push_back(part(type, dim, chunks));
      OperationState state(op->getLoc(), op->getName(), operands, types, op->getAttrs());
      Operation *copy = builder.create(state);
      copy->setAttr(mark, number);
      map.map(op->getResults(), copy->getResults());
      for (auto [result, made] : llvm::zip_equal(op->getResults(), copy->getResults())) {
        if (llvm::all_of(result.getUsers(), [&](Operation *user) { return ops.contains(user); }))
          continue;
        if (dimOf.lookup(result) >= 0) {
          parts[result].push_back(made);
          continue;
        }
        Value &sum = sums[result];
        sum =
            sum ? finish(graph::AddOp::create(builder, op->getLoc(), made.getType(), sum, made), op)
                : made;
      }
    }
    if (chunk + 1 < chunks)
      continue;
    for (auto &[result, all] : parts)
      result.replaceAllUsesWith(finish(
          graph::ConcatOp::create(builder, result.getLoc(), result.getType(), all,
                                  builder.getI64IntegerAttr(dimOf.lookup(result)), UnitAttr()),
          result.getDefiningOp()));
  }
  for (auto [result, sum] : sums)
    result.replaceAllUsesWith(sum);
  for (Operation *op : llvm::reverse(ops))
    op->erase();
  ops.clear();
}

} // namespace dtc
