// Splits long sums into two steps, so that a GPU uses all its multiprocessors for them (pass
// dtc-split-sums).
#include "dialects/graph/EightBitOps.h"
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/GradientOps.h"
#include "dialects/graph/HostMemory.h"
#include "dialects/graph/OptimizerOps.h"
#include "dialects/graph/PartOps.h"
#include "dialects/graph/ShapeOps.h"
#include "passes/codegen/Passes.h"
#include "passes/codegen/SumParts.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

namespace dtc {
#define GEN_PASS_DEF_SPLITSUMS
#include "passes/codegen/Passes.h.inc"
} // namespace dtc

using namespace mlir;
using namespace dtc;
using namespace dtc::graph;

namespace {

// Most tensors whose squares one launch adds up, and most partial results that one launch combines:
// each is a parameter of the kernel.
constexpr size_t mostTensors = 16, mostSums = 32;

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

RankedTensorType partsOf(int64_t parts, ArrayRef<int64_t> shape, MLIRContext *context) {
  SmallVector<int64_t> sizes{parts};
  sizes.append(shape.begin(), shape.end());
  return RankedTensorType::get(sizes, Float32Type::get(context));
}

// Copies the labels of an op: its chunk of a pipeline, and the sums of which its results are
// partial. `to` has as many results.
void copyLabels(Operation *from, Operation *to) {
  for (NamedAttribute attribute : from->getDiscardableAttrs())
    to->setAttr(attribute.getName(), attribute.getValue());
}

// Replaces the results of `op` by the sums of the results of `parts`.
void replaceBySum(Operation *op, Operation *parts, double scale) {
  OpBuilder builder(op);
  auto sum = SumPartsOp::create(builder, op->getLoc(), op->getResultTypes(), parts->getResults(),
                                llvm::APFloat(scale));
  copyLabels(op, parts);
  copyLabels(op, sum);
  op->replaceAllUsesWith(sum);
  op->erase();
}

// True for a sum over the first dims that keeps the others.
bool sumsRows(ReduceOp op) {
  for (auto [at, dim] : llvm::enumerate(op.getDims()))
    if (dim != static_cast<int64_t>(at))
      return false;
  return op.getKind() != ReduceKind::Max && op.getType().getRank() > 0 &&
         op.getType().getNumElements() > 0;
}

// Cuts the rows into parts; a unit of the undivided sum has `unitColumns` columns.
RowParts cut(Value x, int64_t columns, int64_t unitColumns) {
  int64_t rows = typeOf(x).getNumElements() / columns;
  int64_t units = KernelBuilder::columnUnits(1, columns, unitColumns);
  return {rows, columns, RowParts::partsOf(rows, units)};
}

void splitRows(ReduceOp op) {
  if (!sumsRows(op))
    return;
  RankedTensorType result = op.getType();
  RowParts rows = cut(op.getX(), result.getNumElements(), rowSumColumns);
  if (rows.parts < 2)
    return;
  OpBuilder builder(op);
  auto sums = RowPartSumsOp::create(
      builder, op.getLoc(), partsOf(rows.parts, result.getShape(), op.getContext()), op.getX());
  double scale = op.getScale().convertToDouble();
  if (op.getKind() == ReduceKind::Mean)
    scale /= static_cast<double>(rows.rows);
  replaceBySum(op, sums, scale);
}

// Splits the parameter gradients of layer_norm, or of rms_norm if `mean` is null.
void splitNorm(Operation *op, Value x, Value mean, Value rstd, Value dy) {
  int64_t columns = typeOf(x).getShape().back();
  if (columns == 0)
    return;
  RowParts rows = cut(x, columns, normPartColumns);
  if (rows.parts < 2)
    return;
  OpBuilder builder(op);
  SmallVector<Type> types(op->getNumResults(), partsOf(rows.parts, {columns}, op->getContext()));
  auto parts = NormParamGradPartsOp::create(builder, op->getLoc(), types, x, rstd, dy, mean);
  replaceBySum(op, parts, 1);
}

// Makes two steps of the largest magnitude of a long tensor, as every block of a GPU has a result
// of its own. A maximum is the same in any order.
void splitAmax(AmaxOp op) {
  constexpr int64_t leastElements = 4096; // of a part, which are 16 loads a thread
  RankedTensorType x = typeOf(op.getX());
  int64_t size = x.getNumElements(), parts = std::gcd(size, wantedSumBlocks);
  while (parts > 1 && size / parts < leastElements)
    parts /= 2;
  if (parts < 2 || typeOf(op.getResult()).getRank() > 0)
    return;
  OpBuilder builder(op);
  auto cut = ReshapeOp::create(builder, op.getLoc(),
                               RankedTensorType::get({parts, size / parts}, x.getElementType()),
                               op.getX());
  auto first =
      AmaxOp::create(builder, op.getLoc(), partsOf(parts, {}, op.getContext()), cut.getResult());
  copyLabels(op, cut);
  copyLabels(op, first);
  op.getXMutable().assign(first.getResult());
}

// The properties that tensors must share to have their squares added up together: element type and
// labels.
using Likeness = std::pair<Type, Attribute>;

bool isScalar(Value value) { return typeOf(value).getRank() == 0; }

// Adds up the squares of several tensors in a few launches and one more, if only their sum is used.
class SquaresSplitter {
public:
  explicit SquaresSplitter(Block &block) : block(block) {}

