#include "dialects/graph/Epilogue.h"
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/GradientOps.h"
#include "dialects/graph/NnOps.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace dtc::graph {
namespace {

// cuBLASLt moves vectors of this many elements of 16 bits.
constexpr int64_t kVectorElements = 8;

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

// Reads the ops of a kernel, from the product on.
class Reader {
public:
  Reader(Value product, int64_t columns, ArrayRef<Operation *> kernel)
      : product(product), columns(columns), kernel(kernel.begin(), kernel.end()) {}

  std::optional<Epilogue> read() {
    // Requires that the kernel has no further ops.
    bool isEpilogue = isa<RankedTensorType>(product.getType()) && (readDerivative() || readSum()) &&
                      found.ops.size() == kernel.size() && areResultsRead();
    return isEpilogue ? std::optional(found) : std::nullopt;
  }

private:
  bool readDerivative() {
    auto grad = dyn_cast_or_null<GeluGradOp>(onlyUser(product));
    if (!grad || grad.getDy() != product || grad.getX() == product || !isOutside(grad.getX()) ||
        grad.getKind() != GeluKind::Tanh)
      return false;
    found.geluOf = grad.getX();
    found.result = grad.getResult();
    found.ops.push_back(grad);
    return true;
  }

  bool readSum() {
    found.sum = product;
    while (auto add = dyn_cast_or_null<AddOp>(onlyUser(found.sum))) {
      Value other = add.getLhs() == found.sum ? add.getRhs() : add.getLhs();
      if (other == product || !isOutside(other) || !takes(other) ||
          shapeOf(add.getResult()) != shapeOf(product))
        return false;
      found.sum = add.getResult();
      found.ops.push_back(add);
    }
    for (Operation *user : found.sum.getUsers())
      if (auto gelu = dyn_cast<GeluOp>(user); gelu && kernel.contains(gelu))
        return readGelu(gelu);
    return found.bias || found.addend;
  }

  bool readGelu(GeluOp gelu) {
    if (!found.bias || found.addend || gelu.getKind() != GeluKind::Tanh)
      return false;
    found.gelu = true;
    found.result = gelu.getResult();
    found.ops.push_back(gelu);
    return true;
  }

  // Records a tensor or a row that is added; each may occur once.
  bool takes(Value other) {
    auto type = dyn_cast<RankedTensorType>(other.getType());
    if (!type || type.getElementType() != elementOf(product))
      return false;
    ArrayRef<int64_t> of = shapeOf(product), shape = type.getShape();
    Value *operand = nullptr;
    if (shape == of)
      operand = &found.addend;
    else if (!shape.empty() && shape.size() < of.size() && of.take_back(shape.size()) == shape &&
             ShapedType::getNumElements(shape) == columns)
      operand = &found.bias;
    if (!operand || *operand)
      return false;
    *operand = other;
    return true;
  }

  // Checks that others read the sum, the value behind it, or both, and nothing else.
  bool areResultsRead() const {
    for (Operation *op : found.ops)
      if (isReadOutside(op->getResult(0)) && op->getResult(0) != found.sum &&
          op->getResult(0) != found.result)
        return false;
    return isReadOutside(found.main());
  }

  bool isReadOutside(Value value) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) { return !kernel.contains(user); });
  }

  bool isOutside(Value value) const {
    return !value.getDefiningOp() || !kernel.contains(value.getDefiningOp());
  }

  // Returns the only user of a value, if it is one of the kernel.
  Operation *onlyUser(Value value) const {
    Operation *user = value.hasOneUse() ? *value.getUsers().begin() : nullptr;
    return user && kernel.contains(user) ? user : nullptr;
  }

  Value product;
  int64_t columns;
  llvm::SmallPtrSet<Operation *, 8> kernel;
  Epilogue found;
};

} // namespace

std::optional<EpilogueProduct> productOf(Operation *op) {
  if (!isa_and_nonnull<LinearOp, MatmulOp>(op))
    return std::nullopt;
  OpRule rule = cast<RuleOpInterface>(op).getRule();
  int64_t m = 1, n = 1, k = 1, batch = 1;
  for (auto [loop, kind] : llvm::zip_equal(rule.loops, rule.productLoops))
    (kind == ProductLoop::M   ? m
     : kind == ProductLoop::N ? n
     : kind == ProductLoop::K ? k
                              : batch) *= loop.size;
  if (batch != 1)
    return std::nullopt;
  bool transposesA = false, transposesB = false;
  if (auto linear = dyn_cast<LinearOp>(op))
    transposesB = linear.getTransposed();
  if (auto matmul = dyn_cast<MatmulOp>(op)) {
    transposesA = matmul.getTransposeA();
    transposesB = matmul.getTransposeB();
  }
  return EpilogueProduct{n, {transposesA ? m : k, transposesB ? k : n, n}};
}

bool hasVectorRows(int64_t columns, ArrayRef<int64_t> strides) {
  auto isVectors = [](int64_t size) { return size % kVectorElements == 0; };
  return isVectors(columns) && llvm::all_of(strides, isVectors);
}

std::optional<Epilogue> readEpilogue(Value product, int64_t columns, ArrayRef<Operation *> kernel) {
  return Reader(product, columns, kernel).read();
}

} // namespace dtc::graph
