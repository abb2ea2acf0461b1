// Finds the steps that move a tensor from one placement to another.
#include "passes/shard/ReshardSteps.h"

#include "dialects/graph/Placement.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

using namespace llvm;

namespace dtc {
namespace {

using Kind = ReshardStep::Kind;

// One axis in the ordered list of axes that split a dim.
struct Split {
  unsigned axis;
  bool zigzag;
  bool operator==(const Split &other) const { return axis == other.axis && zigzag == other.zigzag; }
};
using Splits = SmallVector<Split, 2>;

struct Dim {
  Splits now, to; // axes, outermost first
  size_t kept;    // number of outermost axes that both share, which never leave
  bool cleared;   // all axes that `to` lacks or has elsewhere have left
  int64_t global;
  int64_t padded;   // the size of all shards together
  int64_t paddedTo; // the size of all shards together under `to`

  // True if the next axis of `to` can be added.
  bool accepts() const { return cleared && now.size() < to.size(); }
};

// Returns the order of blocks in which a gather over `group`, the innermost axes of a dim with
// `outside` around them, makes the dim contiguous: block i of the result is block order[i] of the
// gathered shards in order. Shards of a dim with a zig-zag axis have two blocks.
SmallVector<int64_t, 4> orderOfGathered(ArrayRef<Split> outside, ArrayRef<Split> group,
                                        ArrayRef<int64_t> meshSizes) {
  auto isZigzag = [](const Split &split) { return split.zigzag; };
  bool around = any_of(outside, isZigzag), within = any_of(group, isZigzag);
  int64_t parts = 1;
  for (const Split &split : group)
    parts *= meshSizes[split.axis];
  SmallVector<int64_t, 4> order(around || within ? 2 * parts : parts);
  std::iota(order.begin(), order.end(), 0);
  if (!around && !within)
    return order;
  for (int64_t part = 0; part < parts; ++part)
    for (int64_t half = 0; half < 2; ++half) {
      // Computes the position of the block from the digits of `part`, the innermost axis last; the
      // zig-zag axis counts chunks, of which the second half runs backwards.
      int64_t newIndex = 0, stride = 1, digits = part;
      for (const Split &split : reverse(group)) {
        int64_t size = meshSizes[split.axis], digit = digits % size;
        digits /= size;
        newIndex += (split.zigzag && half ? 2 * size - 1 - digit : digit) * stride;
        stride *= split.zigzag ? 2 * size : size;
      }
      if (around)
        newIndex += half * parts;
      order[newIndex] = 2 * part + half;
    }
  return order;
}

SmallVector<int64_t, 4> inverse(ArrayRef<int64_t> order) {
  SmallVector<int64_t, 4> result(order.size());
  for (auto [to, from] : enumerate(order))
    result[from] = static_cast<int64_t>(to);
  return result;
}

class StepPlanner {
public:
  StepPlanner(ArrayRef<int64_t> global, const Placement &from, const Placement &to,
              const Mesh &mesh)
      : mesh(mesh), now(onAxesThatSplit(from)), to(onAxesThatSplit(to)) {
    for (auto [index, size] : enumerate(global)) {
      dims.push_back(dimOf(static_cast<int64_t>(index), size));
      shape.push_back(graph::getDimSplit(now, mesh.sizes, index).localSize(size));
    }
  }

  std::vector<ReshardStep> run() {
    // Terminates, because every round takes axes from the remaining ones.
    while (cutParts() || reduce() || exchange() || gather() || makeWay()) {
    }
    makePartial();
    return std::move(steps);
  }

private:
  // Returns the placement without axes of one rank, which neither split nor need a reduction.
  Placement onAxesThatSplit(const Placement &placement) const {
    Placement result = placement;
    for (unsigned axis = 0; axis < mesh.numAxes(); ++axis)
      if (mesh.sizes[axis] == 1)
        result[axis] = AxisPlacement::replicate();
    return result;
  }

  Splits splitsOf(const Placement &placement, int64_t dim) const {
    Splits splits;
    for (unsigned axis : graph::getDimSplit(placement, mesh.sizes, dim).axes)
      splits.push_back({axis, placement[axis].zigzag});
    return splits;
  }

  Dim dimOf(int64_t index, int64_t global) const {
    Dim dim;
    dim.now = splitsOf(now, index);
    dim.to = splitsOf(to, index);
    dim.global = global;
    dim.padded = graph::getDimSplit(now, mesh.sizes, index).paddedSize(global);
    dim.paddedTo = graph::getDimSplit(to, mesh.sizes, index).paddedSize(global);
    dim.kept = 0;
    while (dim.kept < std::min(dim.now.size(), dim.to.size()) &&
           dim.now[dim.kept] == dim.to[dim.kept])
      ++dim.kept;
    // Keeps no axis if the padding differs, because every shard is elsewhere then.
    if (dim.padded != dim.paddedTo)
      dim.kept = 0;
    dim.cleared = dim.now.size() == dim.kept;
    return dim;
  }

