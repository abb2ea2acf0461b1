#include "test/unit/shard/Ranks.h"

#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/Placement.h"
#include "dialects/graph/ShapeOps.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace mlir;

namespace dtc::test {
namespace {

int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

// Returns the elements at `indices` of a dim, with zeros beyond its end.
Elements pick(const Elements &from, int64_t dim, ArrayRef<int64_t> indices) {
  int64_t outer = product(ArrayRef(from.shape).take_front(dim));
  int64_t inner = product(ArrayRef(from.shape).drop_front(dim + 1)), had = from.shape[dim];
  Elements result{from.shape, {}};
  result.shape[dim] = static_cast<int64_t>(indices.size());
  for (int64_t i = 0; i < outer; ++i)
    for (int64_t j : indices)
      for (int64_t k = 0; k < inner; ++k)
        result.values.push_back(j < had ? from.values[(i * had + j) * inner + k] : 0);
  return result;
}

Elements block(const Elements &from, int64_t dim, int64_t start, int64_t size) {
  return pick(from, dim, llvm::to_vector(llvm::seq(start, start + size)));
}

Elements concat(ArrayRef<Elements> parts, int64_t dim) {
  Elements result{parts[0].shape, {}};
  result.shape[dim] = 0;
  for (const Elements &part : parts)
    result.shape[dim] += part.shape[dim];
  int64_t outer = product(ArrayRef(parts[0].shape).take_front(dim));
  for (int64_t i = 0; i < outer; ++i)
    for (const Elements &part : parts) {
      int64_t row = product(ArrayRef(part.shape).drop_front(dim));
      result.values.insert(result.values.end(), part.values.begin() + i * row,
                           part.values.begin() + (i + 1) * row);
    }
  return result;
}

Elements combine(ArrayRef<Elements> parts, bool maximum) {
  Elements result = parts[0];
  for (const Elements &part : parts.drop_front())
    for (auto [total, value] : llvm::zip(result.values, part.values))
      total = maximum ? std::max(total, value) : total + value;
  return result;
}

// The values of one group on all ranks, in order of coordinates, and the position of a rank in it.
struct Group {
  const std::vector<Elements> &parts;
  const Mesh &mesh;
  SmallVector<unsigned> axes;

