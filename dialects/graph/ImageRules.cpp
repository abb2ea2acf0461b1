// Rules and gradients of convolution and pooling.
#include "dialects/graph/ImageOps.h"

#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/RuleBuilder.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

namespace {
// The loops of y[b, f, i, j] = sum over c, p, q of x[b, c, .., ..] w[f, c, p, q], in groups of
// channels and filters. A pixel of x belongs to no loop, since results share it. Only one of batch,
// group, filters and channels is summed in each of the three ops. Pixels and kernels are whole, as
// neighbouring results need each other's pixels.
struct ConvLoops {
  // The kinds of the loops: Sum for the one of the three that the op's result lacks.
  ConvLoops(RuleBuilder &builder, Value imageValue, Value weightValue, Value resultValue,
            LoopKind batchKind, LoopKind filterKind, LoopKind channelKind) {
    RankedTensorType image = tensorType(imageValue), weight = tensorType(weightValue);
    RankedTensorType result = tensorType(resultValue);
    int64_t ofGroup = std::max<int64_t>(1, weight.getDimSize(1));
    int64_t groups = std::max<int64_t>(1, image.getDimSize(1) / ofGroup);
    DimLoops b = builder.loop(result.getDimSize(0), batchKind);
    DimLoops g; // a single group is not a loop
    if (groups > 1)
      g = builder.loop(groups);
    DimLoops f = builder.loop(weight.getDimSize(0) / groups, filterKind);
    DimLoops c = builder.loop(ofGroup, channelKind);
    DimLoops pixels[2], taps[2];
    for (unsigned i = 0; i < 2; ++i) {
      pixels[i] = builder.loop(result.getDimSize(2 + i), LoopKind::Whole);
      taps[i] = builder.loop(weight.getDimSize(2 + i), LoopKind::Whole);
    }
    auto inGroups = [&](const DimLoops &loop) {
      return g.empty() ? loop : DimLoops{g[0], loop[0]};
    };
    x = {b, inGroups(c), {}, {}};
    w = {inGroups(f), c, taps[0], taps[1]};
    y = {b, inGroups(f), pixels[0], pixels[1]};
    ofResult = {b[0], pixels[0][0], pixels[1][0]};
    ofFilters = {f[0]};
    ofKernel = {c[0], taps[0][0], taps[1][0]};
    builder.channels({g, f, c});
  }
  TensorLoops x, w, y;
  // The loops of the matrix product: [ofResult x ofKernel] of pixels under the kernel, [ofKernel x
  // ofFilters] of weights, [ofResult x ofFilters] of results; one product per group.
  DimLoops ofResult, ofFilters, ofKernel;
};

OpRule convRule(RuleBuilder &builder, const DimLoops &m, const DimLoops &n, const DimLoops &k) {
  OpRule rule = builder.flops(2).kind(OpKind::Product).zeroPreserving().take();
  rule.productLoops.assign(rule.loops.size(), ProductLoop::Batch);
  for (auto [of, kind] : {std::pair(m, ProductLoop::M), {n, ProductLoop::N}, {k, ProductLoop::K}})
    for (unsigned loop : of)
      rule.productLoops[loop] = kind;
  return rule;
}
} // namespace

OpRule Conv2dOp::getRule() {
  RuleBuilder builder;
  ConvLoops loops(builder, getX(), getWeight(), getResult(), LoopKind::Parallel, LoopKind::Parallel,
                  LoopKind::Sum);
  builder.operand(loops.x).operand(loops.w).result(loops.y);
  if (getBias()) // the short form, which is never partitioned
    builder.operand({loops.w.front()});
  return convRule(builder, loops.ofResult, loops.ofFilters, loops.ofKernel);
}

// Builds the rule of an op that goes from the result of a convolution to its image.
static OpRule transposedRule(RuleBuilder &builder, Value image, Value weight, Value from) {
  ConvLoops loops(builder, image, weight, from, LoopKind::Parallel, LoopKind::Sum,
                  LoopKind::Parallel);
  builder.operand(loops.y).operand(loops.w).result(loops.x);
  return convRule(builder, loops.ofResult, loops.ofKernel, loops.ofFilters);
}

OpRule ConvTranspose2dOp::getRule() {
  RuleBuilder builder;
  return transposedRule(builder, getResult(), getWeight(), getX());
}

OpRule Conv2dInputGradOp::getRule() {
  RuleBuilder builder;
  builder.gradient();
  return transposedRule(builder, getResult(), getWeight(), getDy());
}

