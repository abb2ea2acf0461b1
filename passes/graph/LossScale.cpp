// The loss scale of f16.
#include "passes/graph/LossScale.h"

#include "dialects/graph/Attributes.h"

using namespace mlir;

namespace dtc {

// The first scale of torch.amp.GradScaler. It is a power of two, and so are all later ones.
static constexpr double kFirstLossScale = 65536;

void declareLossScale(ModuleOp module) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto scalar = RankedTensorType::get({}, builder.getF32Type());
  for (auto [name, value] : {std::pair(graph::kLossScaleState, kFirstLossScale),
                             std::pair(graph::kGoodStepsState, 0.0)}) {
    auto state =
        graph::StateOp::create(builder, module.getLoc(), name, FlatSymbolRefAttr(), scalar);
    if (value == 0)
      continue;
    state.setInit(graph::InitKind::Constant);
    state.setMean(llvm::APFloat(value));
  }
}

} // namespace dtc
