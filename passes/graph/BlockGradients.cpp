// Differentiates each block once, into a forward and a backward function.
#include "passes/graph/BlockGradients.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace dtc {
namespace {

SmallVector<Operation *> opsOf(graph::FuncOp func) {
  SmallVector<Operation *> ops;
  for (Operation &op : func.getBody().front().without_terminator())
    ops.push_back(&op);
  return ops;
}

graph::FuncOp createPrivate(ModuleOp module, Location loc, const std::string &name) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto func =
      graph::FuncOp::create(builder, loc, name, FunctionType::get(module.getContext(), {}, {}));
  func.setPrivate();
  if (func.getBody().empty())
    func.getBody().emplaceBlock();
  return func;
}

void finish(graph::FuncOp func, ValueRange results) {
  Block &body = func.getBody().front();
  OpBuilder builder = OpBuilder::atBlockEnd(&body);
  graph::ReturnOp::create(builder, func.getLoc(), results);
  func.setFunctionType(
      FunctionType::get(func.getContext(), body.getArgumentTypes(), results.getTypes()));
}

// Ops that are cheaper to repeat in the backward function than to keep a result of.
bool isRepeated(Operation *op) {
  return op->getNumOperands() == 0 && isa<graph::InputOp, graph::ConstantOp>(op);
}

// Moves the gradient ops of a joint function (forward, then gradients) into the function
// `backward`.
class Splitter {
public:
  explicit Splitter(graph::FuncOp backward) : backward(backward) {}

  // `first`: the first gradient op, or null when there is none. `gradients`: what the backward
  // function returns. `kept`: receives the values of the joint function that the backward function
  // takes first.
  void run(Operation *first, ValueRange gradients, ValueRange resultGradients,
           SmallVectorImpl<Value> &kept) {
    Block &body = backward.getBody().front();
    SmallVector<Operation *> ops;
    for (Operation *op = first; op && !op->hasTrait<OpTrait::IsTerminator>();
         op = op->getNextNode())
      ops.push_back(op);
    llvm::DenseSet<Operation *> moved(ops.begin(), ops.end());
    llvm::DenseSet<Value> incoming(resultGradients.begin(), resultGradients.end());
    llvm::MapVector<Value, unsigned> uses;
    auto note = [&](Value value) {
      if (!incoming.contains(value) &&
          !(value.getDefiningOp() && moved.contains(value.getDefiningOp())))
        uses.insert({value, 0});
    };
    for (Operation *op : ops)
      llvm::for_each(op->getOperands(), note);
    llvm::for_each(gradients, note);

    IRMapping mapping;
    OpBuilder builder = OpBuilder::atBlockEnd(&body);
    for (auto &[value, unused] : uses) {
      if (value.getDefiningOp() && isRepeated(value.getDefiningOp())) {
        builder.clone(*value.getDefiningOp(), mapping);
        continue;
      }
      kept.push_back(value);
      mapping.map(value, body.addArgument(value.getType(), value.getLoc()));
    }
    for (Value gradient : resultGradients)
      mapping.map(gradient, body.addArgument(gradient.getType(), gradient.getLoc()));
    for (Operation *op : ops)
      builder.clone(*op, mapping);
    SmallVector<Value> results;
    for (Value gradient : gradients)
      results.push_back(mapping.lookup(gradient));
    finish(backward, results);
    for (Operation *op : llvm::reverse(ops))
      op->erase();
  }

private:
  graph::FuncOp backward;
};

} // namespace

FailureOr<BlockGradient> BlockGradients::get(graph::FuncOp callee, ArrayRef<bool> needed) {
  std::pair<std::string, std::vector<bool>> key(callee.getSymName().str(),
                                                std::vector<bool>(needed.begin(), needed.end()));
  if (auto it = done.find(key); it != done.end())
    return it->second;
  unsigned variant = variants[key.first]++;
  FailureOr<BlockGradient> block =
      build(callee, needed, variant == 0 ? "" : "." + std::to_string(variant));
  if (succeeded(block))
    done.emplace(key, *block);
  return block;
}

