// Checks convolution and pooling; writes out the short form of convolution.
#include "dialects/graph/ImageOps.h"
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/ShapeOps.h"

#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

namespace {
// Largest size: libraries take sizes as int.
constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();

// A named tensor of an op.
struct Tensor {
  StringRef name;
  Value value;
  int64_t size(unsigned dim) const { return tensorType(value).getDimSize(dim); }
};

// Checks that a tensor has 4 dims, of which only the batch, dim 0 of an image, is dynamic.
LogicalResult checkDims(Operation *op, const Tensor &tensor, bool isImage) {
  if (failed(checkNumDims(op, tensor.name, tensorType(tensor.value), 4)))
    return failure();
  for (unsigned dim = isImage ? 1 : 0; dim < 4; ++dim)
    if (tensor.size(dim) < 1 || tensor.size(dim) > kMaxSize) // dynamic sizes are negative
      return op->emitOpError() << "dim " << dim << " of '" << tensor.name << "' is "
                               << sizeText(tensor.size(dim)) << ", but 1 to " << kMaxSize
                               << " is wanted";
  return success();
}

LogicalResult checkPair(Operation *op, StringRef name, ArrayRef<int64_t> values, int64_t least) {
  if (values.size() == 2 &&
      llvm::all_of(values, [&](int64_t value) { return value >= least && value <= kMaxSize; }))
    return success();
  return op->emitOpError() << "'" << name << "' is [" << values
                           << "], but two numbers, height and width, of " << least
                           << " or more are wanted";
}

// The movement of a kernel over an image along height and width.
struct Window {
  ArrayRef<int64_t> kernel, stride, padding, dilation;

  // Adds the result's height and width to `wanted`; fails if the kernel does not fit.
  LogicalResult addSizes(Operation *op, const Tensor &image, DimList &wanted) const {
    for (unsigned i = 0; i < 2; ++i) {
      int64_t size = image.size(2 + i), span = dilation[i] * (kernel[i] - 1) + 1;
      if (span > size + 2 * padding[i])
        return op->emitOpError() << "has a kernel that covers " << span << " pixels along dim "
                                 << 2 + i << " of '" << image.name << "', which has " << size
                                 << " and " << padding[i] << " of padding on both sides";
      wanted.size((size + 2 * padding[i] - span) / stride[i] + 1,
                  "(dim " + Twine(2 + i) + " of '" + image.name +
                      "' + 2 * padding - pixels of the kernel) / stride + 1");
    }
    return success();
  }
};

// Checks the constraints that conv2d and its gradients share: on image, weight and result of the
// convolution.
template <typename Op>
LogicalResult verifyConvolution(Op op, const Tensor &image, const Tensor &weight,
                                const Tensor &result) {
  if (failed(checkDims(op, image, true)) || failed(checkDims(op, weight, false)) ||
      failed(checkDims(op, result, true)) || // conv2d_c1
      failed(checkPair(op, "stride", op.getStride(), 1)) ||
      failed(checkPair(op, "padding", op.getPadding(), 0)) ||
      failed(checkPair(op, "dilation", op.getDilation(), 1))) // conv2d_c2
    return failure();
  int64_t channels = image.size(1), ofGroup = weight.size(1);
  if (channels % ofGroup != 0) // conv2d_c3
    return op.emitOpError() << "dim 1 of '" << image.name << "' is " << channels
                            << ", but a multiple of dim 1 of '" << weight.name << "', " << ofGroup
                            << ", is wanted: the channels of a group";
  if (weight.size(0) % (channels / ofGroup) != 0) // conv2d_c3
    return op.emitOpError() << "dim 0 of '" << weight.name << "' is " << weight.size(0)
                            << ", but a multiple of the " << channels / ofGroup
                            << " groups is wanted";
  DimList wanted;
  wanted.dims(image.name, tensorType(image.value), 0, 1);
  wanted.dims(weight.name, tensorType(weight.value), 0, 1);
  Window window{tensorType(weight.value).getShape().drop_front(2), op.getStride(), op.getPadding(),
                op.getDilation()};
  if (failed(window.addSizes(op, image, wanted))) // conv2d_c4
    return failure();
  return wanted.check(op, result.name, tensorType(result.value)); // conv2d_c5
}
} // namespace

LogicalResult Conv2dOp::verify() {
  Tensor x{"x", getX()}, weight{"weight", getWeight()}, result{"result", getResult()};
  if (failed(verifyConvolution(*this, x, weight, result)) ||
      failed(checkSameElement(*this, "weight", getWeight().getType(), "x",
                              getX().getType())) ||                         // conv2d_c6
      failed(checkProductElement(*this, getType(), "x", getX().getType()))) // conv2d_c7
    return failure();
  if (!getBias())
    return success();
  if (failed(DimList()
                 .dims("weight", tensorType(getWeight()), 0, 1)
                 .check(*this, "bias", tensorType(getBias()))))
    return failure(); // conv2d_c8
  return checkSameElement(*this, "bias", getBias().getType(), "result", getType());
}

