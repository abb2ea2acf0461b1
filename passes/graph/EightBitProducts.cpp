// Rounds the operands of products to 8 bits, as GPUs multiply them.
#include "passes/graph/EightBitProducts.h"

#include "dialects/graph/EightBitOps.h"
#include "dialects/graph/NnOps.h"
#include "passes/graph/OutputProduct.h"

using namespace mlir;

namespace dtc {
namespace {

constexpr int64_t kAlignment = 16; // elements of 8 bits that the rows of GPUs' products begin at

class ProductRounder {
public:
  explicit ProductRounder(ModuleOp module) : module(module) {}

  LogicalResult run() {
    for (auto func : module.getOps<graph::FuncOp>()) {
      rounded.clear(); // values are those of one function
      SmallVector<graph::LinearOp> products(func.getBody().front().getOps<graph::LinearOp>());
      for (graph::LinearOp product : products)
        if (takesEightBits(product) && failed(checkSizes(product)))
          return failure();
      for (graph::LinearOp product : products)
        if (takesEightBits(product))
          round(product);
    }
    return success();
  }

private:
  // Products in f32 are those of routers.
  static bool takesEightBits(graph::LinearOp product) {
    return product.getType().getElementType().isBF16() && !isOutputProduct(*product);
  }

  static LogicalResult checkSizes(graph::LinearOp product) {
    ArrayRef<int64_t> x = cast<RankedTensorType>(product.getX().getType()).getShape();
    ArrayRef<int64_t> y = product.getType().getShape();
    auto contract = static_cast<size_t>(product.getContract());
    int64_t in = ShapedType::getNumElements(x.take_back(contract)),
            out = ShapedType::getNumElements(y.drop_front(x.size() - contract));
    for (auto [channels, where] : {std::pair(in, "reads"), std::pair(out, "gives")})
      if (channels % kAlignment != 0) {
        product.emitError() << "a product " << where << " " << channels
                            << " channels, which is no multiple of " << kAlignment
                            << ", as products in 8 bits need; use --precision bf16, or a model "
                               "whose sizes are multiples of "
                            << kAlignment;
        return failure();
      }
    return success();
  }

  void round(graph::LinearOp product) {
    for (OpOperand *operand : {&product.getXMutable(), &product.getWeightMutable()})
      operand->set(roundedOf(operand->get()));
    OpBuilder builder(product->getContext());
    builder.setInsertionPointAfter(product);
    auto gradient = graph::QuantiseGradientOp::create(
        builder, product.getLoc(), product.getResult(), graph::EightBitFormat::E5M2);
    product.getResult().replaceAllUsesExcept(gradient, gradient);
  }

  // Returns the rounding of a value right behind it, one for all products that read it.
  Value roundedOf(Value value) {
    Value &known = rounded[value];
    if (known)
      return known;
    OpBuilder builder(module.getContext());
    builder.setInsertionPointAfterValue(value);
    auto amax = graph::AmaxOp::create(builder, value.getLoc(), value);
    known = graph::QuantiseOp::create(builder, value.getLoc(), value.getType(), value, amax,
                                      graph::EightBitFormat::E4M3, false);
    return known;
  }

  ModuleOp module;
  llvm::DenseMap<Value, Value> rounded;
};

} // namespace

LogicalResult roundProducts(ModuleOp module) { return ProductRounder(module).run(); }

} // namespace dtc