  void run() {
    SmallVector<AddOp> roots;
    for (auto add : block.getOps<AddOp>())
      if (isScalar(add.getResult()) && !isWithin(add))
        roots.push_back(add);
    for (AddOp root : roots)
      splitSum(root);
    for (Operation &op : llvm::make_early_inc_range(block))
      if (auto squares = dyn_cast<SumSquaresOp>(op); squares && canSplit(squares))
        if (ChunkedSum::chunksOf(typeOf(squares.getX()).getNumElements()) > 1) {
          OpBuilder builder(squares);
          squares.getResult().replaceAllUsesWith(addSquares(builder, squares));
          squares.erase();
        }
  }

private:
  static bool canSplit(SumSquaresOp op) {
    return !op->hasAttr(kHostAttr) && !op.getResult().use_empty() &&
           typeOf(op.getX()).getNumElements() > 0;
  }

  // True if the only use of the sum is another scalar sum with the same labels.
  static bool isWithin(AddOp add) {
    return add.getResult().hasOneUse() && isScalar(add.getResult()) &&
           isa<AddOp>(*add->user_begin()) && isEquivalent(add, *add->user_begin());
  }
  static bool isEquivalent(Operation *a, Operation *b) {
    return a->getDiscardableAttrDictionary() == b->getDiscardableAttrDictionary() &&
           a->getBlock() == b->getBlock();
  }

  static void collect(Value value, SmallVectorImpl<Value> &addends,
                      SmallVectorImpl<AddOp> &within) {
    auto add = value.getDefiningOp<AddOp>();
    if (!add || !isWithin(add)) {
      addends.push_back(value);
      return;
    }
    within.push_back(add);
    collect(add.getLhs(), addends, within);
    collect(add.getRhs(), addends, within);
  }

