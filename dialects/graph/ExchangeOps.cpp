// Checks, rules and gradients of rows of experts that are on several ranks.
#include "dialects/graph/ExchangeOps.h"

#include "dialects/graph/Gradients.h"
#include "dialects/graph/RuleBuilder.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

#define GET_OP_CLASSES
#include "dialects/graph/ExchangeOps.cpp.inc"

namespace {

LogicalResult checkI32(Operation *op, StringRef name, Value value) {
  Type type = getElementTypeOrSelf(value);
  if (type.isInteger(32))
    return success();
  return op->emitOpError() << "'" << name << "' has element type " << type << ", but i32 is wanted";
}

// Checks that all dims but the second, the batch, are static, and that there is something.
LogicalResult checkStatic(Operation *op, StringRef name, RankedTensorType type) {
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (dim != 1 && (type.isDynamicDim(dim) || type.getDimSize(dim) < 1))
      return op->emitOpError() << "dim " << dim << " of '" << name
                               << "' is dynamic or empty; only the batch may be dynamic";
  return success();
}

// Checks the tensors that sorting and unsorting share.
LogicalResult checkSorted(Operation *op, StringRef blocksName, RankedTensorType blocks,
                          Value indicesValue, StringRef rowsName, RankedTensorType rows) {
  RankedTensorType rowOf = tensorType(indicesValue);
  if (failed(checkNumDims(op, blocksName, blocks, 4)) ||                            // sort_rows_c1
      failed(checkStatic(op, blocksName, blocks)) ||                                // sort_rows_c1
      failed(DimList().dims(blocksName, blocks, 0, 3).check(op, "rowOf", rowOf)) || // sort_rows_c2
      failed(checkI32(op, "rowOf", indicesValue)) ||                                // sort_rows_c2
      failed(checkNumDims(op, rowsName, rows, 4)) ||                                // sort_rows_c3
      failed(checkStatic(op, rowsName, rows)) ||                                    // sort_rows_c3
      failed(checkSameElement(op, rowsName, rows, blocksName, blocks)) ||           // sort_rows_c3
      failed(DimList()
                 .dims(rowsName, rows, 0, 1)
                 .dims(blocksName, blocks, 1, 2)
                 .dims(rowsName, rows, 2, 3)
                 .dims(blocksName, blocks, 3, 4)
                 .check(op, rowsName, rows))) // sort_rows_c3
    return failure();
  int64_t ranks = blocks.getDimSize(0), experts = rows.getDimSize(0);
  if (experts % ranks != 0) // sort_rows_c3
    return op->emitOpError() << "has " << experts << " experts, which " << ranks
                             << " ranks do not divide";
  if (experts * rows.getDimSize(2) < ranks * blocks.getDimSize(2)) // sort_rows_c4
    return op->emitOpError() << "'" << rowsName << "' has " << experts * rows.getDimSize(2)
                             << " rows for each sample, but blocks have "
                             << ranks * blocks.getDimSize(2);
  return success();
}

// The loops of blocks and of rows by expert: ranks, experts of a rank, sample, row, column. A row
// is elsewhere in either, so loops over rows are whole.
struct SortedLoops {
  SortedLoops(RuleBuilder &builder, RankedTensorType blocks, RankedTensorType rows) {
    int64_t ranks = blocks.getDimSize(0);
    DimLoops rank = builder.loop(ranks), sample = builder.loop(blocks.getDimSize(1)),
             position = builder.loop(blocks.getDimSize(2), LoopKind::Whole),
             expert =
                 builder.loop(rows.getDimSize(0) / std::max<int64_t>(1, ranks), LoopKind::Whole),
             row = builder.loop(rows.getDimSize(2), LoopKind::Whole),
             column = builder.loop(blocks.getDimSize(3));
    DimLoops experts{rank[0], expert[0]};
    ofIndices = {rank, sample, position};
    ofBlocks = {rank, sample, position, column};
    ofRows = {experts, sample, row, column};
    builder.channels({column});
  }
  TensorLoops ofBlocks, ofIndices, ofRows;

