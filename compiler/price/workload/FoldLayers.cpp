// Keeps few layers of each kind of a model.
#include "compiler/price/workload/FoldLayers.h"

#include "dialects/graph/Graph.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace dtc {

// A repeat of so few executions that at most `keep` are left, with as many of its parameters.
static void shorten(graph::RepeatOp repeat, int64_t keep) {
  int64_t count = std::min(repeat.getNumExecutions(), keep);
  auto shortened = [&](Type type) -> Type {
    auto stack = dyn_cast<graph::StackType>(type);
    return stack ? graph::StackType::get(type.getContext(), count, stack.getEntry()) : type;
  };
  Builder builder(repeat.getContext());
  for (Value operand : repeat->getOperands()) {
    operand.setType(shortened(operand.getType()));
    if (auto get = operand.getDefiningOp<graph::GetOp>())
      if (auto parameter =
              SymbolTable::lookupNearestSymbolFrom<graph::ParameterOp>(get, get.getSymbolAttr());
          parameter && parameter.getRepeats())
        parameter.setRepeatsAttr(builder.getI64IntegerAttr(count));
  }
  for (Value result : repeat->getResults())
    result.setType(shortened(result.getType()));
  repeat.setCountAttr(builder.getI64IntegerAttr(count));
}

// Counts the elements of parameters, frozen or not, that nothing in '@loss' gets.
static double countUnread(ModuleOp model, bool isFrozen) {
  llvm::StringSet<> read;
  auto loss = model.lookupSymbol<graph::FuncOp>(graph::kLossFunction);
  for (auto get : loss.getBody().getOps<graph::GetOp>())
    read.insert(get.getSymbol());
  double elements = 0;
  for (auto parameter : model.getOps<graph::ParameterOp>())
    if (!read.contains(parameter.getSymName()) && parameter.getFrozen() == isFrozen)
      elements += static_cast<double>(parameter.getRepeats().value_or(1)) *
                  static_cast<double>(cast<RankedTensorType>(parameter.getType()).getNumElements());
  return elements;
}

// Returns true if a later layer and another op read the call's first result. Two such results that
// become one would make equal ops of their readers, which are then merged: the placements of ops,
// which are counted by name, would no longer be those of the whole model.
static bool isReadBetweenLayers(graph::CallOp call) {
  if (call.getNumResults() == 0)
    return false;
  auto readers = call.getResult(0).getUsers();
  auto isLayer = [](Operation *op) { return isa<graph::BlockCallOpInterface>(op); };
  return llvm::any_of(readers, isLayer) && !llvm::all_of(readers, isLayer);
}

// Returns true if a further call of a block reads what ops besides the layers make for it alone, or
// reads the input of the first call, beside which it stands. Without the call these ops would go,
// or the readers of both calls would become equal, and placements would not be those of the whole
// model.
static bool isUnlikeTheNextLayer(graph::CallOp call, graph::CallOp first) {
  if (call == first || call.getNumOperands() == 0)
    return false;
  if (call.getOperand(0) == first.getOperand(0))
    return true;
  return llvm::any_of(call.getOperands().drop_front(), [&](Value operand) {
    Operation *made = operand.getDefiningOp();
    return made && !isa<graph::BlockCallOpInterface, graph::GetOp>(made) &&
           !llvm::is_contained(first.getOperands(), operand);
  });
}

FoldedModel foldLayers(ModuleOp model, int64_t keep) {
  FoldedModel folded;
  folded.unread = countUnread(model, /*isFrozen=*/false);
  folded.unreadFrozen = countUnread(model, /*isFrozen=*/true);
  folded.module = model.clone();
  ModuleOp module = *folded.module;
  auto loss = module.lookupSymbol<graph::FuncOp>(graph::kLossFunction);
  llvm::StringMap<int> known;
  llvm::StringMap<graph::CallOp> first;
  llvm::StringMap<int64_t> kept;
  SmallVector<graph::CallOp> dropped;
  llvm::StringSet<> whole; // blocks of which all calls are kept
  for (auto call : loss.getBody().getOps<graph::CallOp>()) {
    graph::CallOp firstOfBlock = first.try_emplace(call.getCallee(), call).first->second;
    if (isReadBetweenLayers(call) || isUnlikeTheNextLayer(call, firstOfBlock))
      whole.insert(call.getCallee());
  }
  for (auto block : loss.getBody().getOps<graph::BlockCallOpInterface>()) {
    auto [it, isNew] = known.try_emplace(block.getBlockName(), static_cast<int>(known.size()));
    if (isNew)
      folded.blocks.push_back(block.getBlockName().str());
    folded.chain.insert(folded.chain.end(), static_cast<size_t>(block.getNumExecutions()),
                        it->second);
    if (auto repeat = dyn_cast<graph::RepeatOp>(*block)) {
      shorten(repeat, keep);
      continue;
    }
    auto call = cast<graph::CallOp>(*block);
    bool passesThrough = call.getNumResults() > 0 && call.getNumOperands() > 0 &&
                         call.getOperand(0).getType() == call.getResult(0).getType();
    if (++kept[call.getCallee()] > keep && passesThrough && !whole.contains(call.getCallee()))
      dropped.push_back(call);
  }
  for (graph::CallOp call : dropped) {
    // Further results, such as the balance loss of experts, are those of the layer that stays.
    for (unsigned index = 1; index < call.getNumResults(); ++index)
      call.getResult(index).replaceAllUsesWith(first[call.getCallee()].getResult(index));
    call.getResult(0).replaceAllUsesWith(call.getOperand(0));
    call.erase();
  }
  // Parameters of the layers that went.
  llvm::StringSet<> read;
  for (auto get : llvm::make_early_inc_range(loss.getBody().getOps<graph::GetOp>()))
    if (get->use_empty())
      get.erase();
    else
      read.insert(get.getSymbol());
  for (auto parameter : llvm::make_early_inc_range(module.getOps<graph::ParameterOp>()))
    if (!read.contains(parameter.getSymName()))
      parameter.erase();
  return folded;
}

} // namespace dtc