FailureOr<BlockGradient> BlockGradients::build(graph::FuncOp callee, ArrayRef<bool> needed,
                                               const std::string &suffix) {
  BlockGradient block;
  std::string name = callee.getSymName().str();
  block.forward = createPrivate(module, callee.getLoc(), name + "_forward" + suffix);
  block.backward = createPrivate(module, callee.getLoc(), name + "_backward" + suffix);
  Block &body = block.forward.getBody().front();

  // The joint function: the callee's body, the gradients of its results as further arguments, the
  // gradient ops.
  IRMapping mapping;
  for (BlockArgument argument : callee.getArguments())
    mapping.map(argument, body.addArgument(argument.getType(), argument.getLoc()));
  OpBuilder builder = OpBuilder::atBlockEnd(&body);
  for (Operation &op : callee.getBody().front().without_terminator())
    builder.clone(op, mapping);
  SmallVector<Value> results;
  for (Value value : callee.getBody().front().getTerminator()->getOperands())
    results.push_back(mapping.lookup(value));

  ReverseMode reverse(builder,
                      [&](graph::CallOp call, ValueRange grads, ArrayRef<bool> neededOperands,
                          SmallVectorImpl<Value> &operandGrads) {
                        return callBackward(builder, call, grads, neededOperands, operandGrads);
                      });
  unsigned numArguments = callee.getNumArguments();
  for (unsigned index = 0; index < numArguments; ++index)
    if (needed[index])
      reverse.want(body.getArgument(index));
  SmallVector<Operation *> ops = opsOf(block.forward);
  reverse.markActive(ops);
  for (auto [index, value] : llvm::enumerate(results))
    if (reverse.isActive(value))
      block.gradientResults.push_back(index);
  // The marker keeps track of the results while calls are replaced.
  graph::ReturnOp marker = graph::ReturnOp::create(builder, callee.getLoc(), results);
  if (failed(replaceCalls(ops, reverse)))
    return failure();
  reverse.markActive(ops);
  results.assign(marker.getOperands().begin(), marker.getOperands().end());
  marker.erase();
  builder.setInsertionPointToEnd(&body);

  SmallVector<Value> resultGradients;
  for (unsigned index : block.gradientResults) {
    resultGradients.push_back(body.addArgument(results[index].getType(), callee.getLoc()));
    reverse.seed(results[index], resultGradients.back());
  }
  Operation *lastForward = ops.empty() ? nullptr : ops.back();
  if (failed(reverse.run(ops)))
    return failure();

  SmallVector<Value> gradients;
  for (unsigned index = 0; index < numArguments; ++index) {
    if (!needed[index])
      continue;
    BlockArgument argument = body.getArgument(index);
    Value gradient = reverse.gradientOf(argument);
    if (!gradient)
      gradient = graph::ConstantOp::create(builder, callee.getLoc(), argument.getType(),
                                           builder.getF64FloatAttr(0));
    gradients.push_back(gradient);
  }
  graph::ReturnOp sentinel = graph::ReturnOp::create(builder, callee.getLoc(), ValueRange());
  Operation *first = lastForward ? lastForward->getNextNode() : &body.front();
  SmallVector<Value> kept;
  Splitter(block.backward).run(first, gradients, resultGradients, kept);
  sentinel.erase();
  body.eraseArguments(numArguments, body.getNumArguments() - numArguments);

  SmallVector<Value> forwardResults = results;
  for (Value value : kept) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      block.saved.push_back({true, argument.getArgNumber()});
      continue;
    }
    auto it = llvm::find(forwardResults, value);
    block.saved.push_back({false, static_cast<unsigned>(it - forwardResults.begin())});
    if (it == forwardResults.end())
      forwardResults.push_back(value);
  }
  finish(block.forward, forwardResults);
  for (size_t index = results.size(); index < forwardResults.size(); ++index)
    block.forward.setResultAttr(index, graph::kSavedAttr, builder.getUnitAttr());
  return block;
}

LogicalResult BlockGradients::replaceCalls(SmallVectorImpl<Operation *> &ops,
                                           const ReverseMode &reverse) {
  // What is needed is asked of the old values, before any of them is replaced.
  SmallVector<SmallVector<bool>> needed(ops.size());
  for (auto [op, mask] : llvm::zip(ops, needed))
    if (isa<graph::CallOp>(op))
      for (Value operand : op->getOperands())
        mask.push_back(reverse.isActive(operand));
  for (auto [op, mask] : llvm::zip(ops, needed)) {
    auto call = dyn_cast<graph::CallOp>(op);
    if (!call || !llvm::is_contained(mask, true))
      continue;
    auto callee = module.lookupSymbol<graph::FuncOp>(call.getCallee());
    FailureOr<BlockGradient> block = get(callee, mask);
    if (failed(block))
      return failure();
    OpBuilder builder(call);
    auto forward =
        graph::CallOp::create(builder, call.getLoc(), block->forward.getResultTypes(),
                              FlatSymbolRefAttr::get(block->forward.getSymNameAttr()),
                              call.getOperands(), call.getInstanceAttr(), ArrayAttr(), ArrayAttr());
    for (auto [old, now] : llvm::zip(call.getResults(), forward.getResults()))
      old.replaceAllUsesWith(now);
    call.erase();
    forwardCalls[forward] = *block;
    op = forward;
  }
  return success();
}

LogicalResult BlockGradients::callBackward(OpBuilder &builder, graph::CallOp forwardCall,
                                           ValueRange resultGradients, ArrayRef<bool> needed,
                                           SmallVectorImpl<Value> &operandGradients) {
  const BlockGradient &block = forwardCalls.find(forwardCall)->second;
  SmallVector<Value> operands;
  for (BlockGradient::Saved saved : block.saved)
    operands.push_back(saved.isArgument ? forwardCall.getOperands()[saved.index]
                                        : forwardCall.getResult(saved.index));
  for (unsigned index : block.gradientResults) {
    Value gradient = resultGradients[index];
    if (!gradient)
      gradient = graph::ConstantOp::create(builder, forwardCall.getLoc(),
                                           forwardCall.getResult(index).getType(),
                                           builder.getF64FloatAttr(0));
    operands.push_back(gradient);
  }
  graph::FuncOp backward = block.backward;
  auto call = graph::CallOp::create(builder, forwardCall.getLoc(), backward.getResultTypes(),
                                    FlatSymbolRefAttr::get(backward.getSymNameAttr()), operands,
                                    forwardCall.getInstanceAttr(), ArrayAttr(), ArrayAttr());
  unsigned next = 0;
  for (auto [index, need] : llvm::enumerate(needed))
    if (need)
      operandGradients[index] = call.getResult(next++);
  return success();
}

} // namespace dtc
