#include "passes/schedule/EpilogueKernel.h"
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/GradientOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace dtc;

namespace {

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

class Reader {
public:
  Reader(graph::FuncOp kernel, unsigned product, int64_t columns)
      : body(kernel.getBody().front()), product(body.getArgument(product)), columns(columns) {}

  std::optional<EpilogueKernel> read() {
    if (!isa<RankedTensorType>(product.getType()) || !(readDerivative() || readSum()) ||
        !readResults())
      return std::nullopt;
    // Requires that the kernel has no further ops.
    auto all = body.without_terminator();
    return std::distance(all.begin(), all.end()) == numOps ? std::optional(found) : std::nullopt;
  }

private:
  bool readDerivative() {
    auto grad = dyn_cast_or_null<graph::GeluGradOp>(onlyUser(product));
    auto of = grad ? dyn_cast<BlockArgument>(grad.getX()) : BlockArgument();
    if (!of || of == product || grad.getDy() != product || grad.getKind() != graph::GeluKind::Tanh)
      return false;
    found.geluOf = of.getArgNumber();
    behind = grad.getResult();
    ++numOps;
    return true;
  }

  bool readSum() {
    sum = product;
    while (auto add = dyn_cast_or_null<graph::AddOp>(onlyUser(sum))) {
      auto other = dyn_cast<BlockArgument>(add.getLhs() == sum ? add.getRhs() : add.getLhs());
      if (!other || other == product || !takes(other) ||
          shapeOf(add.getResult()) != shapeOf(product))
        return false;
      sum = add.getResult();
      ++numOps;
    }
    auto isGelu = [](Operation *user) { return isa<graph::GeluOp>(user); };
    auto gelu = llvm::find_if(sum.getUsers(), isGelu);
    if (gelu == sum.getUsers().end())
      return found.bias || found.addend;
    auto op = cast<graph::GeluOp>(*gelu);
    if (!found.bias || found.addend || op.getKind() != graph::GeluKind::Tanh)
      return false;
    found.gelu = true;
    behind = op.getResult();
    ++numOps;
    return true;
  }

  // Records a matrix or a row that is added; each may occur once.
  bool takes(BlockArgument other) {
    ArrayRef<int64_t> of = shapeOf(product), shape = shapeOf(other);
    std::optional<unsigned> *place = nullptr;
    if (shape == of)
      place = &found.addend;
    else if (!shape.empty() && shape.size() < of.size() && of.take_back(shape.size()) == shape &&
             ShapedType::getNumElements(shape) == columns)
      place = &found.bias;
    if (!place || *place || elementOf(other) != elementOf(product))
      return false;
    *place = other.getArgNumber();
    return true;
  }

  // Records the returned values, each at most once: the sum, the value after it, or both.
  bool readResults() {
    for (auto [index, value] : llvm::enumerate(body.getTerminator()->getOperands())) {
      std::optional<unsigned> *place = value == behind ? &found.result
                                       : value == sum  ? &found.sum
                                                       : nullptr;
      if (!place || *place)
        return false;
      *place = static_cast<unsigned>(index);
    }
    return behind ? found.result.has_value() : found.sum.has_value();
  }

  static Operation *onlyUser(Value value) {
    return value.hasOneUse() ? *value.getUsers().begin() : nullptr;
  }

  Block &body;
  BlockArgument product;
  int64_t columns;
  Value sum, behind;
  std::ptrdiff_t numOps = 0;
  EpilogueKernel found;
};

} // namespace

std::optional<EpilogueKernel> dtc::readEpilogue(graph::FuncOp kernel, unsigned product,
                                                int64_t columns) {
  return Reader(kernel, product, columns).read();
}
