// Keeps few layers of each kind of a model.
#include "compiler/workload/FoldLayers.h"

#include "dialects/graph/Graph.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace dtc {

FoldedModel foldLayers(ModuleOp model, int64_t keep) {
  FoldedModel folded;
  folded.module = model.clone();
  ModuleOp module = *folded.module;
  auto loss = module.lookupSymbol<graph::FuncOp>(graph::kLossFunction);
  llvm::StringMap<int> known;
  llvm::StringMap<graph::CallOp> first;
  llvm::StringMap<int64_t> kept;
  SmallVector<graph::CallOp> repeats;
  for (auto call : loss.getBody().getOps<graph::CallOp>()) {
    auto [it, isNew] = known.try_emplace(call.getCallee(), static_cast<int>(known.size()));
    if (isNew)
      folded.blocks.push_back(call.getCallee().str());
    folded.chain.push_back(it->second);
    bool passesThrough = call.getNumResults() > 0 && call.getNumOperands() > 0 &&
                         call.getOperand(0).getType() == call.getResult(0).getType();
    if (isNew)
      first[call.getCallee()] = call;
    if (++kept[call.getCallee()] > keep && passesThrough)
      repeats.push_back(call);
  }
  for (graph::CallOp call : repeats) {
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
