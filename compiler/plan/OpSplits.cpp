// Carries placements from a folded model to the whole one.
#include "compiler/plan/OpSplits.h"

#include "dialects/graph/Graph.h"
#include "passes/shard/Mesh.h"

using namespace mlir;

namespace dtc {
void placeParameters(ModuleOp model, const std::map<std::string, int64_t> &parameters,
                     unsigned axis, unsigned numAxes) {
  auto assign = [&](StringRef symbol, int64_t dim) {
    Placement placement(numAxes, AxisPlacement::replicate());
    if (dim >= 0)
      placement[axis] = AxisPlacement::shard(dim);
    model.lookupSymbol<graph::ParameterOp>(symbol).setPlacementAttr(
        toAttr(model.getContext(), placement));
  };
  for (auto parameter : model.getOps<graph::ParameterOp>()) {
    auto it = parameters.find(parameter.getSymName().str());
    assign(parameter.getSymName(), it == parameters.end() ? -1 : it->second);
  }
  // By callee and argument.
  std::map<std::pair<std::string, unsigned>, int64_t> known;
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
