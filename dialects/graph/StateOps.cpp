// Checks batch norm and the ops about state; writes out the short form of batch norm.
#include "dialects/graph/StateOps.h"
#include "dialects/graph/ElementwiseOps.h"

#include "dialects/graph/Inputs.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

#define GET_OP_CLASSES
#include "dialects/graph/StateOps.cpp.inc"

#include "dialects/graph/StateEnums.cpp.inc"

LogicalResult ObserveOp::verify() {
  bool isSummed = getKind() == ObserveKind::Mean || getKind() == ObserveKind::Sum;
  if (getRate() && !isSummed) // observe_c2
    return emitOpError("moves at a 'rate' by the mean or the sum of its value, not by '")
           << stringifyObserveKind(getKind()) << "'";
  if (std::optional<llvm::APFloat> rate = getRate(); rate && !(rate->convertToDouble() > 0))
    return emitOpError() << "has a 'rate' of " << numberText(rate->convertToDouble())
                         << ", but a number greater than 0 is wanted"; // observe_c3
  return checkF32(*this, "state", getState().getType());               // observe_c1
}

namespace {

RankedTensorType ofChannels(Value x, Type element) {
  return RankedTensorType::get({tensorType(x).getDimSize(1)}, element);
}

LogicalResult checkChannels(Operation *op, StringRef name, Value x, Value value) {
  return DimList().dims("x", tensorType(x), 1, 2).check(op, name, tensorType(value));
}

// Checks x, weight and bias.
LogicalResult checkOperands(Operation *op, Value x, Value weight, Value bias) {
  if (failed(checkAtLeastDims(op, "x", tensorType(x), 2)))
    return failure();
  if (ShapedType::isDynamic(tensorType(x).getDimSize(1)))
    return op->emitOpError("has the batch as dim 1 of 'x', where its channels are wanted");
  for (auto [name, value] : {std::pair<StringRef, Value>{"weight", weight}, {"bias", bias}})
    if (failed(checkChannels(op, name, x, value)) ||
        failed(checkSameElement(op, name, value.getType(), "x", x.getType())))
      return failure();
  return success();
}

// Checks the three tensors that the op has of its state.
LogicalResult checkState(Operation *op, StringRef name, Value x, ValueRange state) {
  if (!state.empty() && state.size() != 3)
    return op->emitOpError() << "has " << state.size() << " tensors as '" << name
                             << "', but none or 3 are wanted";
  for (auto [index, value] : llvm::enumerate(state)) {
    LogicalResult dims = index < 2 ? checkChannels(op, name, x, value)
                                   : checkNumDims(op, name, tensorType(value), 0);
    if (failed(dims) || failed(checkF32(op, name, value.getType())))
      return failure();
  }
  return success();
}

LogicalResult checkEpsilon(Operation *op, const llvm::APFloat &epsilon) {
  double value = epsilon.convertToDouble();
  if (value > 0 && value < 1)
    return success();
  return op->emitOpError() << "'epsilon' is " << numberText(value)
                           << ", but a number above 0 and below 1 is wanted";
}

} // namespace

LogicalResult BatchNormOp::verify() {
  if (failed(
          checkOperands(*this, getX(), getWeight(), getBias())) || // batch_norm_c1, batch_norm_c2
      failed(checkState(*this, "state", getX(), getState())))      // batch_norm_c3
    return failure();
  if (getResult().getType() != getX().getType())
    return emitOpError() << "returns " << getResult().getType() << ", but 'x' is "
                         << getX().getType();
  if (getMomentum() &&
      failed(checkRange(*this, "momentum", getMomentum()->convertToDouble(), 0, 1)))
    return failure();                      // batch_norm_c4
  if (getMomentum() && getState().empty()) // batch_norm_c5
    return emitOpError("has a momentum, but no state that it is about");
  return checkEpsilon(*this, getEpsilon()); // batch_norm_c6
}

LogicalResult BatchNormaliseOp::verify() {
  if (failed(checkOperands(*this, getX(), getWeight(), getBias()))) // batch_normalise_c1 and c3
    return failure();
  if (getResult().getType() != getX().getType()) // batch_normalise_c2
    return emitOpError() << "returns " << getResult().getType() << ", but 'x' is "
                         << getX().getType();
  for (auto [name, value] : {std::pair<StringRef, Value>{"mean", getMean()},
                             {"variance", getVariance()},
                             {"unbiased", getUnbiased()}}) // batch_normalise_c4
    if (failed(checkChannels(*this, name, getX(), value)) ||
        failed(checkF32(*this, name, value.getType())))
      return failure();
  if (failed(checkState(*this, "held", getX(), getHeld()))) // batch_normalise_c5
    return failure();
  return checkEpsilon(*this, getEpsilon()); // batch_normalise_c6
}

bool BatchNormOp::isShort() { return true; }

// running = (1 - f) running + f statistic, where f is the momentum, or 1 / steps for the mean over
// all of them.
void BatchNormOp::writeOut(OpBuilder &builder, llvm::function_ref<int64_t()>) {
  Location loc = getLoc();
  auto scalar = RankedTensorType::get({}, builder.getF32Type());
  auto constant = [&](double value) -> Value {
    return ConstantOp::create(builder, loc, scalar, builder.getF64FloatAttr(value));
  };
  SmallVector<Value> held;
  for (Value state : getState().take_front(2))
    held.push_back(DetachOp::create(builder, loc, state.getType(), state));
  if (!held.empty())
    held.push_back(InputOp::create(builder, loc, scalar, InputRole::Step));
  Type statistic = ofChannels(getX(), builder.getF32Type());
  auto normalise = BatchNormaliseOp::create(builder, loc, getX().getType(), statistic, statistic,
                                            statistic, getX(), getWeight(), getBias(), held,
                                            getEpsilonAttr(), getPartsAttr());
  normalise->setDiscardableAttrs((*this)->getDiscardableAttrDictionary());
  Value result = normalise.getResult();
  auto observe = [&](unsigned index, Value value, ObserveKind kind) {
    result = ObserveOp::create(builder, loc, result.getType(), result, getState()[index], value,
                               kind, FloatAttr());
  };
  if (!held.empty()) {
    Value steps = AddOp::create(builder, loc, scalar,
                                DetachOp::create(builder, loc, scalar, getState()[2]).getResult(),
                                constant(1));
    auto times = [&](Value tensor, Value factor) -> Value {
      return MultiplyOp::create(builder, loc, tensor.getType(), tensor, factor);
    };
    Value share = getMomentum()
                      ? constant(getMomentum()->convertToDouble())
                      : DivideOp::create(builder, loc, scalar, constant(1), steps).getResult();
    Value rest = SubtractOp::create(builder, loc, scalar, constant(1), share);
    auto moveTowards = [&](unsigned index, Value value) {
      observe(index,
              AddOp::create(builder, loc, statistic, times(held[index], rest), times(value, share)),
              ObserveKind::Mean);
    };
    moveTowards(0, normalise.getMean());
    moveTowards(1, normalise.getUnbiased());
    observe(2, steps, ObserveKind::Last);
  }
  getResult().replaceAllUsesWith(result);
  (*this)->erase();
}
