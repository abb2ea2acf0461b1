// Carries placements from a folded model to the whole one.
#include "compiler/decide/plan/OpSplits.h"

#include "dialects/graph/Graph.h"
#include "passes/shard/Mesh.h"

using namespace mlir;

namespace dtc {

void placeParameters(ModuleOp model, const std::map<std::string, std::vector<int64_t>> &parameters,
                     const Mesh &mesh) {
  SmallVector<unsigned, 2> axes = mesh.axesOf(AxisRole::Tensor);
  auto assign = [&](StringRef symbol, ArrayRef<int64_t> dims) {
    Placement placement = replicated(mesh);
    for (auto [axis, dim] : llvm::zip(axes, dims))
      if (dim >= 0)
        placement[axis] = AxisPlacement::shard(dim);
    model.lookupSymbol<graph::ParameterOp>(symbol).setPlacementAttr(
        toAttr(model.getContext(), placement));
  };
  for (auto parameter : model.getOps<graph::ParameterOp>()) {
    auto it = parameters.find(parameter.getSymName().str());
    assign(parameter.getSymName(),
           it == parameters.end() ? ArrayRef<int64_t>() : ArrayRef<int64_t>(it->second));
  }
  // A repeat's layers share a parameter. Calls of one block have one each, of which folding kept
  // that of the first layers: the others have its placement, by callee and argument.
  std::map<std::pair<std::string, unsigned>, std::vector<int64_t>> known;
  auto loss = model.lookupSymbol<graph::FuncOp>(graph::kLossFunction);
  for (auto call : loss.getBody().getOps<graph::CallOp>())
    for (auto [index, operand] : llvm::enumerate(call.getOperands())) {
      auto get = operand.getDefiningOp<graph::GetOp>();
      if (!get)
        continue;
      std::pair<std::string, unsigned> key{call.getCallee().str(), static_cast<unsigned>(index)};
      auto it = parameters.find(get.getSymbol().str());
      if (it != parameters.end())
        known[key] = it->second;
      else if (auto layer = known.find(key); layer != known.end())
        assign(get.getSymbol(), layer->second);
    }
}

} // namespace dtc
