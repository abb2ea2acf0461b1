// Orders and joins the dims of a strided copy, and chooses its kernel.
#include "kernels/cuda/StridedCopy.h"

#include "kernels/cuda/StridedCopyTiling.h"

#include <algorithm>
#include <cstdlib>

namespace dtc::cuda {

namespace {

constexpr int64_t kVectorBytes = 16;

std::string check(const CopyBox &box) {
  if (box.numDims < 0 || box.numDims > kMaxCopyDims)
    return "strided copy: " + std::to_string(box.numDims) + " dims, kernels have 0 to " +
           std::to_string(kMaxCopyDims);
  if (box.elementBytes != 1 && box.elementBytes != 2 && box.elementBytes != 4 &&
      box.elementBytes != 8)
    return "strided copy: elements of " + std::to_string(box.elementBytes) +
           " bytes, kernels have 1, 2, 4 and 8";
  if (box.accumulate && box.elementBytes != 4)
    return "strided copy: adds elements of " + std::to_string(box.elementBytes) +
           " bytes, kernels add f32 alone";
  for (int i = 0; i < box.numDims; ++i)
    if (box.sizes[i] < 0)
      return "strided copy: dim " + std::to_string(i) + " has " + std::to_string(box.sizes[i]) +
             " elements";
  return "";
}

int64_t product(const CopyDim *dims, int count) {
  int64_t all = 1;
  for (int i = 0; i < count; ++i)
    all *= dims[i].size;
  return all;
}

// Orders dims by stride of dst, largest outermost, joins dims that are contiguous on both sides,
// and separates dims with stride 0 in dst. The latter are summed, or else the last element stays:
// `srcOffset` is advanced to it.
void simplify(const CopyBox &box, StridedCopyParams &params, int64_t &srcOffset) {
  params.numDims = params.numSumDims = 0;
  for (int i = 0; i < box.numDims; ++i) {
    CopyDim dim{box.sizes[i], box.srcStrides[i], box.dstStrides[i]};
    if (dim.size == 1)
      continue;
    if (dim.dst == 0) {
      if (box.accumulate)
        params.sumDims[params.numSumDims++] = dim;
      else
        srcOffset += (dim.size - 1) * dim.src;
      continue;
    }
    int at = params.numDims++; // insertion: few dims, equal strides keep their order
    for (; at > 0 && std::abs(params.dims[at - 1].dst) < std::abs(dim.dst); --at)
      params.dims[at] = params.dims[at - 1];
    params.dims[at] = dim;
  }
  int kept = 0;
  for (int i = 0; i < params.numDims; ++i) {
    CopyDim inner = params.dims[i];
    if (kept > 0) {
      CopyDim &outer = params.dims[kept - 1];
      if (outer.src == inner.src * inner.size && outer.dst == inner.dst * inner.size) {
        outer = {outer.size * inner.size, inner.src, inner.dst};
        continue;
      }
    }
    params.dims[kept++] = inner;
  }
  params.numDims = kept;
}

// Returns the dim along which src is contiguous and dst is not; -1 if the box is no transpose.
int transposedDim(const StridedCopyParams &params) {
  if (params.numDims < 2)
    return -1;
  const CopyDim &inner = params.dims[params.numDims - 1];
  if (inner.dst != 1 || inner.src == 1)
    return -1;
  for (int i = params.numDims - 2; i >= 0; --i)
    if (params.dims[i].src == 1)
      return i;
  return -1;
}

// Returns the elements of the largest unit: both sides must be contiguous and aligned, and all
// other strides whole units.
int64_t unitElements(const StridedCopyParams &params, int64_t elementBytes, int64_t most) {
  if (params.numDims == 0)
    return 1;
  const CopyDim &inner = params.dims[params.numDims - 1];
  if (inner.src != 1 || inner.dst != 1)
    return 1;
  for (int64_t unit = most; unit > 1; unit /= 2) {
    auto bytes = static_cast<uintptr_t>(unit * elementBytes);
    bool fits = inner.size % unit == 0 && reinterpret_cast<uintptr_t>(params.src) % bytes == 0 &&
                reinterpret_cast<uintptr_t>(params.dst) % bytes == 0;
    for (int i = 0; i + 1 < params.numDims; ++i)
      fits = fits && params.dims[i].src % unit == 0 && params.dims[i].dst % unit == 0;
    if (fits)
      return unit;
  }
  return 1;
}

void widenUnits(StridedCopyParams &params, int64_t unit) {
  if (unit == 1)
    return;
  for (int i = 0; i + 1 < params.numDims; ++i)
    params.dims[i].src /= unit, params.dims[i].dst /= unit;
  params.dims[params.numDims - 1].size /= unit;
}

std::string addLaunch(std::vector<Launch> &launches, const std::string &name, int64_t blocks) {
  if (blocks > kMaxGridX)
    return "strided copy: kernel 'StridedCopy_" + name + "' needs " + std::to_string(blocks) +
           " blocks, a grid has " + std::to_string(kMaxGridX);
  launches.push_back({"StridedCopy_" + name, static_cast<uint32_t>(blocks), 1, kCopyThreads, 0});
  return "";
}

int64_t blocksOf(int64_t units, int64_t perBlock) { return (units + perBlock - 1) / perBlock; }

std::string planTranspose(const CopyBox &box, int across, StridedCopyParams &params,
                          std::vector<Launch> &launches) {
  // Moves the transposed dim next to the innermost one.
  std::rotate(params.dims + across, params.dims + across + 1, params.dims + params.numDims - 1);
  int64_t tile = transposeTile(box.elementBytes);
  params.units = product(params.dims, params.numDims - 2) *
                 blocksOf(params.dims[params.numDims - 2].size, tile) *
                 blocksOf(params.dims[params.numDims - 1].size, tile);
  return addLaunch(launches,
                   box.accumulate ? "transposeAdd" : "transpose" + std::to_string(box.elementBytes),
                   params.units);
}

} // namespace

std::string planStridedCopy(const CopyBox &box, const void *src, void *dst,
                            StridedCopyParams &params, std::vector<Launch> &launches) {
  launches.clear();
  params = {};
  if (std::string error = check(box); !error.empty())
    return error;
  for (int i = 0; i < box.numDims; ++i)
    if (box.sizes[i] == 0)
      return "";
  int64_t srcOffset = 0;
  simplify(box, params, srcOffset);
  params.src = src ? static_cast<const char *>(src) + srcOffset * box.elementBytes : nullptr;
  params.dst = dst;
  params.sums = product(params.sumDims, params.numSumDims);
  if (params.numSumDims > 0) {
    params.units = product(params.dims, params.numDims);
    return addLaunch(launches, "sum", blocksOf(params.units, kCopyThreads));
  }
  if (int across = transposedDim(params); across >= 0)
    return planTranspose(box, across, params, launches);
  int64_t unit = unitElements(params, box.elementBytes, kVectorBytes / box.elementBytes);
  // Adds in units of 4 elements or 1.
  if (box.accumulate && unit != 4)
    unit = 1;
  widenUnits(params, unit);
  params.units = product(params.dims, params.numDims);
  return addLaunch(launches,
                   box.accumulate ? "add" + std::to_string(unit)
                                  : "copy" + std::to_string(unit * box.elementBytes),
                   blocksOf(params.units, kCopyThreads * kCopyPerThread));
}

} // namespace dtc::cuda