// Checks an op that goes from the result of a convolution to its image.
template <typename Op> static LogicalResult verifyTransposed(Op op, const Tensor &from) {
  RankedTensorType type = tensorType(from.value);
  if (failed(verifyConvolution(op, {"result", op.getResult()}, {"weight", op.getWeight()}, from)) ||
      failed(checkSameElement(op, "weight", op.getWeight().getType(), from.name, type)))
    return failure();
  return checkProductElement(op, op.getType(), from.name, type);
}

LogicalResult ConvTranspose2dOp::verify() { return verifyTransposed(*this, {"x", getX()}); }

LogicalResult Conv2dInputGradOp::verify() { return verifyTransposed(*this, {"dy", getDy()}); }

LogicalResult Conv2dWeightGradOp::verify() {
  if (failed(verifyConvolution(*this, {"x", getX()}, {"result", getResult()}, {"dy", getDy()})) ||
      failed(checkSameElement(*this, "dy", getDy().getType(), "x", getX().getType())))
    return failure();
  return checkProductElement(*this, getType(), "x", getX().getType());
}

// Checks the constraints that pooling and its gradients share.
template <typename Op>
static LogicalResult verifyPool(Op op, const Tensor &image, const Tensor &result) {
  if (failed(checkDims(op, image, true)) || failed(checkDims(op, result, true)) ||
      failed(checkSameElement(op, result.name, result.value.getType(), image.name,
                              image.value.getType())) || // pool_c1
      failed(checkPair(op, "kernel", op.getKernel(), 1)) ||
      failed(checkPair(op, "stride", op.getStride(), 1)) ||
      failed(checkPair(op, "padding", op.getPadding(), 0))) // pool_c2
    return failure();
  for (auto [padding, kernel] : llvm::zip(op.getPadding(), op.getKernel()))
    if (padding > kernel / 2) // pool_c3
      return op.emitOpError() << "has a padding of " << padding << " for a kernel of " << kernel
                              << ", but half of it at most is wanted: every window has a pixel";
  const int64_t dilation[] = {1, 1};
  Window window{op.getKernel(), op.getStride(), op.getPadding(), dilation};
  DimList wanted;
  wanted.dims(image.name, tensorType(image.value), 0, 2);
  if (failed(window.addSizes(op, image, wanted))) // pool_c4
    return failure();
  return wanted.check(op, result.name, tensorType(result.value)); // pool_c5
}

LogicalResult MaxPool2dOp::verify() {
  return verifyPool(*this, {"x", getX()}, {"result", getResult()});
}
LogicalResult AvgPool2dOp::verify() {
  return verifyPool(*this, {"x", getX()}, {"result", getResult()});
}
LogicalResult MaxPool2dGradOp::verify() {
  if (failed(verifyPool(*this, {"x", getX()}, {"dy", getDy()})) ||
      failed(DimList()
                 .all("x", tensorType(getX()))
                 .check(*this, "result", getType()))) // max_pool2d_grad_c1
    return failure();
  return checkSameElement(*this, "result", getType(), "x", getX().getType());
}
LogicalResult AvgPool2dGradOp::verify() {
  return verifyPool(*this, {"result", getResult()}, {"dy", getDy()});
}

// y = x * w + bias, with one bias element per filter: [filters, 1, 1] broadcast over [batch,
// filters, height, width].
bool Conv2dOp::isShort() { return getBias() != nullptr; }

void Conv2dOp::writeOut(OpBuilder &builder, llvm::function_ref<int64_t()>) {
  Value product = Conv2dOp::create(builder, getLoc(), getType(), getX(), getWeight(), Value(),
                                   getStrideAttr(), getPaddingAttr(), getDilationAttr());
  RankedTensorType type = tensorType(getBias());
  Value bias = ReshapeOp::create(
      builder, getLoc(), RankedTensorType::get({type.getDimSize(0), 1, 1}, type.getElementType()),
      getBias());
  Value sum = AddOp::create(builder, getLoc(), getType(), product, bias);
  sum.getDefiningOp()->setDiscardableAttrs((*this)->getDiscardableAttrDictionary());
  getResult().replaceAllUsesWith(sum);
  erase();
}

#define GET_OP_CLASSES
#include "dialects/graph/ImageOps.cpp.inc"
