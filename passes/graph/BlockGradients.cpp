// Differentiates each block once, into a forward and a backward function.
#include "passes/graph/BlockGradients.h"
#include "dialects/graph/EightBitOps.h"
#include "dialects/graph/ElementwiseOps.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

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

// True for ops that are cheaper to repeat in the backward function than to save a result of.
bool isRepeated(Operation *op) {
  return op->getNumOperands() == 0 && isa<graph::InputOp, graph::ConstantOp>(op);
}

// Returns the rounding to 8 bits that made a value from an argument of its function, such as a
// parameter; null for other values. The backward function rounds again rather than read a rounded
// copy of each parameter, which every layer would have to save.
graph::QuantiseOp roundingOfArgument(Value value) {
  auto quantise = value.getDefiningOp<graph::QuantiseOp>();
  return quantise && isa<BlockArgument>(quantise.getX()) ? quantise : nullptr;
}

// Moves the gradient ops of a joint function (forward, then gradients) into the function
// `backward`.
class Splitter {
public:
  explicit Splitter(graph::FuncOp backward) : backward(backward) {}

  // The values of the joint function from which the backward function is built.
  struct Parts {
    Operation *first; // first gradient op, or null if there is none
    SmallVector<Value> resultGradients;
    SmallVector<Value> carried; // gradients that a repeat carries; for a call, all gradients
    // gradients of a repeat's other arguments: added up over executions, or one per entry of a
    // stack
    SmallVector<Value> summed, stacked;
    bool isRepeated;
  };

  // Returns the further values of the joint function that the backward function takes.
  SmallVector<Value> run(const Parts &parts) {
    SmallVector<Operation *> ops;
    for (Operation *op = parts.first; op && !op->hasTrait<OpTrait::IsTerminator>();
         op = op->getNextNode())
      ops.push_back(op);
    llvm::SetVector<Value> uses = findUses(ops, parts);
    Block &body = backward.getBody().front();
    IRMapping mapping;
    OpBuilder builder = OpBuilder::atBlockEnd(&body);
    auto addArgument = [&](Value value) {
      return body.addArgument(value.getType(), value.getLoc());
    };
    auto addGradients = [&] {
      for (Value gradient : parts.resultGradients)
        mapping.map(gradient, addArgument(gradient));
    };
    SmallVector<Value> kept, sums;
    if (parts.isRepeated) {
      addGradients();
      sums = llvm::map_to_vector(parts.summed,
                                 [&](Value value) -> Value { return addArgument(value); });
    }
    auto keep = [&](Value value) {
      if (mapping.contains(value))
        return;
      kept.push_back(value);
      mapping.map(value, addArgument(value));
    };
    for (Value value : uses) {
      if (value.getDefiningOp() && isRepeated(value.getDefiningOp()))
        builder.clone(*value.getDefiningOp(), mapping);
      else if (graph::QuantiseOp quantise = roundingOfArgument(value)) {
        llvm::for_each(quantise->getOperands(), keep);
        cast<graph::QuantiseOp>(builder.clone(*quantise, mapping)).setAgain(true);
      } else {
        keep(value);
      }
    }
    if (!parts.isRepeated)
      addGradients();
    for (Operation *op : ops)
      builder.clone(*op, mapping);
    SmallVector<Value> results;
    for (Value gradient : parts.carried)
      results.push_back(mapping.lookup(gradient));
    for (auto [sum, gradient] : llvm::zip(sums, parts.summed))
      results.push_back(graph::AddOp::create(builder, gradient.getLoc(), sum.getType(), sum,
                                             mapping.lookup(gradient)));
    for (Value gradient : parts.stacked)
      results.push_back(mapping.lookup(gradient));
    finish(backward, results);
    for (Operation *op : llvm::reverse(ops))
      op->erase();
    return kept;
  }

private:
  // Returns the values made before the gradient ops that these ops and the results read.
  static llvm::SetVector<Value> findUses(ArrayRef<Operation *> ops, const Parts &parts) {
    llvm::DenseSet<Operation *> moved(ops.begin(), ops.end());
    llvm::DenseSet<Value> incoming(parts.resultGradients.begin(), parts.resultGradients.end());
    llvm::SetVector<Value> uses;
    auto note = [&](Value value) {
      if (!incoming.contains(value) &&
          !(value.getDefiningOp() && moved.contains(value.getDefiningOp())))
        uses.insert(value);
    };
    for (Operation *op : ops)
      llvm::for_each(op->getOperands(), note);
    for (const SmallVector<Value> *gradients : {&parts.carried, &parts.summed, &parts.stacked})
      llvm::for_each(*gradients, note);
    return uses;
  }

  graph::FuncOp backward;
};

