// Counts the rows that one sample has in the batch dim of a tensor.
#include "passes/graph/SampleRows.h"

#include "dialects/graph/Inputs.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/ShapeOps.h"

using namespace mlir;

namespace dtc {
namespace {

// Returns the shape of a tensor; empty for other types.
ArrayRef<int64_t> shapeOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getShape() : ArrayRef<int64_t>();
}

int64_t countBatchDims(Value value) {
  return llvm::count_if(shapeOf(value), ShapedType::isDynamic);
}

// Returns the batch dim; the number of dims if there is none.
int64_t batchDimOf(Value value) {
  ArrayRef<int64_t> shape = shapeOf(value);
  return llvm::find_if(shape, ShapedType::isDynamic) - shape.begin();
}

int64_t product(ArrayRef<int64_t> sizes) {
  int64_t total = 1;
  for (int64_t size : sizes)
    total *= size;
  return total;
}

bool drawsRandomNumbers(Operation &op) {
  if (auto attention = dyn_cast<graph::AttentionOp>(op))
    return attention.getDropout().convertToDouble() > 0;
  return isa<graph::RandomOpInterface>(op);
}

} // namespace

class SampleRows::Reader {
public:
  explicit Reader(ModuleOp module) : module(module) {}

  FailureOr<SampleRows> run() {
    auto loss = module.lookupSymbol<graph::FuncOp>(graph::kLossFunction);
    if (loss && failed(visit(loss)))
      return failure();
    for (auto func : module.getOps<graph::FuncOp>()) // functions that are never called
      if (!visited.contains(func) && failed(visit(func)))
        return failure();
    return std::move(found);
  }

private:
  LogicalResult visit(graph::FuncOp func) {
    visited.insert(func);
    for (Operation &op : func.getBody().front().without_terminator())
      if (failed(visit(op)))
        return failure();
    return success();
  }

  LogicalResult visit(Operation &op) {
    if (auto call = dyn_cast<graph::BlockCallOpInterface>(op))
      return visitCall(call);
    for (Value result : op.getResults())
      if (countBatchDims(result) > 1)
        return failPairs(op);
    if (auto reshape = dyn_cast<graph::ReshapeOp>(op))
      return visitReshape(reshape);
    if (auto interface = dyn_cast<graph::RuleOpInterface>(op))
      return visitRule(op, interface.getRule());
    return success();
  }

  static LogicalResult failPairs(Operation &op) {
    return op.emitOpError("pairs the samples of a batch with each other, but micro-batches and "
                          "ranks see the pairs within their own part of it only; compute what a "
                          "sample adds to the loss from that sample alone");
  }

  // Elements keep their order in a reshape. So the rows of a sample stay neighbours only if the
  // dims before the batch stay the same, and a row holds elements of one sample only if its size
  // divides that of a sample.
  LogicalResult visitReshape(graph::ReshapeOp reshape) {
    Value x = reshape.getX(), result = reshape.getResult();
    auto from = shapeOf(x), to = shapeOf(result);
    auto fromDim = static_cast<size_t>(batchDimOf(x)),
         toDim = static_cast<size_t>(batchDimOf(result));
    if (fromDim == from.size())
      return success();
    int64_t ofSample = found.of(x) * product(from.drop_front(fromDim + 1)),
            ofRow = product(to.drop_front(toDim + 1));
    bool keepsOrder = product(from.take_front(fromDim)) == product(to.take_front(toDim));
    if (!keepsOrder || (ofRow > 0 && ofSample % ofRow != 0)) {
      InFlightDiagnostic error = reshape.emitOpError("mixes the samples of a batch: ");
      if (keepsOrder)
        error << "a row of " << result.getType() << " has " << ofRow
              << " elements, and a sample of 'x' has " << ofSample
              << "; make rows of which a sample has a whole number";
      else
        error
            << "the elements of a sample are not next to each other; bring the batch to the front "
               "first (graph.transpose)";
      return error;
    }
    note(result, ofRow > 0 ? ofSample / ofRow : found.of(x));
    return success();
  }