  OpRule finish(RuleBuilder &builder) const {
    OpRule rule = builder.flops(0).zeroPreserving().linearBut(1).take();
    rule.expertLoops = {ofIndices[0][0]};
    return rule;
  }
};

} // namespace

LogicalResult ExchangeOp::verify() {
  int64_t dims = tensorType(getX()).getRank();
  auto from = static_cast<int64_t>(getFrom()), to = static_cast<int64_t>(getTo());
  if (from >= 0 && from < dims && to >= 0 && to < dims && from != to) // exchange_c1
    return success();
  return emitOpError() << "moves a split from dim " << from << " to dim " << to << " of " << dims
                       << ", but two of them are wanted";
}

LogicalResult RoundRowsOp::verify() {
  RankedTensorType rowOf = getType();
  if (failed(checkNumDims(*this, "rowOf", rowOf, 3)) || // round_rows_c1
      failed(checkI32(*this, "rowOf", getRowOf())))     // round_rows_c1
    return failure();
  for (int64_t dim : {1, 2})
    if (rowOf.isDynamicDim(dim)) // round_rows_c1
      return emitOpError() << "dim " << dim << " of 'rowOf' is dynamic; only the batch may be";
  int64_t choices = rowOf.getDimSize(1) * rowOf.getDimSize(2);
  auto room = static_cast<int64_t>(getRoom()), round = static_cast<int64_t>(getRound());
  if (room < 1 || room > choices || round < 0 || round * room >= choices) // round_rows_c2
    return emitOpError() << "is for round " << round << " of blocks with room for " << room
                         << " rows, but room for 1 to all " << choices
                         << " choices of a sample is wanted, and a round that has some of them";
  return success();
}

LogicalResult RoundCountsOp::verify() {
  RankedTensorType counts = getType();
  auto experts = static_cast<int64_t>(getExperts());
  if (failed(checkNumDims(*this, "counts", counts, 2)) || // round_counts_c1
      failed(checkI32(*this, "counts", getCounts())))     // round_counts_c1
    return failure();
  if (counts.isDynamicDim(1) || experts < 1 || counts.getDimSize(1) % experts != 0)
    return emitOpError() << "is for " << experts // round_counts_c1
                         << " experts on a rank, but a divisor of their number is wanted";
  auto room = static_cast<int64_t>(getRoom()), round = static_cast<int64_t>(getRound());
  if (room < 1 || round < 0) // round_counts_c2
    return emitOpError() << "is for round " << round << " of blocks with room for " << room
                         << " rows, but a round from 0 on and room for 1 or more are wanted";
  return success();
}

LogicalResult PlaceBlocksOp::verify() {
  RankedTensorType counts = tensorType(getCounts()), rowOf = getType();
  if (failed(checkNumDims(*this, "counts", counts, 2)) || // place_blocks_c1
      failed(checkI32(*this, "counts", getCounts())) ||   // place_blocks_c1
      failed(checkNumDims(*this, "result", rowOf, 3)) ||  // place_blocks_c2
      failed(checkStatic(*this, "result", rowOf)) ||      // place_blocks_c2
      failed(DimList()
                 .dims("result", rowOf, 0, 1)
                 .dims("counts", counts, 0, 1)
                 .dims("result", rowOf, 2, 3)
                 .check(*this, "result", rowOf))) // place_blocks_c2
    return failure();
  if (counts.isDynamicDim(1) || counts.getDimSize(1) % rowOf.getDimSize(0) != 0) // place_blocks_c3
    return emitOpError() << "has no number of experts that its " << rowOf.getDimSize(0)
                         << " ranks divide";
  return checkI32(*this, "result", getResult()); // place_blocks_c2
}

LogicalResult SortRowsOp::verify() {
  return checkSorted(*this, "blocks", tensorType(getBlocks()), getRowOf(), "result", getType());
}