OpRule Conv2dWeightGradOp::getRule() {
  RuleBuilder builder;
  ConvLoops loops(builder, getX(), getResult(), getDy(), LoopKind::Sum, LoopKind::Parallel,
                  LoopKind::Parallel);
  builder.operand(loops.x).operand(loops.y).result(loops.w).gradient();
  return convRule(builder, loops.ofKernel, loops.ofFilters, loops.ofResult);
}

// Casts the gradient of a product to the type of its operands, which matrix products have in
// common; the result may be wider.
static Value asOperand(OpBuilder &builder, Location loc, Value dy, Value operand) {
  RankedTensorType type = tensorType(dy);
  Type element = tensorType(operand).getElementType();
  if (type.getElementType() == element)
    return dy;
  return CastOp::create(builder, loc, RankedTensorType::get(type.getShape(), element), dy);
}

// Builds the gradients of the sum in graph.conv2d, which is linear in x and in the weight.
LogicalResult Conv2dOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                      ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(getNumOperands(), Value());
  Value dy = asOperand(builder, getLoc(), resultGrads[0], getX());
  if (needed[0])
    grads[0] = Conv2dInputGradOp::create(builder, getLoc(), getX().getType(), dy, getWeight(),
                                         getStrideAttr(), getPaddingAttr(), getDilationAttr());
  if (needed[1])
    grads[1] = Conv2dWeightGradOp::create(builder, getLoc(), getWeight().getType(), getX(), dy,
                                          getStrideAttr(), getPaddingAttr(), getDilationAttr());
  return success();
}

// The convolution that goes the other way gives the gradient of x; x is the gradient of its result
// in that of the weight.
LogicalResult ConvTranspose2dOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                               ArrayRef<bool> needed,
                                               SmallVectorImpl<Value> &grads) {
  grads.assign(getNumOperands(), Value());
  Value dy = asOperand(builder, getLoc(), resultGrads[0], getX());
  if (needed[0])
    grads[0] =
        Conv2dOp::create(builder, getLoc(), getX().getType(), dy, getWeight(),
                         /*bias=*/Value(), getStrideAttr(), getPaddingAttr(), getDilationAttr());
  if (needed[1])
    grads[1] = Conv2dWeightGradOp::create(builder, getLoc(), getWeight().getType(), dy, getX(),
                                          getStrideAttr(), getPaddingAttr(), getDilationAttr());
  return success();
}

// A window of one channel makes one pixel: batch and channels are independent. Zeros make zeros.
static RuleBuilder poolRule(Value imageValue, Value resultValue, ArrayRef<int64_t> kernel,
                            TensorLoops &image, TensorLoops &result) {
  RuleBuilder builder;
  TensorLoops lead = builder.loops(imageValue, 0, 2);
  TensorLoops pixels = builder.loops(resultValue, 2, 4, LoopKind::Whole);
  image = lead + TensorLoops{{}, {}};
  result = lead + pixels;
  for (int64_t size : kernel)
    builder.loop(size, LoopKind::Whole);
  return builder.channels({lead[1]}).zeroPreserving();
}

OpRule MaxPool2dOp::getRule() {
  TensorLoops x, y;
  return poolRule(getX(), getResult(), getKernel(), x, y).operand(x).result(y).take();
}

OpRule AvgPool2dOp::getRule() {
  TensorLoops x, y;
  return poolRule(getX(), getResult(), getKernel(), x, y).operand(x).result(y).linear().take();
}

OpRule MaxPool2dGradOp::getRule() {
  TensorLoops x, y;
  RuleBuilder builder = poolRule(getX(), getDy(), getKernel(), x, y);
  return builder.operand(x).operand(y).result(x).gradient().take();
}

OpRule AvgPool2dGradOp::getRule() {
  TensorLoops x, y;
  RuleBuilder builder = poolRule(getResult(), getDy(), getKernel(), x, y);
  return builder.operand(y).result(x).gradient().linear().take();
}

// Finds the maximum again in x, because saving its index would cost memory from forward to
// backward.
LogicalResult MaxPool2dOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                         ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(1, Value());
  if (needed[0])
    grads[0] = MaxPool2dGradOp::create(builder, getLoc(), getX().getType(), getX(), resultGrads[0],
                                       getKernelAttr(), getStrideAttr(), getPaddingAttr());
  return success();
}

LogicalResult AvgPool2dOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                         ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(1, Value());
  if (needed[0])
    grads[0] = AvgPool2dGradOp::create(builder, getLoc(), getX().getType(), resultGrads[0],
                                       getKernelAttr(), getStrideAttr(), getPaddingAttr());
  return success();
}
