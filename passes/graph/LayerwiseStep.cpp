// Builds the LAMB and LARS updates of one tensor.
#include "passes/graph/LayerwiseStep.h"

#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/LayerwiseOps.h"
#include "dialects/graph/OptimizerOps.h"

using namespace mlir;

namespace dtc {
namespace {

// Builds scalar arithmetic.
class Ratio {
public:
  Ratio(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  Value squaresOf(Value tensor) {
    return graph::SumSquaresOp::create(builder, loc, scalar, tensor);
  }
  Value times(Value a, Value b) { return graph::MultiplyOp::create(builder, loc, scalar, a, b); }
  Value build(Value param, Value direction, double coefficient, double decay) {
    return graph::TrustRatioOp::create(builder, loc, scalar, param, direction,
                                       builder.getF64FloatAttr(coefficient),
                                       builder.getF64FloatAttr(decay));
  }
  Value one() {
    return graph::ConstantOp::create(builder, loc, scalar, builder.getF64FloatAttr(1));
  }

private:
  OpBuilder &builder;
  Location loc;
  RankedTensorType scalar = RankedTensorType::get({}, builder.getF32Type());
};

} // namespace

SmallVector<Value> buildLambStep(OpBuilder &builder, Location loc, Value param, Value grad,
                                 ValueRange state, const StepScalars &scalars,
                                 const AddOptimizerOptions &options, bool decays) {
  Type type = param.getType();
  Ratio ratio(builder, loc);
  auto to = graph::LambDirectionOp::create(
      builder, loc, type, type, type, param, grad, state[0], state[1], scalars.step, scalars.clip,
      scalars.apply, builder.getF64FloatAttr(options.beta1), builder.getF64FloatAttr(options.beta2),
      builder.getF64FloatAttr(options.epsilon),
      builder.getF64FloatAttr(decays ? options.weightDecay : 0));
  Value trust = decays
                    ? ratio.build(ratio.squaresOf(param), ratio.squaresOf(to.getDirection()), 1, 0)
                    : ratio.one();
  Value next = graph::DescendOp::create(builder, loc, type, param, to.getDirection(), scalars.rate,
                                        trust, scalars.apply);
  return {next, to.getNewExpAvg(), to.getNewExpAvgSq()};
}

SmallVector<Value> buildLarsStep(OpBuilder &builder, Location loc, Value param, Value grad,
                                 ValueRange state, const StepScalars &scalars,
                                 const AddOptimizerOptions &options, bool decays) {
  Type type = param.getType();
  Ratio ratio(builder, loc);
  double decay = decays ? options.weightDecay : 0;
  Value trust = ratio.one();
  if (decays) { // uses the gradient as it is applied, after clipping
    Value squares = ratio.times(ratio.squaresOf(grad), ratio.times(scalars.clip, scalars.clip));
    trust = ratio.build(ratio.squaresOf(param), squares, options.trustCoefficient, decay);
  }
  auto update = graph::LarsOp::create(
      builder, loc, type, type, param, grad, state[0], scalars.rate, scalars.clip, trust,
      scalars.apply, builder.getF64FloatAttr(options.beta1), builder.getF64FloatAttr(decay));
  return {update.getNewParam(), update.getNewBuffer()};
}

} // namespace dtc