LogicalResult UnsortRowsOp::verify() {
  return checkSorted(*this, "result", getType(), getRowOf(), "rows", tensorType(getRows()));
}

// y = x; the loops are the dims, of which placement takes `to` on an axis of experts.
OpRule ExchangeOp::getRule() {
  RuleBuilder builder;
  TensorLoops dims = builder.loops(getX());
  builder.operand(dims).result(dims).flops(0).kind(OpKind::View).zeroPreserving().linear();
  return builder.take();
}

// A block's rows are numbered over all tokens of its sample.
OpRule RoundRowsOp::getRule() {
  RuleBuilder builder;
  TensorLoops b = builder.loops(getRowOf(), 0, 1);
  TensorLoops rest = builder.loops(getRowOf(), 1, 3, LoopKind::Whole);
  builder.operand(b + rest).result(b + rest);
  return builder.sequence({rest[0]}).flops(0).take();
}

OpRule RoundCountsOp::getRule() {
  RuleBuilder builder;
  RankedTensorType counts = getType();
  auto ofRank = static_cast<int64_t>(getExperts());
  DimLoops sample = builder.loop(counts.getDimSize(0)),
           rank = builder.loop(counts.getDimSize(1) / std::max<int64_t>(1, ofRank)),
           expert = builder.loop(ofRank, LoopKind::Whole);
  DimLoops ofRanks{rank[0], expert[0]};
  builder.operand({sample, ofRanks}).result({sample, ofRanks}).flops(0);
  OpRule rule = builder.take();
  rule.expertLoops = {rank[0]};
  return rule;
}

OpRule PlaceBlocksOp::getRule() {
  RuleBuilder builder;
  RankedTensorType rowOf = getType();
  int64_t ranks = rowOf.getDimSize(0), experts = tensorType(getCounts()).getDimSize(1);
  DimLoops rank = builder.loop(ranks), sample = builder.loop(rowOf.getDimSize(1)),
           row = builder.loop(rowOf.getDimSize(2), LoopKind::Whole),
           expert = builder.loop(experts / std::max<int64_t>(1, ranks), LoopKind::Whole);
  DimLoops ofRanks{rank[0], expert[0]};
  builder.operand({sample, ofRanks}).result({rank, sample, row}).flops(0);
  OpRule rule = builder.take();
  rule.expertLoops = {rank[0]};
  return rule;
}

OpRule SortRowsOp::getRule() {
  RuleBuilder builder;
  SortedLoops loops(builder, tensorType(getBlocks()), getType());
  builder.operand(loops.ofBlocks).operand(loops.ofIndices).result(loops.ofRows);
  return loops.finish(builder);
}

OpRule UnsortRowsOp::getRule() {
  RuleBuilder builder;
  SortedLoops loops(builder, getType(), tensorType(getRows()));
  builder.operand(loops.ofRows).operand(loops.ofIndices).result(loops.ofBlocks);
  return loops.finish(builder);
}

LogicalResult ExchangeOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                        ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(1, Value());
  if (needed[0])
    grads[0] = ExchangeOp::create(builder, getLoc(), resultGrads[0], getTo(), getFrom());
  return success();
}

// rows = S blocks, where S selects a row of blocks for each row: dblocks = S^T drows.
LogicalResult SortRowsOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                        ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(2, Value());
  if (failed(refuseOperand(*this, needed, 1, "rowOf")))
    return failure();
  if (needed[0])
    grads[0] =
        UnsortRowsOp::create(builder, getLoc(), getBlocks().getType(), resultGrads[0], getRowOf());
  return success();
}

LogicalResult UnsortRowsOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                          ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(2, Value());
  if (failed(refuseOperand(*this, needed, 1, "rowOf")))
    return failure();
  if (needed[0])
    grads[0] =
        SortRowsOp::create(builder, getLoc(), getRows().getType(), resultGrads[0], getRowOf());
  return success();
}
