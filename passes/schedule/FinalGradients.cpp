// Finds the values of the update that are final gradients.
#include "passes/schedule/FinalGradients.h"

#include "dialects/graph/CompressionAttributes.h"
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/Placement.h"
#include "dialects/graph/ShapeOps.h"
#include "dialects/graph/Slices.h"
#include "dialects/graph/TransferOps.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace dtc;

namespace {
// True for the ops of resharding (passes/shard/Reshard): collectives, slices and padding; and for
// sums over the stages that have a parameter.
bool movesData(Operation *op) {
  return isa_and_nonnull<shard::ShardDialect>(op->getDialect()) ||
         isa<graph::PadOp, graph::SliceOp, graph::StageReduceOp>(op);
}

// Returns the results of a kernel that only rounds an operand; empty if it computes anything else.
SmallVector<Value> roundingsOf(OpOperand &use, const SymbolTable &symbols) {
  auto call = dyn_cast<graph::CallOp>(use.getOwner());
  auto kernel = call ? symbols.lookup<graph::FuncOp>(call.getCallee()) : graph::FuncOp();
  if (!kernel)
    return {};
  SmallVector<Value> results;
  Block &body = kernel.getBody().front();
  for (auto [result, made] : llvm::zip(call.getResults(), body.getTerminator()->getOperands())) {
    auto round = made.getDefiningOp<graph::CastOp>();
    if (!round || !isa<BlockArgument>(round.getX()))
      return {};
    if (round.getX() == body.getArgument(use.getOperandNumber()))
      results.push_back(result);
  }
  return results;
}

// Collects the uses of `value`, and of all values that it is moved to, that read its numbers.
void findRead(Value value, const SymbolTable &symbols, SmallVectorImpl<Value> &read) {
  bool isRead = false;
  for (OpOperand &use : value.getUses()) {
    SmallVector<Value> onward = roundingsOf(use, symbols);
    if (movesData(use.getOwner()))
      onward.append(use.getOwner()->result_begin(), use.getOwner()->result_end());
    for (Value result : onward)
      findRead(result, symbols, read);
    isRead |= onward.empty();
  }
  if (isRead)
    read.push_back(value);
}

// Returns what a value is made of by one op. A kernel may have results that have nothing to do with
// each other.
SmallVector<Value> madeOf(OpResult value, const SymbolTable &symbols) {
  Operation *op = value.getOwner();
  auto call = dyn_cast<graph::CallOp>(op);
  auto kernel = call ? symbols.lookup<graph::FuncOp>(call.getCallee()) : graph::FuncOp();
  if (!kernel)
    return SmallVector<Value>(op->getOperands());
  Block &body = kernel.getBody().front();
  Value result = body.getTerminator()->getOperand(value.getResultNumber());
  SmallVector<Value> read{result}, found;
  for (Operation *inside : graph::getProducers(result))
    llvm::append_range(read, inside->getOperands());
  for (Value each : read)
    if (auto argument = dyn_cast<BlockArgument>(each))
      found.push_back(op->getOperand(argument.getArgNumber()));
  return found;
}

// Returns the parameter whose gradient a value was made of; null if there is none.
FlatSymbolRefAttr gradientBehind(graph::FuncOp update, Value made, const SymbolTable &symbols) {
  llvm::SmallPtrSet<void *, 32> seen;
  SmallVector<Value> left{made};
  while (!left.empty()) {
    Value value = left.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (auto name = update.getArgAttrOfType<FlatSymbolRefAttr>(argument.getArgNumber(),
                                                                 graph::kGradientOfAttr))
        return name;
    } else if (seen.insert(value.getAsOpaquePointer()).second) {
      llvm::append_range(left, madeOf(cast<OpResult>(value), symbols));
    }
  }
  return {};
}

ArrayRef<int64_t> meshOf(ModuleOp module) {
  auto grid = module.lookupSymbol<shard::GridOp>(graph::kMeshName);
  return grid ? grid.getShape() : ArrayRef<int64_t>();
}
} // namespace

SmallVector<FinalGradient> dtc::findFinalGradients(graph::FuncOp update) {
  auto module = update->getParentOfType<ModuleOp>();
  llvm::StringMap<graph::PlacementAttr> ofState;
  for (auto state : module.getOps<graph::StateOp>())
    if (state.getParameter() && state.getPlacement() && !state->hasAttr(graph::kByRankAttr) &&
        !state->hasAttr(graph::kOwnShapeAttr))
      ofState.try_emplace(*state.getParameter(), *state.getPlacement());
  llvm::StringMap<graph::ParameterOp> parameters;
  for (auto parameter : module.getOps<graph::ParameterOp>())
    parameters[parameter.getSymName()] = parameter;
  SymbolTable symbols(module); // a look-up without it walks over all parameters and states
  SmallVector<FinalGradient> found;
  for (BlockArgument argument : update.getBody().getArguments()) {
    auto name =
        update.getArgAttrOfType<FlatSymbolRefAttr>(argument.getArgNumber(), graph::kGradientOfAttr);
    graph::ParameterOp parameter = name ? parameters.lookup(name.getValue()) : nullptr;
    if (!parameter || parameter->hasAttr(graph::kCompressedAttr)) // no rank has the sum of addends
      continue;
    graph::PlacementAttr placement = ofState.lookup(parameter.getSymName());
    if (!placement)
      placement = parameter.getPlacement().value_or(graph::PlacementAttr());
    auto whole = cast<RankedTensorType>(parameter.getType());
    RankedTensorType local =
        placement ? graph::getLocalType(whole, placement.getAxes(), meshOf(module)) : whole;
    SmallVector<Value> read;
    findRead(argument, symbols, read);
    for (Value value : read)
      if (cast<RankedTensorType>(value.getType()).getShape() == local.getShape()) {
        found.push_back({parameter, value, placement});
        break;
      }
  }
  for (Operation &op : update.getBody().front())
    if (op.hasAttr(graph::kDecompressedAttr))
      if (FlatSymbolRefAttr name = gradientBehind(update, op.getResult(0), symbols))
        if (graph::ParameterOp parameter = parameters.lookup(name.getValue()))
          found.push_back({parameter, op.getResult(0), ofState.lookup(name.getValue())});
  return found;
}