  // Appends a step; `change` sets the fields that differ.
  void add(Kind kind, ArrayRef<Split> group, function_ref<void(ReshardStep &)> change) {
    ReshardStep step;
    step.kind = kind;
    for (const Split &split : group)
      step.axes.push_back(split.axis);
    step.before = step.after = shape;
    change(step);
    shape = step.after;
    steps.push_back(std::move(step));
  }

  int64_t sizeOf(ArrayRef<Split> group) const {
    int64_t size = 1;
    for (const Split &split : group)
      size *= mesh.sizes[split.axis];
    return size;
  }

  // Changes the padding of a dim that no axis splits.
  void fit(int64_t index, int64_t padded) {
    Dim &dim = dims[index];
    if (dim.padded == padded)
      return;
    add(padded > dim.padded ? Kind::Pad : Kind::Crop, {}, [&](ReshardStep &step) {
      step.dim = index;
      step.after[index] = padded;
    });
    dim.padded = padded;
  }

  void reorder(int64_t index, SmallVector<int64_t, 4> order) {
    if (is_sorted(order))
      return;
    add(Kind::Reorder, {}, [&](ReshardStep &step) {
      step.dim = index;
      step.blocks = std::move(order);
    });
  }

  // Prepares a dim to be split by `group` as its innermost axes.
  void prepareCut(int64_t index, ArrayRef<Split> group) {
    if (dims[index].now.empty())
      fit(index, dims[index].paddedTo);
    reorder(index, inverse(orderOfGathered(dims[index].now, group, mesh.sizes)));
  }
  void recordCut(int64_t index, ArrayRef<Split> group) {
    for (const Split &split : group) {
      dims[index].now.push_back(split);
      now[split.axis] = to[split.axis];
    }
  }

  // Finishes a dim after `group`, its innermost axes, has left it.
  void finishJoin(int64_t index, ArrayRef<Split> group) {
    Dim &dim = dims[index];
    Splits joined(group);
    dim.now.truncate(dim.now.size() - joined.size());
    reorder(index, orderOfGathered(dim.now, joined, mesh.sizes));
    dim.cleared = dim.now.size() == dim.kept;
    if (dim.now.empty() && dim.to.empty())
      fit(index, dim.global);
  }

  // Returns the next axes of a dim's `to` that have the same placement now, as many as one group
  // can take.
  ArrayRef<Split> nextOf(const Dim &dim) const {
    ArrayRef<Split> rest = ArrayRef<Split>(dim.to).drop_front(dim.now.size());
    size_t count = 1;
    while (count < rest.size() && rest[count].axis > rest[count - 1].axis &&
           now[rest[count].axis] == now[rest[0].axis])
      ++count;
    return rest.take_front(count);
  }

  // Adds slices and reduce-scatters: they make all later steps smaller.
  bool cutParts() {
    for (auto [index, dim] : enumerate(dims)) {
      if (!dim.accepts())
        continue;
      Splits group(nextOf(dim));
      AxisPlacement where = now[group[0].axis];
      if (where.isShard())
        continue;
      auto position = static_cast<int64_t>(index);
      prepareCut(position, group);
      add(where.isPartial() ? Kind::ReduceScatter : Kind::Slice, group, [&](ReshardStep &step) {
        step.dim = position;
        step.reduce = where.reduce;
        step.after[position] /= sizeOf(group);
      });
      recordCut(position, group);
      return true;
    }
    return false;
  }

  // Reduces all sums, or maxima, that must become whole.
  bool reduce() {
    Splits group;
    graph::ReduceKind kind = graph::ReduceKind::Sum;
    for (unsigned axis = 0; axis < mesh.numAxes(); ++axis) {
      bool finishes = now[axis].isPartial() && !to[axis].isShard() && !(now[axis] == to[axis]);
      if (!finishes || (!group.empty() && now[axis].reduce != kind))
        continue;
      kind = now[axis].reduce;
      group.push_back({axis, false});
    }
    if (group.empty())
      return false;
    add(Kind::AllReduce, group, [&](ReshardStep &step) { step.reduce = kind; });
    for (const Split &split : group)
      now[split.axis] = AxisPlacement::replicate();
    return true;
  }

  static bool isAscending(ArrayRef<Split> group) {
    return is_sorted(group, [](const Split &a, const Split &b) { return a.axis < b.axis; });
  }

  // Returns the innermost axes of a dim that can move to `target` together; empty if the last one
  // cannot.
  Splits movable(const Dim &dim, const Dim &target) const {
    if (dim.cleared || !target.accepts())
      return {};
    ArrayRef<Split> next = ArrayRef<Split>(target.to).drop_front(target.now.size());
    for (size_t count = std::min(next.size(), dim.now.size() - dim.kept); count > 0; --count) {
      ArrayRef<Split> group = ArrayRef<Split>(dim.now).take_back(count);
      auto sameAxis = [](const Split &a, const Split &b) { return a.axis == b.axis; };
      if (isAscending(group) && std::equal(group.begin(), group.end(), next.begin(), sameAxis))
        return Splits(group);
    }
    return {};
  }

