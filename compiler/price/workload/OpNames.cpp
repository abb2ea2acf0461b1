// Names the ops of a partitioned step.
#include "compiler/price/workload/OpNames.h"

#include "compiler/price/workload/OpFacts.h"

using namespace mlir;

namespace dtc {
namespace {

// The parameter that `value` is, however it was reshaped and handed over.
std::string readFrom(Value value, graph::BlockCallOpInterface call) {
  value = rootOf(value);
  if (auto get = value.getDefiningOp<graph::GetOp>())
    return get.getSymbol().str();
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || !call)
    return "";
  return readFrom(call->getOperand(argument.getArgNumber()), {});
}

// The parameter whose gradient `value` becomes by way of reshapes and collectives.
std::string writtenTo(Value value, graph::BlockCallOpInterface call) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    std::string name;
    if (user->hasTrait<OpTrait::IsTerminator>()) {
      if (call)
        name = writtenTo(call->getResult(use.getOperandNumber()), {});
      else if (auto parameter = cast<graph::FuncOp>(user->getParentOp())
                                    .getResultAttrOfType<FlatSymbolRefAttr>(use.getOperandNumber(),
                                                                            graph::kGradientOfAttr))
        name = parameter.getValue().str();
    } else if (isView(user) || collectiveOf(user)) {
      name = writtenTo(user->getResult(0), call);
    }
    if (!name.empty())
      return name;
  }
  return "";
}

} // namespace

std::string parameterOf(Operation *op, graph::BlockCallOpInterface call) {
  for (Value operand : op->getOperands())
    if (std::string name = readFrom(operand, call); !name.empty())
      return name;
  for (Value result : op->getResults())
    if (std::string name = writtenTo(result, call); !name.empty())
      return name;
  return "";
}

} // namespace dtc