// Creates a call or an equally long repeat of `callee`, with the attributes of the original (its
// chunk, its recomputation).
Operation *callLike(OpBuilder &builder, graph::BlockCallOpInterface like, graph::FuncOp callee,
                    ValueRange operands, int64_t numCarried, bool reversed) {
  auto symbol = FlatSymbolRefAttr::get(callee.getSymNameAttr());
  Operation *call = nullptr;
  if (!isa<graph::RepeatOp>(like)) {
    call = graph::CallOp::create(builder, like.getLoc(), callee.getResultTypes(), symbol, operands,
                                 like.getFirstInstance());
  } else {
    int64_t count = like.getNumExecutions();
    SmallVector<Type> types;
    for (auto [index, type] : llvm::enumerate(callee.getResultTypes()))
      types.push_back(
          static_cast<int64_t>(index) < numCarried
              ? type
              : graph::StackType::get(type.getContext(), count, cast<RankedTensorType>(type)));
    call = graph::RepeatOp::create(builder, like.getLoc(), types, count, symbol, operands,
                                   numCarried, reversed, like.getFirstInstance());
  }
  call->setDiscardableAttrs(like->getDiscardableAttrDictionary());
  return call;
}

// Numbers the results of the backward function: for each argument, the result that is its gradient
// (BlockGradient).
void numberGradients(BlockGradient &block, const BlockUse &use) {
  int next = 0;
  block.gradientOf.assign(use.needed.size(), -1);
  auto number = [&](auto isNext) {
    for (auto [index, need] : llvm::enumerate(use.needed))
      if (need && isNext(index))
        block.gradientOf[index] = next++;
  };
  auto isCarried = [&](size_t index) { return static_cast<int64_t>(index) < use.numCarried; };
  if (!use.isRepeated)
    return number([](size_t) { return true; });
  number(isCarried);
  number([&](size_t index) { return use.isSameForAll[index]; });
  number([&](size_t index) { return !isCarried(index) && !use.isSameForAll[index]; });
}

} // namespace

FailureOr<BlockGradient> BlockGradients::get(graph::FuncOp callee, const BlockUse &use) {
  std::vector<Known> &known = done[callee.getSymName().str()];
  for (const Known &entry : known)
    if (entry.use.key() == use.key())
      return entry.gradient;
  size_t variant = known.size();
  FailureOr<BlockGradient> block =
      build(callee, use, variant == 0 ? "" : "." + std::to_string(variant));
  if (succeeded(block))
    done[callee.getSymName().str()].push_back({use, *block});
  return block;
}

FailureOr<BlockGradient> BlockGradients::build(graph::FuncOp callee, const BlockUse &use,
                                               const std::string &suffix) {
  BlockGradient block;
  std::string name = callee.getSymName().str();
  block.forward = createPrivate(module, callee.getLoc(), name + "_forward" + suffix);
  block.backward = createPrivate(module, callee.getLoc(), name + "_backward" + suffix);
  Block &body = block.forward.getBody().front();

  // Builds the joint function: the callee's body, the gradients of its results as further
  // arguments, then the gradient ops.
  IRMapping mapping;
  for (BlockArgument argument : callee.getArguments())
    mapping.map(argument, body.addArgument(argument.getType(), argument.getLoc()));
  OpBuilder builder = OpBuilder::atBlockEnd(&body);
  for (Operation &op : callee.getBody().front().without_terminator())
    builder.clone(op, mapping);
  SmallVector<Value> results;
  for (Value value : callee.getBody().front().getTerminator()->getOperands())
    results.push_back(mapping.lookup(value));

  ReverseMode reverse(builder, [&](graph::BlockCallOpInterface call, ValueRange grads,
                                   SmallVectorImpl<Value> &operandGrads) {
    return callBackward(builder, call, grads, operandGrads);
  });
  unsigned numArguments = callee.getNumArguments();
  for (unsigned index = 0; index < numArguments; ++index)
    if (use.needed[index])
      reverse.want(body.getArgument(index));
  SmallVector<Operation *> ops = opsOf(block.forward);
  reverse.markActive(ops);
  for (auto [index, value] : llvm::enumerate(results))
    if (use.isRepeated ? use.needed[index] : reverse.isActive(value))
      block.gradientResults.push_back(index);
  // Ends the function with a temporary return, which keeps track of the results while calls are
  // replaced.
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

  Splitter::Parts parts;
  parts.isRepeated = use.isRepeated;
  parts.resultGradients = resultGradients;
  for (unsigned index = 0; index < numArguments; ++index) {
    if (!use.needed[index])
      continue;
    BlockArgument argument = body.getArgument(index);
    Value gradient = reverse.gradientOf(argument);
    if (!gradient)
      gradient = graph::ConstantOp::create(builder, callee.getLoc(), argument.getType(),
                                           builder.getF64FloatAttr(0));
    if (!use.isRepeated || index < use.numCarried) {
      parts.carried.push_back(gradient);
    } else if (use.isSameForAll[index]) {
      parts.summed.push_back(gradient);
      block.summed.push_back(index);
    } else {
      parts.stacked.push_back(gradient);
    }
  }
  numberGradients(block, use);
  graph::ReturnOp sentinel = graph::ReturnOp::create(builder, callee.getLoc(), ValueRange());
  parts.first = lastForward ? lastForward->getNextNode() : &body.front();
  SmallVector<Value> kept = Splitter(block.backward).run(parts);
  sentinel.erase();
  body.eraseArguments(numArguments, body.getNumArguments() - numArguments);

  SmallVector<Value> forwardResults = results;
  for (Value value : kept) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && !(use.isRepeated && argument.getArgNumber() < use.numCarried)) {
      block.saved.push_back({true, argument.getArgNumber()});
      continue;
    }
    // Skips what a repeat carries: only its last value is available.
    auto begin = forwardResults.begin() + (use.isRepeated ? use.numCarried : 0);
    auto it = std::find(begin, forwardResults.end(), value);
    block.saved.push_back({false, static_cast<unsigned>(it - forwardResults.begin())});
    if (it == forwardResults.end())
      forwardResults.push_back(value);
  }
  finish(block.forward, forwardResults);
  for (size_t index = results.size(); index < forwardResults.size(); ++index)
    block.forward.setResultAttr(index, graph::kSavedAttr, builder.getUnitAttr());
  return block;
}