  int64_t size() const {
    int64_t ranks = 1;
    for (unsigned axis : axes)
      ranks *= mesh.sizes[axis];
    return ranks;
  }
  int64_t positionOf(int64_t rank) const {
    int64_t position = 0;
    for (unsigned axis : axes)
      position = position * mesh.sizes[axis] + coordinateOf(mesh, rank, axis);
    return position;
  }
  SmallVector<Elements> of(int64_t rank) const {
    SmallVector<Elements> result(size());
    for (int64_t other = 0; other < mesh.numRanks(); ++other) {
      bool member = true;
      for (unsigned axis = 0; axis < mesh.numAxes(); ++axis)
        member &= llvm::is_contained(axes, axis) ||
                  coordinateOf(mesh, other, axis) == coordinateOf(mesh, rank, axis);
      if (member)
        result[positionOf(other)] = parts[other];
    }
    return result;
  }
  Elements own(const Elements &whole, int64_t dim, int64_t rank) const {
    int64_t part = whole.shape[dim] / size();
    return block(whole, dim, positionOf(rank) * part, part);
  }
  Elements exchanged(int64_t rank, int64_t splitDim, int64_t concatDim) const {
    SmallVector<Elements> received;
    for (const Elements &sent : of(rank))
      received.push_back(own(sent, splitDim, rank));
    return concat(received, concatDim);
  }
};

// Returns the result of an op on one rank. `operands` hold all ranks' values of each operand.
Elements runOp(Operation &op, ArrayRef<std::vector<Elements>> operands, const Mesh &mesh,
               int64_t rank) {
  const Elements &x = operands[0][rank];
  auto groupOf = [&](ArrayRef<int16_t> axes) {
    return Group{operands[0], mesh, SmallVector<unsigned>(axes.begin(), axes.end())};
  };
  auto isMax = [](auto reduce) { return reduce.getReduction() == shard::ReductionKind::Max; };
  return llvm::TypeSwitch<Operation *, Elements>(&op)
      .Case([&](graph::PadOp pad) {
        return block(x, pad.getDim(), 0,
                     x.shape[pad.getDim()] + static_cast<int64_t>(pad.getHigh()));
      })
      .Case([&](graph::SliceOp slice) {
        return block(x, slice.getDim(), slice.getStart(), slice.getSize());
      })
      .Case([&](graph::ConcatOp join) {
        SmallVector<Elements> parts;
        for (const std::vector<Elements> &operand : operands)
          parts.push_back(operand[rank]);
        return concat(parts, join.getDim());
      })
      .Case([&](graph::ScaleOp scale) {
        Elements result = x;
        for (double &value : result.values)
          value *= scale.getFactor().convertToDouble();
        return result;
      })
      .Case([&](shard::AllReduceOp reduce) {
        return combine(groupOf(reduce.getGridAxes()).of(rank), isMax(reduce));
      })
      .Case([&](shard::ReduceScatterOp scatter) {
        Group group = groupOf(scatter.getGridAxes());
        return group.own(combine(group.of(rank), isMax(scatter)),
                         scatter.getScatterAxis().getSExtValue(), rank);
      })
      .Case([&](shard::AllGatherOp gather) {
        return concat(groupOf(gather.getGridAxes()).of(rank),
                      gather.getGatherAxis().getSExtValue());
      })
      .Case([&](shard::AllSliceOp slice) {
        return groupOf(slice.getGridAxes()).own(x, slice.getSliceAxis().getSExtValue(), rank);
      })
      .Case([&](shard::AllToAllOp exchange) {
        return groupOf(exchange.getGridAxes())
            .exchanged(rank, exchange.getSplitAxis().getSExtValue(),
                       exchange.getConcatAxis().getSExtValue());
      });
}

Elements runStepOn(const ReshardStep &step, const std::vector<Elements> &parts, const Mesh &mesh,
                   int64_t rank) {
  using Kind = ReshardStep::Kind;
  Group group{parts, mesh, SmallVector<unsigned>(step.axes.begin(), step.axes.end())};
  const Elements &x = parts[rank];
  bool maximum = step.reduce == graph::ReduceKind::Max;
  switch (step.kind) {
  case Kind::AllReduce:
    return combine(group.of(rank), maximum);
  case Kind::ReduceScatter:
    return group.own(combine(group.of(rank), maximum), step.dim, rank);
  case Kind::AllGather:
    return concat(group.of(rank), step.dim);
  case Kind::AllToAll:
    return group.exchanged(rank, step.newDim, step.dim);
  case Kind::Slice:
    return group.own(x, step.dim, rank);
  case Kind::Pad:
  case Kind::Crop:
    return block(x, step.dim, 0, step.after[step.dim]);
  case Kind::Reorder: {
    SmallVector<Elements> blocks;
    int64_t size = x.shape[step.dim] / static_cast<int64_t>(step.blocks.size());
    for (int64_t from : step.blocks)
      blocks.push_back(block(x, step.dim, from * size, size));
    return concat(blocks, step.dim);
  }
  case Kind::Scale: {
    Elements result = x;
    for (double &value : result.values)
      value *= step.factor;
    return result;
  }
  }
  return x;
}

// Returns the global indices of one dim that a rank holds. The definition is: the chunks of the
// padded dim, cut axis by axis from the outside in. Each cut is made in every chunk that is left.
SmallVector<int64_t> indicesOf(int64_t global, ArrayRef<unsigned> axes, const Placement &placement,
                               const Mesh &mesh, int64_t rank) {
  int64_t parts = 1;
  for (unsigned axis : axes)
    parts *= mesh.sizes[axis] * (placement[axis].zigzag && mesh.sizes[axis] > 1 ? 2 : 1);
  SmallVector<SmallVector<int64_t>> chunks{
      llvm::to_vector(llvm::seq(int64_t(0), static_cast<int64_t>(llvm::alignTo(global, parts))))};
  for (unsigned axis : axes) {
    int64_t n = mesh.sizes[axis], c = coordinateOf(mesh, rank, axis);
    bool zigzag = placement[axis].zigzag && n > 1;
    SmallVector<SmallVector<int64_t>> left;
    for (ArrayRef<int64_t> chunk : chunks) {
      auto size = static_cast<int64_t>(chunk.size()) / (zigzag ? 2 * n : n);
      left.emplace_back(chunk.slice(c * size, size));
      if (zigzag)
        left.emplace_back(chunk.slice((2 * n - 1 - c) * size, size));
    }
    chunks = std::move(left);
  }
  SmallVector<int64_t> indices;
  for (ArrayRef<int64_t> chunk : chunks)
    indices.append(chunk.begin(), chunk.end());
  return indices;
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

Elements counted(ArrayRef<int64_t> shape) {
  Elements whole{SmallVector<int64_t>(shape), {}};
  for (int64_t i = 0; i < product(shape); ++i)
    whole.values.push_back(static_cast<double>(i + 1));
  return whole;
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
  for (int64_t dim = 0; dim < static_cast<int64_t>(whole.shape.size()); ++dim) {
    SmallVector<unsigned> axes;
    for (int64_t level = 0; level < static_cast<int64_t>(mesh.numAxes()); ++level)
      for (unsigned axis = 0; axis < mesh.numAxes(); ++axis)
        if (placement[axis].isShard() && placement[axis].dim == dim &&
            placement[axis].level == level)
          axes.push_back(axis);
    result = pick(result, dim, indicesOf(whole.shape[dim], axes, placement, mesh, rank));
  }
  return result;
}

std::vector<Elements> runStep(const ReshardStep &step, const std::vector<Elements> &parts,
                              const Mesh &mesh) {
  std::vector<Elements> results;
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
    EXPECT_EQ(ArrayRef<int64_t>(parts[rank].shape), ArrayRef<int64_t>(step.before));
    results.push_back(runStepOn(step, parts, mesh, rank));
    EXPECT_EQ(ArrayRef<int64_t>(results.back().shape), ArrayRef<int64_t>(step.after));
  }
  return results;
}

std::vector<Elements> runOnRanks(Block &block, Value result, std::vector<Elements> parts,
                                 const Mesh &mesh) {
  DenseMap<Value, std::vector<Elements>> values;
  values[block.getArgument(0)] = std::move(parts);
  for (Operation &op : block.without_terminator()) {
    std::vector<std::vector<Elements>> operands;
    for (Value operand : op.getOperands())
      operands.push_back(values[operand]);
    std::vector<Elements> results;
    for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
      results.push_back(runOp(op, operands, mesh, rank));
    values[op.getResult(0)] = std::move(results);
  }
  return values[result];
}

void expectPlaced(const Elements &whole, const std::vector<Elements> &found, const Placement &to,
                  const Mesh &mesh, const std::string &what) {
  Placement finished = to;
  std::vector<Elements> whole1 = found;
  for (unsigned axis = 0; axis < mesh.numAxes(); ++axis) {
    if (!to[axis].isPartial())
      continue;
    finished[axis] = AxisPlacement::replicate();
    std::vector<Elements> combined;
    for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
      combined.push_back(
          combine(Group{whole1, mesh, {axis}}.of(rank), to[axis].reduce == graph::ReduceKind::Max));
    whole1 = std::move(combined);
  }
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
    Elements wanted = partOf(whole, finished, mesh, rank);
    ASSERT_EQ(whole1[rank].shape, wanted.shape) << what;
    for (size_t i = 0; i < wanted.values.size(); ++i)
      ASSERT_NEAR(whole1[rank].values[i], wanted.values[i], 1e-6)
          << what << ", rank " << rank << ", element " << i;
  }
}

std::string describe(ArrayRef<int64_t> shape, const Placement &from, const Placement &to,
                     const Mesh &mesh) {
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::interleave(shape, out, "x");
  out << " from " << toString(from) << " to " << toString(to) << " on ";
  llvm::interleave(mesh.sizes, out, "x");
  return text;
}

Move drawMove(unsigned seed) {
  std::mt19937 random(seed);
  auto below = [&](int64_t count) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(count));
  };
  Move move;
  for (int64_t axis = 0, count = 1 + below(3); axis < count; ++axis) {
    move.mesh.names.push_back("a" + std::to_string(axis));
    move.mesh.sizes.push_back(1 + below(count == 3 ? 3 : 4));
  }
  for (int64_t dim = 0, count = 1 + below(3); dim < count; ++dim)
    move.shape.push_back(below(2) ? 24 : 1 + below(9));
  // Sums and maxima do not commute, so `from` has one kind at a time.
  auto kind = below(2) ? graph::ReduceKind::Sum : graph::ReduceKind::Max;
  auto place = [&](bool isFrom) {
    Placement placement = replicated(move.mesh);
    SmallVector<bool> zigzag(move.shape.size(), false);
    for (AxisPlacement &axis : placement) {
      int64_t dim = below(static_cast<int64_t>(move.shape.size()) + 2);
      if (dim < static_cast<int64_t>(move.shape.size())) {
        axis = AxisPlacement::shard(dim, below(3), !zigzag[dim] && below(3) == 0);
        zigzag[dim] = zigzag[dim] || axis.zigzag;
      } else if (below(2)) {
        axis = AxisPlacement::partial(isFrom ? kind : graph::ReduceKind::Sum);
      }
    }
    return Placement(graph::canonicalPlacement(placement));
  };
  move.from = place(true);
  move.to = place(false);
  return move;
}

} // namespace dtc::test
