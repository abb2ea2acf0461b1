// Checks the ops of a mixture of experts.
#include "dialects/graph/MoeOps.h"
#include "dialects/graph/Moe.h"
#include "dialects/graph/Verify.h"

#include <cmath>

using namespace mlir;
using namespace dtc::graph;

namespace {

LogicalResult checkI32(Operation *op, StringRef name, Value value) {
  Type type = getElementTypeOrSelf(value);
  if (type.isInteger(32))
    return success();
  return op->emitOpError() << "'" << name << "' has element type " << type << ", but i32 is wanted";
}

// Fails unless dim `dim` of `type` is static; only the first (the batch, or the experts) may be
// dynamic.
LogicalResult checkStaticDim(Operation *op, StringRef name, RankedTensorType type, int64_t dim) {
  if (!type.isDynamicDim(dim))
    return success();
  return op->emitOpError() << "dim " << dim << " of '" << name
                           << "' is dynamic; only the batch may be";
}

LogicalResult checkGroup(Operation *op, StringRef name, int64_t group, int64_t sequence) {
  if (group >= 1 && sequence % group == 0)
    return success();
  return op->emitOpError() << "'group' is " << group << ", but a divisor of dim 1 of '" << name
                           << "', which is " << sequence << ", is wanted";
}

LogicalResult checkFill(Operation *op, double fill) {
  if (fill > 0 && fill <= 1)
    return success();
  return op->emitOpError() << "'fill' is " << numberText(fill)
                           << ", but a number above 0 and at most 1 is wanted";
}

// The operands and attributes that dispatch, combine and the gradient of the weights share:
// tokens[batch, t, h], choices (experts, slots, weights)[batch, t, top], rows[experts, batch,
// groups * capacity of a group, h]. Slots are counted in groups of `group` tokens, so that a group
// is routed as if it were alone, whichever rank has it (GShard: Lepikhin et al. 2020,
// arXiv:2006.16668).
struct Routed {
  Operation *op;
  Value tokens, rows, experts, slots, weights;
  StringRef tokensName, rowsName, weightsName;
  int64_t group;
  double capacity;
  std::optional<ArrayAttr> windows;

  LogicalResult verifyChoices() const {
    RankedTensorType x = tensorType(tokens), choices = tensorType(experts);
    if (failed(checkNumDims(op, tokensName, x, 3)) ||        // moe_dispatch_c1
        failed(checkStaticDim(op, tokensName, x, 1)) ||      // moe_dispatch_c1
        failed(checkNumDims(op, "experts", choices, 3)) ||   // moe_dispatch_c2
        failed(checkStaticDim(op, "experts", choices, 2)) || // moe_dispatch_c2
        failed(DimList()
                   .dims(tokensName, x, 0, 2)
                   .dims("experts", choices, 2, 3)
                   .check(op, "experts", choices)) || // moe_dispatch_c2
        failed(checkI32(op, "experts", experts)) ||   // moe_dispatch_c2
        failed(DimList().all("experts", choices).check(op, "slots", tensorType(slots))) ||
        failed(checkI32(op, "slots", slots))) // moe_dispatch_c3
      return failure();
    if (!weights)
      return success();
    if (failed(DimList().all("experts", choices).check(op, weightsName, tensorType(weights))))
      return failure(); // moe_dispatch_c4
    return checkSameElement(op, weightsName, weights.getType(), tokensName, x);
  }

  LogicalResult verifyRows() const {
    RankedTensorType x = tensorType(tokens), y = tensorType(rows);
    if (failed(checkNumDims(op, rowsName, y, 4)) || // moe_dispatch_c7
        failed(checkStaticDim(op, rowsName, y, 0)))
      return failure();
    FailureOr<int64_t> perGroup =
        expertCapacity(group, tensorType(experts).getDimSize(2), capacity, allExperts(y, windows));
    if (failed(perGroup)) // moe_dispatch_c6
      return op->emitOpError() << "'capacity' is " << numberText(capacity)
                               << ", which gives an expert more rows than 64 bits count";
    int64_t groups = x.getDimSize(1) / group;
    if (failed(DimList()
                   .dims(rowsName, y, 0, 1)
                   .dims(tokensName, x, 0, 1)
                   .size(groups * *perGroup, "the capacity of " + Twine(groups) + " groups")
                   .dims(tokensName, x, 2, 3)
                   .check(op, rowsName, y))) // moe_dispatch_c7
      return failure();
    return checkSameElement(op, rowsName, y, tokensName, x); // moe_dispatch_c7
  }

