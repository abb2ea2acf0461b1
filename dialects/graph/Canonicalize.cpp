// Canonicalization patterns: joins the gradients of a split linear into one concat and removes
// unneeded dims and operands.
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/RoundAttribute.h"
#include "dialects/graph/ShapeOps.h"
#include "dialects/graph/Verify.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace dtc::graph;

namespace {

// Collects the pads that a tree of adds joins; every add below the root must have no other use.
// Looks at a side that is no add first, so that a long sum of other values is left at the first.
bool collectPads(Value value, bool isRoot, SmallVectorImpl<PadOp> &pads) {
  if (auto pad = value.getDefiningOp<PadOp>()) {
    pads.push_back(pad);
    return true;
  }
  auto add = value.getDefiningOp<AddOp>();
  if (!add || (!isRoot && !add->hasOneUse()) || add.getLhs().getType() != add.getType() ||
      add.getRhs().getType() != add.getType())
    return false;
  Value first = add.getLhs(), second = add.getRhs();
  if (first.getDefiningOp<AddOp>())
    std::swap(first, second);
  return collectPads(first, false, pads) && collectPads(second, false, pads);
}

// Replaces an op by a concat, which is of the same round of rows of experts.
void replaceByConcat(Operation *op, ValueRange parts, int64_t dim, bool stack,
                     PatternRewriter &rewriter) {
  Attribute later = op->getAttr(kLaterRoundAttr);
  auto concat =
      rewriter.replaceOpWithNewOp<ConcatOp>(op, op->getResult(0).getType(), parts, dim, stack);
  if (later)
    concat->setAttr(kLaterRoundAttr, later);
}

// Returns y if x is y with a dim of size 1 inserted at `dim` by a reshape; else null.
Value withoutUnitDim(Value x, int64_t dim) {
  auto reshape = x.getDefiningOp<ReshapeOp>();
  if (!reshape)
    return {};
  SmallVector<int64_t> shape(tensorType(x).getShape());
  if (shape[dim] != 1)
    return {};
  shape.erase(shape.begin() + dim);
  Value y = reshape.getX();
  return tensorType(y).getShape() == ArrayRef<int64_t>(shape) ? y : Value();
}

// Rewrites add(add(pad a, pad b), pad c) of parts that fill a dim one after the other to concat(a,
// b, c).
struct JoinPads : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AddOp op, PatternRewriter &rewriter) const override {
    SmallVector<PadOp> pads;
    if (!collectPads(op.getResult(), /*isRoot=*/true, pads))
      return rewriter.notifyMatchFailure(op, "adds something else than pads");
    llvm::sort(pads, [](PadOp a, PadOp b) { return a.getLow() < b.getLow(); });
    int64_t dim = pads[0].getDim(), filled = 0;
    for (PadOp pad : pads) {
      if (static_cast<int64_t>(pad.getDim()) != dim)
        return rewriter.notifyMatchFailure(op, "pads different dims");
      if (static_cast<int64_t>(pad.getLow()) != filled)
        return rewriter.notifyMatchFailure(op, "parts overlap or leave a gap");
      filled += tensorType(pad.getX()).getDimSize(dim);
    }
    if (filled != op.getType().getDimSize(dim))
      return rewriter.notifyMatchFailure(op, "parts leave a gap at the end");
    SmallVector<Value> parts;
    for (PadOp pad : pads)
      parts.push_back(pad.getX());
    replaceByConcat(op, parts, dim, /*stack=*/false, rewriter);
    return success();
  }
};

// Rewrites a concat of tensors that all got a dim of size 1 to a stack of the tensors.
struct StackUnitDims : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConcatOp op, PatternRewriter &rewriter) const override {
    if (op.getStack())
      return rewriter.notifyMatchFailure(op, "is a stack");
    SmallVector<Value> parts;
    for (Value input : op.getInputs()) {
      parts.push_back(withoutUnitDim(input, op.getDim()));
      if (!parts.back())
        return rewriter.notifyMatchFailure(op, "an input was not given a dim of size 1");
    }
    replaceByConcat(op, parts, op.getDim(), /*stack=*/true, rewriter);
    return success();
  }
};

// Replaces a concat of one tensor by that tensor.
struct DropSingleConcat : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConcatOp op, PatternRewriter &rewriter) const override {
    if (op.getInputs().size() != 1)
      return rewriter.notifyMatchFailure(op, "joins several tensors");
    if (op.getStack())
      rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getInputs()[0]);
    else
      rewriter.replaceOp(op, op.getInputs()[0]);
    return success();
  }
};

// Rewrites a multiplication by a constant of no more dims to a scale.
struct ScaleByConstant : OpRewritePattern<MultiplyOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MultiplyOp op, PatternRewriter &rewriter) const override {
    auto constant = op.getRhs().getDefiningOp<ConstantOp>(); // commutative ops have constants last
    if (!constant || op.getLhs().getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "does not scale the left side by a constant");
    rewriter.replaceOpWithNewOp<ScaleOp>(op, op.getLhs(), constant.getValueAttr());
    return success();
  }
};

// Removes `like`, which gives the size of a dynamic batch, if the batch has a known size.
struct DropLike : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BroadcastOp op, PatternRewriter &rewriter) const override {
    bool needed = op.getType().getRank() > 0 && op.getType().isDynamicDim(0) &&
                  llvm::is_contained(op.getDims(), 0);
    if (!op.getLike() || needed)
      return rewriter.notifyMatchFailure(op, "has no 'like' or needs it");
    rewriter.modifyOpInPlace(op, [&] { op.getLikeMutable().clear(); });
    return success();
  }
};

} // namespace

void AddOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<JoinPads>(context);
}

void MultiplyOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<ScaleByConstant>(context);
}

void ConcatOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<StackUnitDims, DropSingleConcat>(context);
}

void BroadcastOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropLike>(context);
}
