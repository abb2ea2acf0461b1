// Draws random numbers in one function that all kernels of a module call: ten rounds of Philox are
// as much machine code as the rest of a kernel, and take as long to compile.
#include "passes/codegen/RandomWords.h"
#include "dialects/graph/ElementwiseOps.h"

#include "dialects/graph/Philox.h"
#include "dialects/graph/Points.h"
#include "dialects/graph/RandomOps.h"
#include "dialects/graph/ShapeOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace dtc;
using namespace dtc::graph;

namespace {

class RandomWords {
public:
  explicit RandomWords(ModuleOp module) : module(module) {}

  void replace(RandomWordOp op) {
    ImplicitLocOpBuilder b(op.getLoc(), op);
    op.replaceAllUsesWith(drawLanes(b, op));
    op.erase();
  }

private:
  // Returns the scalar behind a splat: stream, step and key are the same in all lanes.
  static Value sameInAllLanes(Value value) {
    auto splat = value.getDefiningOp<vector::BroadcastOp>();
    assert(splat && "bodies draw all their numbers from one stream, in one step");
    return splat.getSource();
  }

  // Draws the words of all lanes, one call per randomLanes of them; the last call may have unused
  // lanes. The element's index is always a vector, because it differs along rows.
  Value drawLanes(ImplicitLocOpBuilder &b, RandomWordOp op) {
    int64_t lanes = cast<VectorType>(op.getElement().getType()).getNumElements();
    int64_t padded = llvm::alignTo(lanes, randomLanes);
    Value elements = resize(b, op.getElement(), padded);
    Value words = zeros(b, VectorType::get({padded}, b.getI32Type()));
    for (int64_t first = 0; first < padded; first += randomLanes) {
      Value part = vector::ExtractStridedSliceOp::create(b, elements, first, randomLanes, 1);
      Value drawn =
          func::CallOp::create(b, getFunction(),
                               {part, sameInAllLanes(op.getStream()), sameInAllLanes(op.getStep()),
                                sameInAllLanes(op.getKey())})
              .getResult(0);
      words = vector::InsertStridedSliceOp::create(b, drawn, words, first, 1);
    }
    return resize(b, words, lanes);
  }

  static Value zeros(ImplicitLocOpBuilder &b, VectorType type) {
    return arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(type)));
  }
  static Value resize(ImplicitLocOpBuilder &b, Value vector, int64_t lanes) {
    auto type = cast<VectorType>(vector.getType());
    if (lanes < type.getNumElements())
      return vector::ExtractStridedSliceOp::create(b, vector, 0, lanes, 1);
    if (lanes == type.getNumElements())
      return vector;
    Value wide = zeros(b, VectorType::get({lanes}, type.getElementType()));
    return vector::InsertStridedSliceOp::create(b, vector, wide, 0, 1);
  }

  // Returns random_words(element of each lane, stream, step, key), creating it at first use.
  func::FuncOp getFunction() {
    if (function)
      return function;
    ImplicitLocOpBuilder b(module.getLoc(), module.getContext());
    b.setInsertionPointToEnd(module.getBody());
    Type i32 = b.getI32Type(), i64 = b.getI64Type();
    auto elements = VectorType::get({randomLanes}, i64);
    function = func::FuncOp::create(
        b, "random_words",
        b.getFunctionType({elements, i32, i32, i64}, VectorType::get({randomLanes}, i32)));
    function->setAttr("passthrough", b.getStrArrayAttr({"noinline"}));
    function->setAttr("llvm.linkage",
                      LLVM::LinkageAttr::get(b.getContext(), LLVM::Linkage::Internal));
    function.setPrivate();
    b.setInsertionPointToStart(function.addEntryBlock());
    auto splat = [&](Value number) -> Value {
      if (number.getType() != i64)
        number = arith::ExtUIOp::create(b, i64, number);
      return vector::BroadcastOp::create(b, elements, number);
    };
    auto arguments = function.getArguments();
    Value half = splat(arith::ConstantOp::create(b, b.getI64IntegerAttr(32)));
    Value high = arith::ShRUIOp::create(b, arguments[0], half);
    func::ReturnOp::create(
        b, buildPhilox(b, splat(arguments[3]),
                       {arguments[0], high, splat(arguments[1]), splat(arguments[2])}));
    return function;
  }

  ModuleOp module;
  func::FuncOp function;
};

// Draws the words of all lanes inline.
Value drawInline(RandomWordOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Type wide = op.getElement().getType();
  auto widen = [&](Value number) -> Value { return arith::ExtUIOp::create(b, wide, number); };
  Value half = arith::ConstantOp::create(
      b, isa<VectorType>(wide) ? TypedAttr(DenseElementsAttr::get(
                                     cast<ShapedType>(wide), b.getI64IntegerAttr(32).getValue()))
                               : TypedAttr(b.getI64IntegerAttr(32)));
  Value high = arith::ShRUIOp::create(b, op.getElement(), half);
  return buildPhilox(b, op.getKey(),
                     {op.getElement(), high, widen(op.getStream()), widen(op.getStep())});
}

} // namespace

void dtc::inlineRandomWords(ModuleOp module) {
  SmallVector<RandomWordOp> ops;
  module.walk([&](RandomWordOp op) { ops.push_back(op); });
  for (RandomWordOp op : ops) {
    op.replaceAllUsesWith(drawInline(op));
    op.erase();
  }
}

void dtc::shareRandomWords(ModuleOp module) {
  RandomWords words(module);
  SmallVector<RandomWordOp> ops;
  module.walk([&](RandomWordOp op) { ops.push_back(op); });
  for (RandomWordOp op : ops)
    words.replace(op);
}