  LogicalResult verify() const {
    if (failed(verifyChoices()) ||
        failed(checkGroup(op, tokensName, group, tensorType(tokens).getDimSize(1)))) // c5
      return failure();
    if (!(capacity > 0) || !std::isfinite(capacity)) // moe_dispatch_c6
      return op->emitOpError() << "'capacity' is " << numberText(capacity)
                               << ", but a number above 0 is wanted";
    if (failed(verifyRows()))
      return failure();
    return checkWindows(op, windows); // moe_dispatch_c8
  }
};

} // namespace

// Checks logits[batch, t, experts] -> weights, experts, slots[batch, t, top] and, per sequence,
// load and importance[batch, experts], which the balance loss multiplies.
LogicalResult MoeRouterOp::verify() {
  RankedTensorType logits = tensorType(getLogits());
  if (failed(checkNumDims(*this, "logits", logits, 3)) ||   // moe_router_c1
      failed(checkStaticDim(*this, "logits", logits, 1)) || // moe_router_c2
      failed(checkStaticDim(*this, "logits", logits, 2)))   // moe_router_c2
    return failure();
  auto top = static_cast<int64_t>(getTop());
  if (top < 1 || top > logits.getDimSize(2)) // moe_router_c3
    return emitOpError() << "chooses the top " << top << ", but dim 2 of 'logits' is "
                         << logits.getDimSize(2);
  if (failed(checkGroup(*this, "logits", getGroup(), logits.getDimSize(1)))) // moe_router_c4
    return failure();
  DimList choices, perSequence;
  choices.dims("logits", logits, 0, 2).size(top, "'top'");
  perSequence.dims("logits", logits, 0, 1).dims("logits", logits, 2, 3);
  if (failed(choices.check(*this, "weights", tensorType(getWeights()))) || // moe_router_c5
      failed(checkSameElement(*this, "weights", getWeights().getType(), "logits", logits)))
    return failure();
  for (auto [name, value] : {std::pair<StringRef, Value>{"experts", getExperts()},
                             {"slots", getSlots()}}) // moe_router_c6
    if (failed(choices.check(*this, name, tensorType(value))) ||
        failed(checkI32(*this, name, value)))
      return failure();
  for (auto [name, value] : {std::pair<StringRef, Value>{"load", getLoad()},
                             {"importance", getImportance()}}) // moe_router_c7
    if (failed(perSequence.check(*this, name, tensorType(value))) ||
        failed(checkF32(*this, name, value.getType())))
      return failure();
  return success();
}

// Requires a gradient of the weights, of the importance, or both; load is a count and has none.
LogicalResult MoeRouterGradOp::verify() {
  RankedTensorType logits = tensorType(getLogits()), choices = tensorType(getExperts());
  if (failed(checkNumDims(*this, "logits", logits, 3)) ||   // moe_router_grad_c1
      failed(checkNumDims(*this, "experts", choices, 3)) || // moe_router_grad_c2
      failed(DimList()
                 .dims("logits", logits, 0, 2)
                 .dims("experts", choices, 2, 3)
                 .check(*this, "experts", choices)) ||
      failed(checkI32(*this, "experts", getExperts())))
    return failure();
  if (!getDweights() && !getDimportance()) // moe_router_grad_c3
    return emitOpError() << "has neither 'weights' nor 'importance', so nothing flows back";
  if (Value dweights = getDweights()) // moe_router_grad_c4
    if (failed(DimList().all("experts", choices).check(*this, "dweights", tensorType(dweights))) ||
        failed(checkSameElement(*this, "dweights", dweights.getType(), "logits", logits)))
      return failure();
  if (Value dimportance = getDimportance()) // moe_router_grad_c5
    if (failed(DimList()
                   .dims("logits", logits, 0, 1)
                   .dims("logits", logits, 2, 3)
                   .check(*this, "dimportance", tensorType(dimportance))) ||
        failed(checkF32(*this, "dimportance", dimportance.getType())))
      return failure();
  if (failed(DimList().all("logits", logits).check(*this, "result", getType()))) // c6
    return failure();
  return checkSameElement(*this, "result", getType(), "logits", logits);
}

// Checks load, importance[batch, experts] -> [batch] (Fedus et al. 2021, arXiv:2101.03961, equation
// 4).
LogicalResult MoeBalanceLossOp::verify() {
  RankedTensorType load = tensorType(getLoad()), importance = tensorType(getImportance());
  if (failed(checkNumDims(*this, "load", load, 2)) || failed(checkF32(*this, "load", load)) || // c1
      failed(DimList().all("load", load).check(*this, "importance", importance)) ||
      failed(checkF32(*this, "importance", importance))) // moe_balance_loss_c2
    return failure();
  if (static_cast<int64_t>(getTokens()) < 1) // moe_balance_loss_c3
    return emitOpError() << "'tokens' is " << static_cast<int64_t>(getTokens())
                         << ", but 1 or more is wanted";
  double coefficient = getCoefficient().convertToDouble();
  if (!(coefficient >= 0) || !std::isfinite(coefficient)) // moe_balance_loss_c4
    return emitOpError() << "'coefficient' is " << numberText(coefficient)
                         << ", but 0 or more is wanted";
  if (failed(DimList().dims("load", load, 0, 1).check(*this, "result", getType()))) // c5
    return failure();
  return checkF32(*this, "result", getType());
}