  void splitSum(AddOp root) {
    SmallVector<Value> addends, others;
    SmallVector<AddOp> within;
    collect(root.getLhs(), addends, within);
    collect(root.getRhs(), addends, within);
    llvm::MapVector<Likeness, SmallVector<SumSquaresOp>> groups;
    for (Value addend : addends) {
      auto squares = addend.getDefiningOp<SumSquaresOp>();
      if (squares && canSplit(squares) && addend.hasOneUse() && squares->getBlock() == &block)
        groups[{typeOf(squares.getX()).getElementType(), squares->getDiscardableAttrDictionary()}]
            .push_back(squares);
      else
        others.push_back(addend);
    }
    if (llvm::all_of(groups, [](auto &entry) { return entry.second.size() < 2; }))
      return;
    OpBuilder builder(root);
    for (auto &entry : groups)
      others.push_back(addSquares(builder, entry.second));
    Value sum = others.front();
    for (Value other : ArrayRef(others).drop_front()) {
      sum = AddOp::create(builder, root.getLoc(), root.getResult().getType(), sum, other);
      copyLabels(root, sum.getDefiningOp());
    }
    root.getResult().replaceAllUsesWith(sum);
    root.erase();
    for (AddOp add : within)
      add.erase();
    for (auto &entry : groups)
      for (SumSquaresOp squares : entry.second)
        squares.erase();
  }

  // Returns the sum of the squares of all tensors of `ops`, created at the insertion point of
  // `builder`.
  static Value addSquares(OpBuilder &builder, ArrayRef<SumSquaresOp> ops) {
    SmallVector<Value> sums;
    for (ArrayRef<SumSquaresOp> left = ops; !left.empty();) {
      ArrayRef<SumSquaresOp> some = left.take_front(mostTensors);
      left = left.drop_front(some.size());
      sums.push_back(addChunks(some));
    }
    Value total;
    for (ArrayRef<Value> left = sums; !left.empty();) {
      ArrayRef<Value> some = left.take_front(mostSums);
      left = left.drop_front(some.size());
      SumSquaresOp first = ops.front();
      Value sum = SumChunksOp::create(builder, first.getLoc(), some);
      copyLabels(first, sum.getDefiningOp());
      if (total) {
        total = AddOp::create(builder, first.getLoc(), sum.getType(), total, sum);
        copyLabels(first, total.getDefiningOp());
      } else {
        total = sum;
      }
    }
    return total;
  }

  // Adds up the squares of the tensors chunk by chunk, right after the last of them is available.
  static Value addChunks(ArrayRef<SumSquaresOp> ops) {
    SumSquaresOp last = ops.front(), first = ops.front();
    SmallVector<Value> tensors;
    SmallVector<int64_t> chunks;
    SmallVector<Location> locations;
    int64_t count = 0;
    for (SumSquaresOp op : ops) {
      if (last->isBeforeInBlock(op))
        last = op;
      tensors.push_back(op.getX());
      chunks.push_back(ChunkedSum::chunksOf(typeOf(op.getX()).getNumElements()));
      count += chunks.back();
      locations.push_back(op.getLoc());
    }
    OpBuilder builder(last);
    auto type = RankedTensorType::get({llvm::divideCeilSigned(count, 4) * 4}, builder.getF32Type());
    auto sums =
        ChunkSquaresOp::create(builder, builder.getFusedLoc(locations), type, tensors, chunks);
    copyLabels(first, sums);
    return sums.getResult();
  }

  Block &block;
};

struct SplitSums : dtc::impl::SplitSumsBase<SplitSums> {
  static void splitRowsOf(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (op.hasAttr(kHostAttr))
        continue;
      if (auto reduce = dyn_cast<ReduceOp>(op))
        splitRows(reduce);
      else if (auto amax = dyn_cast<AmaxOp>(op))
        splitAmax(amax);
      else if (auto layer = dyn_cast<LayerNormParamGradOp>(op))
        splitNorm(layer, layer.getX(), layer.getMean(), layer.getRstd(), layer.getDy());
      else if (auto rms = dyn_cast<RmsNormParamGradOp>(op))
        splitNorm(rms, rms.getX(), nullptr, rms.getRstd(), rms.getDy());
    }
  }

  void runOnOperation() override {
    for (FuncOp func : getOperation().getOps<FuncOp>()) {
      if (func.getKernel() || func.isExternal())
        continue;
      Block &block = func.getBody().front();
      splitRowsOf(block);
      SquaresSplitter(block).run();
    }
  }
};

} // namespace
