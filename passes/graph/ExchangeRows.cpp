// Spreads the experts of a model over ranks.
#include "passes/graph/ExchangeRows.h"

#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/ExchangeOps.h"
#include "dialects/graph/RoundAttribute.h"
#include "dialects/graph/RouteOps.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace dtc {
namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

// Dims of blocks: those of ranks split within the experts, those of samples before and behind.
constexpr int64_t kRanksDim = 0, kSamplesDim = 1;

// The rows of one layer of experts.
class LayerExchange {
public:
  LayerExchange(graph::PlaceRowsOp placeRows, const RowExchange &exchange)
      : placeRows(placeRows), ranks(exchange.ranks),
        experts(typeOf(placeRows.getCounts()).getDimSize(1)), builder(placeRows->getContext()) {
    RankedTensorType choices = typeOf(placeRows.getRowOf());
    ofSample = choices.getDimSize(1) * choices.getDimSize(2);
    room = exchange.roomOfBlock(ofSample);
  }

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
    placeRows.setRanks(ranks);
    int64_t numRounds = llvm::divideCeil(ofSample, room);
    SmallVector<Round> rounds;
    for (int64_t round = 0; round < numRounds; ++round)
      rounds.push_back(place(counts, round, numRounds));
    order = rounds.front().order;
    for (OpOperand *use : uses)
      use->set(rounds.front().counts);
    SmallVector<graph::UnpackRowsOp> unpacks;
    for (Operation *user : llvm::make_early_inc_range(placeRows.getRowOf().getUsers()))
      if (auto pack = dyn_cast<graph::PackRowsOp>(user)) {
        pack.getRowOfMutable().assign(rounds.front().rowOf);
        send(pack);
      } else if (auto unpack = dyn_cast<graph::UnpackRowsOp>(user)) {
        unpack.getRowOfMutable().assign(rounds.front().rowOf);
        unpacks.push_back(unpack);
      }
    for (size_t next = 0; next < pending.size(); ++next)
      if (failed(widenUsers(pending[next])))
        return failure();
    for (graph::UnpackRowsOp unpack : unpacks)
      sendBack(unpack);
    if (numRounds > 1 && unpacks.size() > 1)
      return placeRows.emitOpError("has rows that are unpacked ")
             << unpacks.size()
             << " times, which further rounds can't do; use --fix expert_room=" << ranks
             << ", which has room for all rows";
    for (const Round &later : llvm::drop_begin(rounds))
      if (!unpacks.empty())
        repeat(rounds.front(), later, unpacks.front());
    return success();
  }

private:
  // The rows that one exchange takes: their rows in its blocks, how many they are by expert, and
  // their order there.
  struct Round {
    Value rowOf, counts, order;
  };

  Round place(Value counts, int64_t round, int64_t numRounds) {
    Location loc = placeRows.getLoc();
    Round placed{placeRows.getRowOf(), counts, {}};
    if (numRounds > 1) {
      placed.rowOf = graph::RoundRowsOp::create(builder, loc, placeRows.getRowOf(), round, room);
      placed.counts =
          graph::RoundCountsOp::create(builder, loc, counts, experts / ranks, round, room);
    }
    RankedTensorType choices = typeOf(placed.rowOf);
    placed.order = graph::PlaceBlocksOp::create(
        builder, loc, choices.clone({ranks, choices.getDimSize(0), room}), placed.counts);
    return placed;
  }

  // Computes the same of the rows of another round, and adds up the tokens. A round is in one
  // piece, behind the one before, so that only one of them is in memory.
  void repeat(const Round &first, const Round &later, graph::UnpackRowsOp unpack) {
    IRMapping mapping;
    mapping.map(first.rowOf, later.rowOf);
    mapping.map(first.counts, later.counts);
    mapping.map(first.order, later.order);
    Value before = sum ? sum : unpack.getResult();
    builder.setInsertionPointAfter(before.getDefiningOp());
    for (Operation *op : opsOf(first, unpack))
      builder.clone(*op, mapping)->setAttr(graph::kLaterRoundAttr, builder.getUnitAttr());
    auto added = graph::AddOp::create(builder, unpack.getLoc(), unpack.getType(), before,
                                      mapping.lookup(unpack.getResult()));
    before.replaceAllUsesExcept(added.getResult(), added);
    added->setAttr(graph::kLaterRoundAttr, builder.getUnitAttr());
    sum = added.getResult();
  }

  // Returns the ops of a round from packing to unpacking, in order.
  static SmallVector<Operation *> opsOf(const Round &round, graph::UnpackRowsOp unpack) {
    llvm::DenseSet<Value> rows;
    SmallVector<Operation *> ops;
    for (Operation &op : *unpack->getBlock()) {
      auto pack = dyn_cast<graph::PackRowsOp>(op);
      bool isOf = (pack && pack.getRowOf() == round.rowOf) ||
                  llvm::any_of(op.getOperands(), [&](Value of) { return rows.contains(of); });
      if (isOf) {
        ops.push_back(&op);
        rows.insert(op.result_begin(), op.result_end());
      }
      if (&op == unpack.getOperation())
        break;
    }
    return ops;
  }

  RankedTensorType blocksOf(RankedTensorType rows) const {
    return rows.clone({ranks, rows.getDimSize(1), room, rows.getDimSize(3)});
  }
  // The mean of rows of each expert and sample for which there is room.
  int64_t widenedMean() const { return llvm::divideCeil(ranks * room, experts); }
  RankedTensorType widened(RankedTensorType rows) const {
    SmallVector<int64_t> shape(rows.getShape());
    shape[2] = widenedMean();
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
        if (isOp && shape.size() > 2 && shape[2] == widenedMean())
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
  int64_t ranks, experts, ofSample = 0, room = 0, samples = 0, mean = 0;
  OpBuilder builder;
  Value order;                // graph.place_blocks of the first round
  Value sum;                  // tokens of the rounds so far
  SmallVector<Value> pending; // rows whose users have the old shape
};

} // namespace

int64_t RowExchange::roomOfBlock(int64_t choices) const {
  if (roomPerMille == 0)
    return choices;
  return std::clamp<int64_t>(llvm::divideCeil(roomPerMille * choices, 1000 * ranks), 1, choices);
}

LogicalResult exchangeRows(ModuleOp model, const RowExchange &exchange) {
  SmallVector<graph::PlaceRowsOp> allPlaceRows;
  model.walk([&](graph::PlaceRowsOp placeRows) { allPlaceRows.push_back(placeRows); });
  for (graph::PlaceRowsOp placeRows : allPlaceRows)
    if (failed(LayerExchange(placeRows, exchange).run()))
      return failure();
  return success();
}

} // namespace dtc
