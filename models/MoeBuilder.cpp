// Builds mixtures of experts as graph IR.
#include "models/ModelBuilder.h"

#include "dialects/graph/Moe.h"
#include "dialects/graph/MoeOps.h"

using namespace mlir;

namespace dtc {
namespace {

// Rows that an expert has on average for a group. More rows leave fewer tokens without a free row.
constexpr int64_t kRowsPerGroup = 16;
constexpr int64_t kMaxGroups = 64;

// Returns the number of tokens per group. A sequence can be split over as many ranks as it has
// groups, so this makes as many groups as leave each expert some rows.
int64_t chooseGroup(int64_t sequence, int64_t top, int64_t experts) {
  int64_t groups = 1;
  while (groups < kMaxGroups && sequence % (groups * 2) == 0 &&
         sequence / (groups * 2) * top >= experts * kRowsPerGroup)
    groups *= 2;
  return sequence / groups;
}

} // namespace

Routing ModelBuilder::route(Value logits, int64_t top, double capacity) {
  int64_t experts = typeOf(logits).getDimSize(2);
  Routing routing;
  routing.group = chooseGroup(sequence, top, experts);
  routing.capacity = capacity;
  RankedTensorType choices = batched({sequence, top}), perSequence = batched({experts});
  RankedTensorType indices = choices.clone(builder.getI32Type());
  as({"weights", "experts", "slots", "load", "importance"});
  auto router = graph::MoeRouterOp::create(builder, next(), choices, indices, indices, perSequence,
                                           perSequence, logits, builder.getI64IntegerAttr(top),
                                           /*normalised=*/builder.getUnitAttr(),
                                           builder.getI64IntegerAttr(routing.group));
  routing.weights = router.getWeights();
  routing.experts = router.getExperts();
  routing.slots = router.getSlots();
  routing.load = router.getLoad();
  routing.importance = router.getImportance();
  return routing;
}

Value ModelBuilder::dispatch(Value tokens, const Routing &routing) {
  ArrayRef<int64_t> shape = typeOf(tokens).getShape();
  int64_t experts = typeOf(routing.load).getDimSize(1);
  FailureOr<int64_t> rows = graph::expertCapacity(
      routing.group, typeOf(routing.experts).getDimSize(2), routing.capacity, experts);
  assert(succeeded(rows) && "the importer bounds sizes and capacity");
  RankedTensorType type = tensor({experts, shape[0], shape[1] / routing.group * *rows, shape[2]});
  return graph::MoeDispatchOp::create(builder, next(), type, tokens, routing.experts, routing.slots,
                                      Value(), builder.getI64IntegerAttr(routing.group),
                                      builder.getF64FloatAttr(routing.capacity), ArrayAttr());
}

Value ModelBuilder::combine(Value rows, const Routing &routing) {
  RankedTensorType type = batched({sequence, typeOf(rows).getDimSize(3)});
  return graph::MoeCombineOp::create(builder, next(), type, rows, routing.experts, routing.slots,
                                     routing.weights, builder.getI64IntegerAttr(routing.group),
                                     builder.getF64FloatAttr(routing.capacity), ArrayAttr());
}

Value ModelBuilder::expertLinear(Value rows, Value weight, const Routing &routing) {
  SmallVector<int64_t> shape(typeOf(rows).getShape());
  double choices =
      static_cast<double>(sequence) * static_cast<double>(typeOf(routing.experts).getDimSize(2));
  double fill = choices / (static_cast<double>(shape[0]) * static_cast<double>(shape[2]));
  shape.back() = typeOf(weight).getDimSize(1);
  return graph::ExpertLinearOp::create(builder, next(), tensor(shape), rows, weight,
                                       /*transposed=*/builder.getUnitAttr(),
                                       builder.getF64FloatAttr(std::min(1.0, fill)));
}

Value ModelBuilder::balanceLoss(const Routing &routing, double coefficient) {
  RankedTensorType type = tensor(typeOf(routing.load).getShape().drop_back());
  return graph::MoeBalanceLossOp::create(builder, next(), type, routing.load, routing.importance,
                                         builder.getI64IntegerAttr(sequence),
                                         builder.getF64FloatAttr(coefficient));
}

} // namespace dtc
