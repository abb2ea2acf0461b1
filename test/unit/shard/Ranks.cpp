#include "test/unit/shard/Ranks.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;

namespace dtc::test {
namespace {

int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

// Elements [start, start + size) of a dim; zero beyond its end.
Elements block(const Elements &from, int64_t dim, int64_t start, int64_t size) {
  int64_t outer = product(ArrayRef(from.shape).take_front(dim));
  int64_t inner = product(ArrayRef(from.shape).drop_front(dim + 1)), had = from.shape[dim];
  Elements result{from.shape, {}};
  result.shape[dim] = size;
  for (int64_t i = 0; i < outer; ++i)
    for (int64_t j = start; j < start + size; ++j)
      for (int64_t k = 0; k < inner; ++k)
        result.values.push_back(j < had ? from.values[(i * had + j) * inner + k] : 0);
  return result;
}

Elements concat(ArrayRef<Elements> parts, int64_t dim) {
  Elements result{parts[0].shape, {}};
  result.shape[dim] *= static_cast<int64_t>(parts.size());
  int64_t outer = product(ArrayRef(parts[0].shape).take_front(dim));
  int64_t row = product(ArrayRef(parts[0].shape).drop_front(dim));
  for (int64_t i = 0; i < outer; ++i)
    for (const Elements &part : parts)
      result.values.insert(result.values.end(), part.values.begin() + i * row,
                           part.values.begin() + (i + 1) * row);
  return result;
}

Elements combine(ArrayRef<Elements> parts, shard::ReductionKind kind) {
  Elements result = parts[0];
  for (const Elements &part : parts.drop_front())
    for (auto [total, value] : llvm::zip(result.values, part.values))
      total = kind == shard::ReductionKind::Max ? std::max(total, value) : total + value;
  return result;
}

// Every rank's values of one mesh axis' group, in order of coordinate.
struct Groups {
  const std::vector<Elements> &parts;
  const Mesh &mesh;

  SmallVector<Elements> of(int64_t rank, unsigned axis) const {
    SmallVector<Elements> result;
    for (int64_t c = 0; c < mesh.sizes[axis]; ++c)
      result.push_back(parts[neighbour(mesh, rank, axis, c)]);
    return result;
  }
};

// The result of a collective on one rank.
Elements runCollective(Operation &op, const Groups &groups, const Mesh &mesh, int64_t rank) {
  auto axisOf = [](ArrayRef<int16_t> axes) {
    assert(axes.size() == 1 && "reshard goes axis by axis");
    return static_cast<unsigned>(axes[0]);
  };
  auto own = [&](const Elements &whole, int64_t dim, unsigned axis) {
    int64_t size = whole.shape[dim] / mesh.sizes[axis];
    return block(whole, dim, coordinateOf(mesh, rank, axis) * size, size);
  };
  return llvm::TypeSwitch<Operation *, Elements>(&op)
      .Case([&](shard::AllReduceOp reduce) {
        return combine(groups.of(rank, axisOf(reduce.getGridAxes())), reduce.getReduction());
      })
      .Case([&](shard::ReduceScatterOp scatter) {
        unsigned axis = axisOf(scatter.getGridAxes());
        return own(combine(groups.of(rank, axis), scatter.getReduction()),
                   scatter.getScatterAxis().getSExtValue(), axis);
      })
      .Case([&](shard::AllGatherOp gather) {
        return concat(groups.of(rank, axisOf(gather.getGridAxes())),
                      gather.getGatherAxis().getSExtValue());
      })
      .Case([&](shard::AllSliceOp slice) {
        return own(groups.parts[rank], slice.getSliceAxis().getSExtValue(),
                   axisOf(slice.getGridAxes()));
      })
      .Case([&](shard::AllToAllOp exchange) {
        unsigned axis = axisOf(exchange.getGridAxes());
        SmallVector<Elements> received;
        for (const Elements &sent : groups.of(rank, axis))
          received.push_back(own(sent, exchange.getSplitAxis().getSExtValue(), axis));
        return concat(received, exchange.getConcatAxis().getSExtValue());
      });
}

Elements runOp(Operation &op, const Groups &groups, const Mesh &mesh, int64_t rank) {
  const Elements &x = groups.parts[rank];
  if (auto pad = dyn_cast<graph::PadOp>(op)) {
    assert(pad.getLow() == 0 && "padding is at the end");
    int64_t dim = pad.getDim();
    return block(x, dim, 0, x.shape[dim] + static_cast<int64_t>(pad.getHigh()));
  }
  if (auto slice = dyn_cast<graph::SliceOp>(op))
    return block(x, slice.getDim(), slice.getStart(), slice.getSize());
  if (auto scale = dyn_cast<graph::ScaleOp>(op)) {
    Elements result = x;
    for (double &value : result.values)
      value *= scale.getFactor().convertToDouble();
    return result;
  }
  return runCollective(op, groups, mesh, rank);
}

} // namespace

int64_t coordinateOf(const Mesh &mesh, int64_t rank, unsigned axis) {
  for (unsigned inner = mesh.numAxes() - 1; inner > axis; --inner)
    rank /= mesh.sizes[inner];
  return rank % mesh.sizes[axis];
}

int64_t neighbour(const Mesh &mesh, int64_t rank, unsigned axis, int64_t coordinate) {
  int64_t stride = product(ArrayRef<int64_t>(mesh.sizes).drop_front(axis + 1));
  return rank + (coordinate - coordinateOf(mesh, rank, axis)) * stride;
}

Elements partOf(const Elements &whole, const Placement &placement, const Mesh &mesh, int64_t rank) {
  Elements result = whole;
  for (unsigned axis = 0; axis < mesh.numAxes(); ++axis) {
    auto parts = static_cast<double>(mesh.sizes[axis]);
    auto c = static_cast<double>(coordinateOf(mesh, rank, axis));
    if (placement[axis].isPartial())
      for (double &value : result.values) {
        if (placement[axis].reduce == graph::ReduceKind::Max)
          value -= parts - 1 - c;
        else
          value *= c > 0 ? c : 1 - parts * (parts - 1) / 2;
      }
  }
  for (unsigned axis = 0; axis < mesh.numAxes(); ++axis)
    if (placement[axis].isShard()) {
      int64_t size = llvm::divideCeil(result.shape[placement[axis].dim], mesh.sizes[axis]);
      result = block(result, placement[axis].dim, coordinateOf(mesh, rank, axis) * size, size);
    }
  return result;
}

std::vector<Elements> runOnRanks(Block &block, Value result, std::vector<Elements> parts,
                                 const Mesh &mesh) {
  DenseMap<Value, std::vector<Elements>> values;
  values[block.getArgument(0)] = std::move(parts);
  for (Operation &op : block.without_terminator()) {
    const std::vector<Elements> operand = values[op.getOperand(0)];
    std::vector<Elements> results;
    for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
      results.push_back(runOp(op, {operand, mesh}, mesh, rank));
    values[op.getResult(0)] = std::move(results);
  }
  return values[result];
}

} // namespace dtc::test
