// Chooses the kernels of grouped products and their launches.
#include "kernels/cuda/GroupedGemm.h"

#include "kernels/cuda/GroupedGemmTiling.h"

#include <cstdint>

namespace dtc::cuda {

namespace {

int64_t divideUp(int64_t value, int64_t by) { return (value + by - 1) / by; }

bool isAligned(const void *address) { return reinterpret_cast<uintptr_t>(address) % 16 == 0; }

bool hasTensorCores(ElementType type, const GroupedGemmParams &p) {
  return type != ElementType::F32 && p.k % 8 == 0 && p.n % 8 == 0 && isAligned(p.a) &&
         isAligned(p.b) && isAligned(p.c);
}

} // namespace

std::string planGroupedGemm(ElementType type, ElementType resultType, GroupedGemmParams &params,
                            std::vector<Launch> &launches) {
  launches.clear();
  if (params.groups < 0 || params.samples < 0 || params.rows < 0 || params.k < 0 || params.n < 0)
    return "grouped_gemm: a size is negative";
  if (params.groups == 0 || params.k == 0 || params.n == 0)
    return "";
  bool narrow = hasTensorCores(type, params);
  int64_t tileRows = narrow ? kGroupedRows : kGeneralGroupedRows;
  // Every group cuts off one tile of rows at most.
  int64_t rowTiles = params.sumsRows ? divideUp(params.k, tileRows)
                                     : divideUp(params.rows, tileRows) + params.groups;
  int64_t columnTiles = divideUp(params.n, kGroupedColumns);
  int64_t blocks = rowTiles * columnTiles * (params.sumsRows ? params.groups : 1);
  const char *form = params.sumsRows ? "_sums" : params.transB ? "_transposed" : "_rows";
  Launch launch{std::string(narrow ? "GroupedGemm_" : "GroupedGemmGeneral_") + nameOf(type) + "_" +
                    nameOf(resultType) + (narrow ? form : ""),
                static_cast<uint32_t>(blocks), 1, kGroupedThreads,
                narrow ? static_cast<uint32_t>(kGroupedSharedBytes) : 0u};
  if (blocks > kMaxGridX)
    return "grouped_gemm: kernel '" + launch.kernel + "' needs " + std::to_string(blocks) +
           " blocks, a grid has " + std::to_string(kMaxGridX);
  params.rowTiles = static_cast<int32_t>(rowTiles);
  params.columnTiles = static_cast<int32_t>(columnTiles);
  launches.push_back(launch);
  return "";
}

} // namespace dtc::cuda
