// Spreads the experts of a model over ranks.
#include "passes/graph/ExchangeRows.h"

#include "dialects/graph/ExchangeOps.h"
#include "dialects/graph/RouteOps.h"

using namespace mlir;

namespace dtc {
namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

// Dims of blocks: those of ranks split within the experts, those of samples before and behind.
constexpr int64_t kRanksDim = 0, kSamplesDim = 1;

// The rows of one layer of experts.
class LayerExchange {
public:
  LayerExchange(graph::PlaceRowsOp placeRows, int64_t ranks)
      : placeRows(placeRows), ranks(ranks), experts(typeOf(placeRows.getCounts()).getDimSize(1)),
        builder(placeRows->getContext()) {}

  LogicalResult run() {
    if (experts % ranks != 0)
      return placeRows.emitOpError("has ")
             << experts << " experts, which ep = " << ranks << " does not divide";
    builder.setInsertionPointAfter(placeRows);
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : placeRows.getCounts().getUses())
      if (isa<graph::GroupedLinearOp>(use.getOwner()))
        uses.push_back(&use);
    Location loc = placeRows.getLoc();
    // A rank's experts have the counts of all samples of its group.
    Value counts = graph::ExchangeOp::create(builder, loc, placeRows.getCounts(), 0, 1);
    for (OpOperand *use : uses)
      use->set(counts);
    RankedTensorType choices = typeOf(placeRows.getRowOf());
    rowsOfBlock = choices.getDimSize(1) * choices.getDimSize(2);
    order = graph::PlaceBlocksOp::create(
        builder, loc, choices.clone({ranks, choices.getDimSize(0), rowsOfBlock}), counts);
    placeRows.setRanks(ranks);
    for (Operation *user : llvm::make_early_inc_range(placeRows.getRowOf().getUsers()))
      if (auto pack = dyn_cast<graph::PackRowsOp>(user))
        send(pack);
    for (size_t next = 0; next < pending.size(); ++next)
      if (failed(widenUsers(pending[next])))
        return failure();
    for (Operation *user : llvm::make_early_inc_range(placeRows.getRowOf().getUsers()))
      if (auto unpack = dyn_cast<graph::UnpackRowsOp>(user))
        sendBack(unpack);
    return success();
  }

private:
  RankedTensorType blocksOf(RankedTensorType rows) const {
    return rows.clone({ranks, rows.getDimSize(1), rowsOfBlock, rows.getDimSize(3)});
  }
  RankedTensorType widened(RankedTensorType rows) const {
    SmallVector<int64_t> shape(rows.getShape());
    shape[2] *= ranks;
    return rows.clone(shape);
  }

  void send(graph::PackRowsOp pack) {
    RankedTensorType rows = pack.getType();
    samples = rows.getDimSize(1);
    mean = rows.getDimSize(2);
    pack.setBlocks(true);
    pack.getResult().setType(blocksOf(rows));
    builder.setInsertionPointAfter(pack);
    Location loc = pack.getLoc();
    auto received =
        graph::ExchangeOp::create(builder, loc, pack.getResult(), kSamplesDim, kRanksDim);
    Value sorted = graph::SortRowsOp::create(builder, loc, widened(rows), received, order);
    pack.getResult().replaceAllUsesExcept(sorted, received);
    pending.push_back(sorted);
  }

  void sendBack(graph::UnpackRowsOp unpack) {
    builder.setInsertionPoint(unpack);
    Location loc = unpack.getLoc();
    Value rows = unpack.getRows();
    Value blocks = graph::UnsortRowsOp::create(builder, loc, blocksOf(typeOf(rows)), rows, order);
    unpack.getRowsMutable().assign(
        graph::ExchangeOp::create(builder, loc, blocks, kRanksDim, kSamplesDim));
    unpack.setBlocks(true);
  }

  // Gives the results of what reads rows as many rows.
  LogicalResult widenUsers(Value rows) {
    for (Operation *user : rows.getUsers()) {
      if (isa<graph::UnpackRowsOp>(user))
        continue;
      bool isOp = isa<graph::RuleOpInterface>(user);
      for (Value result : user->getResults()) {
        RankedTensorType type = typeOf(result);
        ArrayRef<int64_t> shape = type.getShape();
        if (isOp && shape.size() > 2 && shape[2] == mean * ranks)
          continue; // widened as the user of another operand
        if (!isOp || shape.size() < 3 || shape[0] != experts || shape[1] != samples ||
            shape[2] != mean)
          return user->emitOpError("reads rows of experts, which are on ")
                 << ranks << " ranks, and does not keep their shape; use ep = 1";
        result.setType(widened(type));
        pending.push_back(result);
      }
      if (user->getNumResults() == 0)
        return user->emitOpError("takes rows of experts out of their block; use ep = 1");
    }
    return success();
  }

  graph::PlaceRowsOp placeRows;
  int64_t ranks, experts, samples = 0, mean = 0, rowsOfBlock = 0;
  OpBuilder builder;
  Value order;                // graph.place_blocks
  SmallVector<Value> pending; // rows whose users have the old shape
};

} // namespace

LogicalResult exchangeRows(ModuleOp model, int64_t ranks) {
  SmallVector<graph::PlaceRowsOp> allPlaceRows;
  model.walk([&](graph::PlaceRowsOp placeRows) { allPlaceRows.push_back(placeRows); });
  for (graph::PlaceRowsOp placeRows : allPlaceRows)
    if (failed(LayerExchange(placeRows, ranks).run()))
      return failure();
  return success();
}

} // namespace dtc