LogicalResult MoeDispatchOp::verify() {
  return Routed{*this,
                getTokens(),
                getResult(),
                getExperts(),
                getSlots(),
                getWeights(),
                "tokens",
                "result",
                "weights",
                static_cast<int64_t>(getGroup()),
                getCapacity().convertToDouble(),
                getWindows()}
      .verify();
}

LogicalResult MoeCombineOp::verify() {
  return Routed{*this,
                getResult(),
                getRows(),
                getExperts(),
                getSlots(),
                getWeights(),
                "result",
                "rows",
                "weights",
                static_cast<int64_t>(getGroup()),
                getCapacity().convertToDouble(),
                getWindows()}
      .verify();
}

LogicalResult MoeWeightGradOp::verify() {
  return Routed{*this,
                getTokens(),
                getRows(),
                getExperts(),
                getSlots(),
                getResult(),
                "tokens",
                "rows",
                "result",
                static_cast<int64_t>(getGroup()),
                getCapacity().convertToDouble(),
                getWindows()}
      .verify();
}

// Checks x[experts, rows..., in] weight[experts, in, out] -> [experts, rows..., out].
LogicalResult ExpertLinearOp::verify() {
  RankedTensorType x = tensorType(getX()), weight = tensorType(getWeight());
  if (failed(checkAtLeastDims(*this, "x", x, 2)) ||     // expert_linear_c1
      failed(checkNumDims(*this, "weight", weight, 3))) // expert_linear_c2
    return failure();
  int64_t last = x.getRank() - 1, in = getTransposed() ? 2 : 1, out = 3 - in;
  for (auto [ofWeight, ofX] : {std::pair<int64_t, int64_t>{0, 0}, {in, last}}) // expert_linear_c3
    if (weight.getDimSize(ofWeight) != x.getDimSize(ofX))
      return emitOpError() << "dim " << ofWeight << " of 'weight' is "
                           << sizeText(weight.getDimSize(ofWeight)) << ", but dim " << ofX
                           << " of 'x' is " << sizeText(x.getDimSize(ofX));
  if (failed(DimList()
                 .dims("x", x, 0, last)
                 .dims("weight", weight, out, out + 1)
                 .check(*this, "result", getType())) ||            // expert_linear_c4
      failed(checkSameElement(*this, "weight", weight, "x", x)) || // expert_linear_c5
      failed(checkProductElement(*this, getType(), "x", x)))       // expert_linear_c6
    return failure();
  return checkFill(*this, getFill().convertToDouble()); // expert_linear_c7
}

// Checks x[experts, rows..., in] dy[experts, rows..., out] -> [experts, in, out], the shape of the
// weight.
LogicalResult ExpertLinearWeightGradOp::verify() {
  RankedTensorType x = tensorType(getX()), dy = tensorType(getDy());
  if (failed(checkAtLeastDims(*this, "x", x, 2)) || // expert_linear_weight_grad_c1
      failed(checkNumDims(*this, "dy", dy, x.getRank())))
    return failure();
  int64_t last = x.getRank() - 1;
  if (failed(DimList()
                 .dims("x", x, 0, last)
                 .dims("dy", dy, last, last + 1)
                 .check(*this, "dy", dy))) // expert_linear_weight_grad_c2
    return failure();
  DimList wanted;
  wanted.dims("x", x, 0, 1);
  if (getTransposed())
    wanted.dims("dy", dy, last, last + 1).dims("x", x, last, last + 1);
  else
    wanted.dims("x", x, last, last + 1).dims("dy", dy, last, last + 1);
  if (failed(wanted.check(*this, "result", getType())) ||    // expert_linear_weight_grad_c3
      failed(checkSameElement(*this, "dy", dy, "x", x)) ||   // expert_linear_weight_grad_c4
      failed(checkProductElement(*this, getType(), "x", x))) // expert_linear_weight_grad_c5
    return failure();
  return checkFill(*this, getFill().convertToDouble()); // expert_linear_weight_grad_c6
}

#define GET_OP_CLASSES
#include "dialects/graph/MoeOps.cpp.inc"
