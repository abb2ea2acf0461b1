#include "compiler/prove/verify/Accesses.h"

#include "runtime/format/Description.h"
#include "runtime/format/Instructions.h"

#include <algorithm>
#include <numeric>
#include <string_view>

namespace dtc {
namespace {

AxisSet axesOf(const format::Manifest &manifest, const format::RankScalar *scalar) {
  AxisSet axes = 0;
  for (uint32_t i = 0; scalar && i < format::sizeOf(scalar->terms()); ++i) {
    const format::RankTerm &term = *scalar->terms()->Get(i);
    if (term.stride() != 0 && manifest.mesh()->Get(term.axis())->size() > 1)
      axes |= static_cast<AxisSet>(1u << term.axis());
  }
  return axes;
}

// One side of a box: strides in elements, those of one element left out.
struct Side {
  std::vector<int64_t> strides;
  const format::RankScalar *offset;
};

// Smallest and largest element that dims [first, ..) reach.
std::pair<int64_t, int64_t> reachOf(const std::vector<int64_t> &sizes, const Side &side,
                                    size_t first) {
  int64_t low = 0, high = 0;
  for (size_t i = first; i < sizes.size(); ++i)
    (side.strides[i] < 0 ? low : high) += side.strides[i] * (sizes[i] - 1);
  return {low, high};
}

int64_t countOf(const std::vector<int64_t> &sizes, size_t first) {
  return std::accumulate(sizes.begin() + static_cast<std::ptrdiff_t>(first), sizes.end(),
                         int64_t(1), std::multiplies<>());
}

// Notes that a box is touched, from the begin of each piece on.
void setColumns(Touch &touch, std::vector<BoxDim> dims, int64_t elementBytes) {
  touch.columns = columnsOf(std::move(dims), elementBytes);
  touch.exact = touch.columns && touch.columns->isAll();
  if (touch.exact)
    touch.columns.reset();
}

// The bytes of one side, cut along the first dim where `cut`.
Touch touchOf(const format::Manifest &manifest, const std::vector<int64_t> &sizes, const Side &side,
              bool cut, int64_t elementBytes) {
  Touch touch;
  const format::RankScalar *offset = side.offset;
  touch.movesWith = axesOf(manifest, offset);
  int64_t low = offset ? offset->base() : 0, high = low;
  for (uint32_t i = 0; offset && i < format::sizeOf(offset->terms()); ++i) {
    const format::RankTerm &term = *offset->terms()->Get(i);
    int64_t reach =
        term.stride() * (static_cast<int64_t>(manifest.mesh()->Get(term.axis())->size()) - 1);
    (reach < 0 ? low : high) += reach;
  }
  if (offset) {
    touch.layerShift = offset->layer_stride() * elementBytes;
    touch.microBatchShift = offset->micro_batch_stride() * elementBytes;
  }
  auto [least, most] = reachOf(sizes, side, cut ? 1 : 0);
  touch.exact = low == high && most - least + 1 == countOf(sizes, cut ? 1 : 0);
  if (low == high && !touch.exact) {
    std::vector<BoxDim> dims;
    for (size_t i = cut ? 1 : 0; i < sizes.size(); ++i)
      dims.push_back({sizes[i], side.strides[i]});
    setColumns(touch, std::move(dims), elementBytes);
  }
  for (int64_t i = 0; i < (cut ? sizes[0] : 1); ++i) {
    int64_t start = cut ? i * side.strides[0] : 0;
    touch.pieces.push_back(
        {(low + start + least) * elementBytes, (high - low + most - least + 1) * elementBytes});
  }
  return touch;
}

void addCopy(const format::Manifest &manifest, const format::StridedCopy &op, Accesses &out) {
  out.flow = Flow::Copy;
  std::vector<size_t> dims;
  for (uint32_t i = 0; i < format::sizeOf(op.sizes()); ++i)
    if (op.sizes()->Get(i) > 1)
      dims.push_back(i);
  // A dim of the ranks of a group first: what they hold lies apart, in blocks of different
  // kinds. Rows of one tensor are all alike, and their hull will do.
  // The outermost dim on either side, where it is as long as a list of ranks.
  const auto *groups = manifest.groups();
  auto isOutermost = [&](const flatbuffers::Vector<int64_t> *strides, size_t dim) {
    return std::all_of(dims.begin(), dims.end(), [&](size_t other) {
      return std::abs(strides->Get(static_cast<uint32_t>(other))) <=
             std::abs(strides->Get(static_cast<uint32_t>(dim)));
    });
  };
  auto isOfRanks = [&](size_t dim) {
    return groups && !op.accumulate() &&
           (isOutermost(op.src_strides(), dim) || isOutermost(op.dst_strides(), dim)) &&
           std::any_of(groups->begin(), groups->end(), [&](const format::Group *group) {
             return group->size() == op.sizes()->Get(static_cast<uint32_t>(dim));
           });
  };
  auto reach = [&](size_t dim) {
    auto i = static_cast<uint32_t>(dim);
    return isOfRanks(dim)
               ? std::max(std::abs(op.src_strides()->Get(i)), std::abs(op.dst_strides()->Get(i)))
               : 0;
  };
  std::sort(dims.begin(), dims.end(),
            [&](size_t a, size_t b) { return reach(a) != reach(b) ? reach(a) > reach(b) : a < b; });
  bool cutsByRank = !dims.empty() && isOfRanks(dims[0]);
  std::vector<int64_t> sizes;
  Side from{{}, op.src_offset()}, to{{}, op.dst_offset()};
  for (size_t dim : dims) {
    auto i = static_cast<uint32_t>(dim);
    sizes.push_back(static_cast<int64_t>(op.sizes()->Get(i)));
    from.strides.push_back(op.src_strides()->Get(i));
    to.strides.push_back(op.dst_strides()->Get(i));
  }
  auto isDense = [&](const Side &side) {
    auto [low, high] = reachOf(sizes, side, 0);
    return high - low + 1 == countOf(sizes, 0);
  };
  bool cut = cutsByRank && !(isDense(from) && isDense(to));
  auto bytes = static_cast<int64_t>(format::bytesOf(op.dtype()));
  for (bool isSource : {true, false}) {
    Touch touch = touchOf(manifest, sizes, isSource ? from : to, cut, bytes);
    touch.buffer = isSource ? op.src() : op.dst();
    touch.reads = isSource;
    touch.writes = !isSource;
    out.touches.push_back(std::move(touch));
  }
}

void addWhole(uint32_t buffer, uint64_t bytes, bool writes, Accesses &out) {
  Touch touch;
  touch.buffer = buffer;
  touch.reads = !writes;
  touch.writes = writes;
  touch.pieces.push_back({0, static_cast<int64_t>(bytes)});
  out.touches.push_back(std::move(touch));
}

void addCollective(const format::Manifest &manifest, const format::Collective &op, Accesses &out) {
  out.flow = Flow::Collective;
  uint64_t bytes = op.count() * format::bytesOf(op.dtype());
  uint64_t ranks = manifest.groups()->Get(op.group())->size();
  bool gathers = op.kind() == format::CollectiveKind::all_gather;
  bool scatters = op.kind() == format::CollectiveKind::reduce_scatter;
  bool exchanges = op.kind() == format::CollectiveKind::all_to_all;
  addWhole(op.src(), bytes * (scatters || exchanges ? ranks : 1), false, out);
  addWhole(op.dst(), bytes * (gathers || exchanges ? ranks : 1), true, out);
}

// The elements of one matrix of a product, with those of the other products of its batch.
std::vector<BoxDim> boxOf(const format::Gemm &op, std::string_view matrix) {
  auto box = [&](uint64_t rows, uint64_t columns, uint64_t ld, uint64_t stride) {
    auto dim = [](uint64_t size, uint64_t step) {
      return BoxDim{static_cast<int64_t>(size), static_cast<int64_t>(step)};
    };
    return std::vector<BoxDim>{dim(op.batch(), stride), dim(rows, ld), dim(columns, 1)};
  };
  if (matrix == "a")
    return op.trans_a() ? box(op.k(), op.m(), op.lda(), op.stride_a())
                        : box(op.m(), op.k(), op.lda(), op.stride_a());
  if (matrix == "b")
    return op.trans_b() ? box(op.n(), op.k(), op.ldb(), op.stride_b())
                        : box(op.k(), op.n(), op.ldb(), op.stride_b());
  if (matrix == "c" || matrix == "addend")
    return box(op.m(), op.n(), op.ldc(), op.stride_c());
  return {}; // one line
}

// The elements that an operand touches; none where it has no gaps.
std::vector<BoxDim> boxOf(const format::Instruction &source, const format::Operand &operand) {
  if (const format::Gemm *op = source.op_as_Gemm())
    return boxOf(*op, operand.name);
  if (!operand.hasGaps())
    return {};
  auto columns = static_cast<int64_t>(operand.rowElements);
  auto stride = static_cast<int64_t>(operand.rowStride);
  auto elements = static_cast<int64_t>(operand.elements.value());
  return {{(elements - columns) / stride + 1, stride}, {columns, 1}};
}

// Any other kind, by what it says of itself.
void addDescribed(const format::Manifest &manifest, const format::Program &program,
                  const format::Instruction &source, Accesses &out) {
  format::Description description;
  format::describe(source, description);
  const format::Launch *launch = source.op_as_Launch();
  uint32_t index = 0;
  for (const format::Operand &operand : description.operands) {
    uint32_t position = index++;
    if (operand.access == format::Access::None)
      continue;
    bool writes = operand.access == format::Access::Write;
    if (launch) {
      const format::Kernel &kernel = *manifest.kernels()->Get(launch->kernel());
      writes = position >= kernel.num_buffers() - kernel.num_results();
    }
    uint64_t bytes = operand.dtype ? (operand.elements * format::bytesOf(*operand.dtype)).value()
                                   : program.buffers()->Get(operand.buffer)->bytes();
    addWhole(operand.buffer, bytes, writes, out);
    if (std::vector<BoxDim> box = boxOf(source, operand); !box.empty())
      setColumns(out.touches.back(), std::move(box),
                 static_cast<int64_t>(format::bytesOf(*operand.dtype)));
  }
  for (const format::Description::Scalar &scalar : description.scalars)
    out.scalarAxes |= axesOf(manifest, scalar.scalar);
  for (const format::Description::Field &field : description.fields)
    if ((field.name == std::string_view("beta") || field.name == std::string_view("accumulate")) &&
        field.value != 0)
      out.accumulates = true;
}

} // namespace

Accesses accessesOf(const format::Manifest &manifest, const format::Program &program,
                    const format::Instruction &source) {
  Accesses out;
  out.source = &source;
  if (const format::StridedCopy *op = source.op_as_StridedCopy()) {
    addCopy(manifest, *op, out);
    out.accumulates = op->accumulate();
    out.scalarAxes = static_cast<AxisSet>(out.touches[0].movesWith | out.touches[1].movesWith);
    return out;
  }
  if (const format::Collective *op = source.op_as_Collective()) {
    addCollective(manifest, *op, out);
    return out;
  }
  addDescribed(manifest, program, source, out);
  switch (source.op_type()) {
  case format::Op::Zero:
    out.flow = Flow::Zero;
    break;
  case format::Op::Record:
    out.flow = Flow::Record;
    break;
  case format::Op::Wait:
    out.flow = Flow::Wait;
    break;
  case format::Op::Transfer:
    out.flow =
        source.op_as_Transfer()->kind() == format::TransferKind::send ? Flow::Send : Flow::Receive;
    break;
  default:
    break;
  }
  return out;
}

} // namespace dtc
