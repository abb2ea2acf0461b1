// Finds the parameters that are matrices inside of a model.
#include "passes/graph/HiddenMatrices.h"

#include "dialects/graph/EightBitOps.h"
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/MoeOps.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/RouteOps.h"
#include "passes/graph/OutputProduct.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace dtc {
namespace {

// Follows parameters to the ops that read them.
class MatrixFinder {
public:
  explicit MatrixFinder(ModuleOp module) : module(module) {}

  llvm::StringMap<HiddenMatrix> run() {
    auto main = module.lookupSymbol<graph::FuncOp>(graph::kMicrobatchFunction);
    if (!main)
      main = module.lookupSymbol<graph::FuncOp>(graph::kLossFunction);
    if (main)
      visit(main, SmallVector<StringRef>(main.getNumArguments()));
    for (const auto &entry : others)
      found.erase(entry.getKey());
    return std::move(found);
  }

private:
  // Visits the ops of a function whose arguments are parameters of these names, "" for others.
  void visit(graph::FuncOp func, ArrayRef<StringRef> ofArguments) {
    llvm::DenseMap<Value, StringRef> names;
    for (auto [argument, name] : llvm::zip(func.getArguments(), ofArguments))
      if (!name.empty())
        names[argument] = name;
    for (Operation &op : func.getBody().front().without_terminator()) {
      if (auto get = dyn_cast<graph::GetOp>(op)) {
        if (module.lookupSymbol<graph::ParameterOp>(get.getSymbol()))
          names[get.getResult()] = get.getSymbol();
        continue;
      }
      SmallVector<StringRef> ofOperands =
          llvm::map_to_vector(op.getOperands(), [&](Value value) { return names.lookup(value); });
      if (llvm::all_of(ofOperands, [](StringRef name) { return name.empty(); }) &&
          !isa<graph::BlockCallOpInterface>(op))
        continue;
      if (auto call = dyn_cast<graph::BlockCallOpInterface>(op))
        visit(module.lookupSymbol<graph::FuncOp>(call.getBlockName()), ofOperands);
      else if (isa<graph::AmaxOp>(op)) // the scale of a rounding, which follows
        continue;
      else if (isa<graph::CastOp, graph::QuantiseOp>(op))
        names[op.getResult(0)] = ofOperands[0];
      else
        note(op, ofOperands);
    }
  }

  // Notes how an op reads parameters. The first product that reads a matrix, in the forward pass,
  // says which side of it is the output's.
  void note(Operation &op, ArrayRef<StringRef> ofOperands) {
    constexpr size_t kWeight = 1; // the operand of products
    std::optional<HiddenMatrix> matrix = matrixOf(op);
    for (auto [index, name] : llvm::enumerate(ofOperands)) {
      if (name.empty())
        continue;
      if (matrix && index == kWeight && !isOutputProduct(op))
        found.try_emplace(name, *matrix);
      else
        others.insert(name);
    }
  }

  // Returns the matrix by which an op multiplies, if it has rows and columns.
  static std::optional<HiddenMatrix> matrixOf(Operation &op) {
    HiddenMatrix matrix;
    RankedTensorType type;
    if (auto linear = dyn_cast<graph::LinearOp>(op)) {
      type = cast<RankedTensorType>(linear.getWeight().getType());
      auto inputs = static_cast<int64_t>(linear.getContract());
      matrix = {0, linear.getTransposed() ? type.getRank() - inputs : inputs,
                linear.getTransposed()};
    } else if (auto grouped = dyn_cast<graph::GroupedLinearOp>(op)) {
      constexpr int64_t kRowDims = 3; // of activations: experts, samples and rows of each
      type = cast<RankedTensorType>(grouped.getWeight().getType());
      int64_t inputs = cast<RankedTensorType>(grouped.getX().getType()).getRank() - kRowDims;
      matrix = {1, grouped.getTransposed() ? type.getRank() - 1 - inputs : inputs,
                grouped.getTransposed()};
    } else if (auto experts = dyn_cast<graph::ExpertLinearOp>(op)) {
      type = cast<RankedTensorType>(experts.getWeight().getType());
      matrix = {1, 1, experts.getTransposed()};
    } else {
      return std::nullopt;
    }
    ArrayRef<int64_t> shape = type.getShape();
    if (matrix.rows(shape) < 2 || matrix.columns(shape) < 2)
      return std::nullopt;
    return matrix;
  }

  ModuleOp module;
  llvm::StringMap<HiddenMatrix> found;
  llvm::StringSet<> others; // parameters that something else reads
};

} // namespace

int64_t HiddenMatrix::matrices(ArrayRef<int64_t> shape) const {
  return ShapedType::getNumElements(shape.take_front(static_cast<size_t>(batch)));
}

int64_t HiddenMatrix::rows(ArrayRef<int64_t> shape) const {
  return ShapedType::getNumElements(
      shape.slice(static_cast<size_t>(batch), static_cast<size_t>(rowDims)));
}

int64_t HiddenMatrix::columns(ArrayRef<int64_t> shape) const {
  return ShapedType::getNumElements(shape.drop_front(static_cast<size_t>(batch + rowDims)));
}

llvm::StringMap<HiddenMatrix> hiddenMatricesOf(ModuleOp module) {
  return MatrixFinder(module).run();
}

} // namespace dtc