  bool exchange() {
    for (auto [from, dim] : enumerate(dims))
      for (auto [into, target] : enumerate(dims)) {
        Splits leaving = from == into ? Splits() : movable(dim, target);
        if (leaving.empty())
          continue;
        Splits coming(ArrayRef<Split>(target.to).slice(target.now.size(), leaving.size()));
        int64_t ranks = sizeOf(leaving);
        auto joined = static_cast<int64_t>(from), cut = static_cast<int64_t>(into);
        prepareCut(cut, coming);
        add(Kind::AllToAll, leaving, [&](ReshardStep &step) {
          step.dim = joined;
          step.newDim = cut;
          step.after[joined] *= ranks;
          step.after[cut] /= ranks;
        });
        recordCut(cut, coming);
        finishJoin(joined, leaving);
        return true;
      }
    return false;
  }

  // True if an axis that leaves `index` will split another dim.
  bool movesFrom(size_t index, unsigned axis) const {
    return to[axis].isShard() && to[axis].dim != static_cast<int64_t>(index);
  }

  void gatherInnermost(size_t index, size_t count) {
    Splits group(ArrayRef<Split>(dims[index].now).take_back(count));
    auto position = static_cast<int64_t>(index);
    add(Kind::AllGather, group, [&](ReshardStep &step) {
      step.dim = position;
      step.after[position] *= sizeOf(group);
    });
    for (const Split &split : group)
      now[split.axis] = AxisPlacement::replicate();
    finishJoin(position, group);
  }

  bool gather() {
    for (auto [index, dim] : enumerate(dims)) {
      size_t count = 0, most = dim.cleared ? 0 : dim.now.size() - dim.kept;
      while (count < most && !movesFrom(index, dim.now[dim.now.size() - 1 - count].axis) &&
             isAscending(ArrayRef<Split>(dim.now).take_back(count + 1)))
        ++count;
      if (count == 0)
        continue;
      gatherInnermost(index, count);
      return true;
    }
    return false;
  }

  // Breaks a cycle of axes that wait for each other: one leaves its dim, and takes its new one when
  // that is free.
  bool makeWay() {
    for (auto [index, dim] : enumerate(dims))
      if (!dim.cleared) {
        gatherInnermost(index, 1);
        return true;
      }
    return false;
  }

  void makePartial() {
    Splits group;
    for (unsigned axis = 0; axis < mesh.numAxes(); ++axis)
      if (now[axis].isReplicate() && to[axis].isPartial() &&
          to[axis].reduce == graph::ReduceKind::Sum)
        group.push_back({axis, false});
    if (!group.empty())
      add(Kind::Scale, group,
          [&](ReshardStep &step) { step.factor = 1.0 / static_cast<double>(sizeOf(group)); });
  }

  const Mesh &mesh;
  Placement now, to;
  SmallVector<Dim, 4> dims;
  SmallVector<int64_t, 4> shape;
  std::vector<ReshardStep> steps;
};

} // namespace

StringRef toString(Kind kind) {
  switch (kind) {
  case Kind::AllReduce:
    return "all_reduce";
  case Kind::ReduceScatter:
    return "reduce_scatter";
  case Kind::AllGather:
    return "all_gather";
  case Kind::AllToAll:
    return "all_to_all";
  case Kind::Slice:
    return "slice";
  case Kind::Pad:
    return "pad";
  case Kind::Crop:
    return "crop";
  case Kind::Reorder:
    return "reorder";
  case Kind::Scale:
    return "scale";
  }
  return "";
}

std::vector<ReshardStep> reshardSteps(ArrayRef<int64_t> global, const Placement &from,
                                      const Placement &to, const Mesh &mesh) {
  if (from == to)
    return {};
  return StepPlanner(global, from, to, mesh).run();
}

int64_t groupSize(const ReshardStep &step, const Mesh &mesh) {
  int64_t size = 1;
  for (unsigned axis : step.axes)
    size *= mesh.sizes[axis];
  return size;
}

static double elementsOf(ArrayRef<int64_t> shape) {
  double elements = 1;
  for (int64_t size : shape)
    elements *= static_cast<double>(size);
  return elements;
}

double wholeElements(const ReshardStep &step) {
  return std::max(elementsOf(step.before), elementsOf(step.after));
}

double sentElements(const ReshardStep &step, const Mesh &mesh) {
  if (!step.communicates())
    return 0;
  auto ranks = static_cast<double>(groupSize(step, mesh));
  return (step.kind == Kind::AllReduce ? 2 : 1) * wholeElements(step) * (ranks - 1) / ranks;
}

} // namespace dtc