  LogicalResult visitRule(Operation &op, const graph::OpRule &rule) {
    DenseMap<unsigned, int64_t> ofLoops; // rows per sample of the loops over the batch
    auto batchLoopOf = [&](Value value,
                           const graph::TensorLoops &tensor) -> std::optional<unsigned> {
      auto dim = static_cast<size_t>(batchDimOf(value));
      if (dim >= tensor.size())
        return std::nullopt;
      for (unsigned loop : tensor[dim])
        if (ShapedType::isDynamic(rule.loops[loop].size))
          return loop;
      return std::nullopt;
    };
    for (auto [operand, tensor] : llvm::zip(op.getOperands(), rule.operands)) {
      std::optional<unsigned> loop = batchLoopOf(operand, tensor);
      if (!loop)
        continue;
      int64_t now = found.of(operand);
      auto [entry, isNew] = ofLoops.try_emplace(*loop, now);
      if (!isNew && entry->second != now)
        return op.emitOpError("reads tensors of ")
               << entry->second << " and of " << now
               << " rows a sample together; reshape them so that both have as many";
    }
    if (llvm::count_if(rule.loops, [](const graph::Loop &loop) {
          return ShapedType::isDynamic(loop.size);
        }) > 1)
      return failPairs(op);
    for (auto [result, tensor] : llvm::zip(op.getResults(), rule.results))
      if (std::optional<unsigned> loop = batchLoopOf(result, tensor))
        note(result, ofLoops.try_emplace(*loop, 1).first->second);
    return checkRandom(op);
  }

  // Checks a random op: its masks are keyed by the sample's number in the step, which must be that
  // of its row in dim 0.
  LogicalResult checkRandom(Operation &op) const {
    if (!drawsRandomNumbers(op) || op.getNumResults() == 0)
      return success();
    Value result = op.getResult(0);
    if (countBatchDims(result) == 0)
      return success();
    if (batchDimOf(result) == 0 && found.of(result) == 1)
      return success();
    InFlightDiagnostic error = op.emitOpError("draws random numbers by sample, but dim 0 of ");
    error << result.getType();
    if (batchDimOf(result) != 0)
      error << " is not the batch; put it before the transpose";
    else
      error << " has " << found.of(result) << " rows of each; put it before the reshape that makes "
            << "them, or reshape back first";
    return error;
  }

  LogicalResult visitCall(graph::BlockCallOpInterface call) {
    auto callee = module.lookupSymbol<graph::FuncOp>(call.getBlockName());
    Block &body = callee.getBody().front();
    if (visited.contains(callee)) {
      for (auto [argument, operand] : llvm::zip(body.getArguments(), call->getOperands()))
        if (found.of(argument) != found.of(operand))
          return call.emitOpError("gives '")
                 << call.getBlockName() << "' a tensor of " << found.of(operand)
                 << " rows a sample, and another call one of " << found.of(argument)
                 << "; make a block for each";
    } else {
      for (auto [argument, operand] : llvm::zip(body.getArguments(), call->getOperands()))
        note(argument, found.of(operand));
      if (failed(visit(callee)))
        return failure();
    }
    ValueRange returned = body.getTerminator()->getOperands();
    for (int64_t index = 0; call.getNumExecutions() > 1 && index < call.getNumCarried(); ++index)
      if (Value value = returned[static_cast<size_t>(index)];
          found.of(value) != found.of(body.getArgument(static_cast<unsigned>(index))))
        return call.emitOpError("carries a tensor that has ")
               << found.of(value) << " rows a sample behind the first execution and "
               << found.of(body.getArgument(static_cast<unsigned>(index))) << " before it";
    for (auto [result, value] : llvm::zip(call->getResults(), returned))
      note(result, found.of(value));
    return success();
  }

  void note(Value value, int64_t rows) {
    if (rows != 1)
      found.rows[value] = rows;
  }

  ModuleOp module;
  SampleRows found;
  llvm::DenseSet<Operation *> visited;
};

FailureOr<SampleRows> SampleRows::read(ModuleOp module) { return Reader(module).run(); }

int64_t SampleRows::ofOp(Operation *op) const {
  int64_t most = 1;
  for (Value value : op->getOperands())
    most = std::max(most, of(value));
  for (Value value : op->getResults())
    most = std::max(most, of(value));
  return most;
}

} // namespace dtc