// Reads how a call or repeat uses its block, from its original operands.
static BlockUse readUse(graph::BlockCallOpInterface call, graph::FuncOp callee,
                        const ReverseMode &reverse) {
  BlockUse use;
  use.isRepeated = isa<graph::RepeatOp>(call);
  use.numCarried = call.getNumCarried();
  for (auto [index, operand] : llvm::enumerate(call->getOperands())) {
    bool isCarried = static_cast<int64_t>(index) < use.numCarried;
    use.needed.push_back(isCarried ? reverse.isActive(call->getResult(static_cast<unsigned>(index)))
                                   : reverse.isActive(operand));
    if (use.isRepeated)
      use.isSameForAll.push_back(!isCarried &&
                                 operand.getType() == callee.getArgumentTypes()[index]);
  }
  return use;
}

LogicalResult BlockGradients::replaceCalls(SmallVectorImpl<Operation *> &ops,
                                           const ReverseMode &reverse) {
  // Reads all uses first: they depend on the old values, which replacing changes.
  SmallVector<BlockUse> uses(ops.size());
  for (auto [op, use] : llvm::zip(ops, uses))
    if (auto call = dyn_cast<graph::BlockCallOpInterface>(op))
      use = readUse(call, module.lookupSymbol<graph::FuncOp>(call.getBlockName()), reverse);
  for (auto [op, use] : llvm::zip(ops, uses)) {
    auto call = dyn_cast<graph::BlockCallOpInterface>(op);
    if (!call || !llvm::is_contained(use.needed, true))
      continue;
    if (use.isRepeated && call->getNumResults() != use.numCarried)
      return call.emitOpError("returns stacks, which have no gradient; carry what the model needs "
                              "of each execution");
    auto callee = module.lookupSymbol<graph::FuncOp>(call.getBlockName());
    FailureOr<BlockGradient> block = get(callee, use);
    if (failed(block))
      return failure();
    OpBuilder builder(call);
    Operation *forward = callLike(builder, call, block->forward, call->getOperands(),
                                  call.getNumCarried(), call.isReversed());
    for (auto [old, now] : llvm::zip(call->getResults(), forward->getResults()))
      old.replaceAllUsesWith(now);
    call.erase();
    forwardCalls[forward] = *block;
    op = forward;
  }
  return success();
}

LogicalResult BlockGradients::callBackward(OpBuilder &builder,
                                           graph::BlockCallOpInterface forwardCall,
                                           ValueRange resultGradients,
                                           SmallVectorImpl<Value> &operandGradients) {
  const BlockGradient &block = forwardCalls.find(forwardCall)->second;
  Location loc = forwardCall.getLoc();
  auto zero = [&](Type type) -> Value {
    return graph::ConstantOp::create(builder, loc, type, builder.getF64FloatAttr(0));
  };
  SmallVector<Value> saved, gradients;
  for (BlockGradient::Saved entry : block.saved)
    saved.push_back(entry.isArgument ? forwardCall->getOperand(entry.index)
                                     : forwardCall->getResult(entry.index));
  for (unsigned index : block.gradientResults) {
    Value gradient = resultGradients[index];
    gradients.push_back(gradient ? gradient : zero(forwardCall->getResult(index).getType()));
  }
  SmallVector<Value> operands;
  if (isa<graph::RepeatOp>(forwardCall)) {
    operands = gradients;
    for (unsigned index : block.summed)
      operands.push_back(zero(forwardCall->getOperand(index).getType()));
    llvm::append_range(operands, saved);
  } else {
    operands = saved;
    llvm::append_range(operands, gradients);
  }
  auto numCarried = static_cast<int64_t>(gradients.size() + block.summed.size());
  Operation *call = callLike(builder, forwardCall, block.backward, operands, numCarried,
                             !forwardCall.isReversed());
  for (auto [index, result] : llvm::enumerate(block.gradientOf))
    if (result >= 0)
      operandGradients[index] = call->getResult(static_cast<unsigned>(result));
  return success();
}

} // namespace dtc
