// Makes the parts of a batch channels of their own.
//
// x [ranks * b, channels, ...] becomes [b, ranks * channels, ...]: on the mesh a rank keeps its
// elements, and its channels are of its samples alone, so that nothing is reduced. The state gets
// the mean over the parts. The parts are written out in graph IR, so that one device computes
// the same.
#include "passes/graph/StatisticsOfParts.h"

#include "dialects/graph/ShapeOps.h"
#include "dialects/graph/StateOps.h"

using namespace mlir;

namespace dtc {
namespace {

class PartsWriter {
public:
  PartsWriter(graph::BatchNormaliseOp norm, int64_t ranks)
      : norm(norm), ranks(ranks), builder(norm), loc(norm.getLoc()),
        whole(cast<RankedTensorType>(norm.getX().getType())), channels(whole.getDimSize(1)) {}

  void run() {
    SmallVector<Value> held(norm.getHeld());
    for (Value &value : held)
      if (cast<RankedTensorType>(value.getType()).getRank() > 0)
        value = repeated(value);
    RankedTensorType statistic = RankedTensorType::get({ranks * channels}, builder.getF32Type());
    Value x = apart(norm.getX());
    auto parts = graph::BatchNormaliseOp::create(
        builder, loc, x.getType(), statistic, statistic, statistic, x, repeated(norm.getWeight()),
        repeated(norm.getBias()), held, norm.getEpsilonAttr(), norm.getPartsAttr());
    parts->setDiscardableAttrs(norm->getDiscardableAttrDictionary());
    SmallVector<Value> results{together(parts.getResult())};
    for (Value value : ValueRange(parts.getResults()).drop_front())
      results.push_back(mean(value));
    norm->replaceAllUsesWith(results);
    norm->erase();
  }

private:
  template <typename OpTy, typename... Arguments> Value make(Arguments &&...arguments) {
    Value value = OpTy::create(builder, loc, std::forward<Arguments>(arguments)...);
    value.getDefiningOp()->setDiscardableAttrs(norm->getDiscardableAttrDictionary());
    return value;
  }

  Value reshape(Value x, ArrayRef<int64_t> shape) {
    return make<graph::ReshapeOp>(cast<RankedTensorType>(x.getType()).clone(shape), x);
  }

  // Swaps the first two dims.
  Value swap(Value x) {
    auto type = cast<RankedTensorType>(x.getType());
    SmallVector<int64_t> shape(type.getShape()), order;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      order.push_back(dim < 2 ? 1 - dim : dim);
    std::swap(shape[0], shape[1]);
    return make<graph::TransposeOp>(type.clone(shape), x, order);
  }

  // Returns [ranks * b, channels, ...] as [b, ranks * channels, ...].
  Value apart(Value x) {
    int64_t samples = whole.getDimSize(0) / ranks;
    SmallVector<int64_t> split{ranks, samples}, joined{samples, ranks * channels};
    llvm::append_range(split, whole.getShape().drop_front());
    llvm::append_range(joined, whole.getShape().drop_front(2));
    return reshape(swap(reshape(x, split)), joined);
  }

  Value together(Value x) {
    SmallVector<int64_t> split{whole.getDimSize(0) / ranks, ranks};
    llvm::append_range(split, whole.getShape().drop_front());
    return reshape(swap(reshape(x, split)), whole.getShape());
  }

  // Returns [channels] for each part: [ranks * channels].
  Value repeated(Value x) {
    auto type = cast<RankedTensorType>(x.getType());
    Value wide = make<graph::BroadcastOp>(type.clone({ranks, channels}), x,
                                          builder.getDenseI64ArrayAttr({0}), Value());
    return reshape(wide, {ranks * channels});
  }

  // Returns the mean over the parts: [channels].
  Value mean(Value x) {
    auto kind = graph::ReduceKindAttr::get(builder.getContext(), graph::ReduceKind::Sum);
    Value sum = make<graph::ReduceOp>(
        RankedTensorType::get({channels}, builder.getF32Type()), reshape(x, {ranks, channels}),
        kind, builder.getDenseI64ArrayAttr({0}),
        builder.getF64FloatAttr(1 / static_cast<double>(ranks)), ArrayAttr());
    return make<graph::FinishOp>(sum.getType(), sum);
  }

  graph::BatchNormaliseOp norm;
  int64_t ranks;
  OpBuilder builder;
  Location loc;
  RankedTensorType whole;
  int64_t channels;
};

} // namespace

void takeStatisticsOfParts(ModuleOp module, int64_t ranks) {
  SmallVector<graph::BatchNormaliseOp> norms;
  module.walk([&](graph::BatchNormaliseOp norm) {
    if (norm.getParts())
      norms.push_back(norm);
  });
  for (graph::BatchNormaliseOp norm : norms)
    if (ranks > 1)
      PartsWriter(norm, ranks).run();
}

} // namespace dtc
