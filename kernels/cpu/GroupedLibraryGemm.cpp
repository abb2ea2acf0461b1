// Matrix products of groups of rows by oneDNN. It makes code for each shape, which takes
// milliseconds and memory, so shapes must not depend on the counts: rows are taken 256 at a time,
// or summed over 512 at a time, and the last ones go through copies with zeros behind them, up to
// one of a few numbers of rows.
#include "kernels/cpu/GroupedLibraryGemm.h"

#include "kernels/cpu/GemmTable.h"
#include "kernels/cpu/IsaKernels.h"
#include "kernels/cpu/NarrowGemm.h"
#include "kernels/cpu/OneDnnGemm.h"
#include "kernels/cpu/Scratch.h"
#include "kernels/cpu/ThreadPool.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

namespace dtc::cpu {

namespace {

constexpr int64_t kSummedRows = 512; // of a call that sums over rows

thread_local Scratch leftScratch, rightScratch, resultScratch;

int64_t divideUp(int64_t value, int64_t by) { return (value + by - 1) / by; }

const char *at(const void *base, ElementType type, int64_t element) {
  return static_cast<const char *>(base) + element * bytesOf(type);
}
char *at(void *base, ElementType type, int64_t element) {
  return static_cast<char *>(base) + element * bytesOf(type);
}

// Returns the rows of the shape that computes `rows`: 8, 16, or a multiple of 32.
int64_t padded(int64_t rows) { return rows <= 8 ? 8 : rows <= 16 ? 16 : divideUp(rows, 32) * 32; }

// Copies `rows` x `columns` elements, `ld` apart, and puts zeros behind them up to `allRows`.
void *copyPadded(const void *from, ElementType type, int64_t ld, int64_t rows, int64_t columns,
                 int64_t allRows, Scratch &scratch) {
  int64_t rowBytes = columns * bytesOf(type);
  char *to = reinterpret_cast<char *>(scratch.reserve(divideUp(allRows * rowBytes, 4)));
  for (int64_t row = 0; row < rows; ++row)
    std::memcpy(to + row * rowBytes, at(from, type, row * ld), static_cast<size_t>(rowBytes));
  std::memset(to + rows * rowBytes, 0, static_cast<size_t>((allRows - rows) * rowBytes));
  return to;
}

void call(const NarrowGemmArgs &product, ThreadPool &pool) {
  if (!libraryNarrowGemm(product))
    packedNarrowGemm(product, pool); // oneDNN refused the operands
}

// A tile of the result of a group's product: `row` counts from the group's first.
struct Tile {
  GroupRows rows;
  int64_t row, column;
};

// Computes a tile of c = a op(b).
void multiplyTile(const GroupedGemmArgs &args, const GemmPlan &plan, const Tile &tile,
                  ThreadPool &pool) {
  int64_t first = tile.rows.first + tile.row, ldb = args.transB ? args.k : args.n;
  int64_t rows = std::min(plan.tileM, tile.rows.count - tile.row);
  int64_t matrix = tile.rows.group * args.k * args.n;
  char *c = at(args.c, args.resultType, first * args.n + tile.column);
  NarrowGemmArgs product{
      .a = at(args.a, args.type, first * args.k),
      .b = at(args.b, args.type, matrix + (args.transB ? tile.column * ldb : tile.column)),
      .c = c,
      .type = args.type,
      .resultType = args.resultType,
      .m = rows,
      .n = std::min(plan.tileN, args.n - tile.column),
      .k = args.k,
      .lda = args.k,
      .ldb = ldb,
      .ldc = args.n,
      .transB = args.transB};
  if (rows == plan.tileM)
    return call(product, pool);
  product.m = std::min(padded(rows), plan.tileM);
  product.a = copyPadded(product.a, args.type, args.k, rows, args.k, product.m, leftScratch);
  int64_t rowBytes = product.n * bytesOf(args.resultType);
  auto *result = reinterpret_cast<char *>(resultScratch.reserve(divideUp(product.m * rowBytes, 4)));
  product.c = result, product.ldc = product.n;
  call(product, pool);
  for (int64_t row = 0; row < rows; ++row)
    std::memcpy(at(c, args.resultType, row * args.n), result + row * rowBytes,
                static_cast<size_t>(rowBytes));
}

// Computes a tile of c = transpose of a * b, in f32, which is rounded at the end.
void sumTile(const GroupedGemmArgs &args, const GemmPlan &plan, const Tile &tile,
             ThreadPool &pool) {
  NarrowGemmArgs product{};
  product.type = args.type, product.resultType = ElementType::F32;
  product.m = std::min(plan.tileM, args.k - tile.row);
  product.n = std::min(plan.tileN, args.n - tile.column);
  product.ldc = args.n;
  product.transA = true;
  int64_t to = (tile.rows.group * args.k + tile.row) * args.n + tile.column;
  bool isWide = args.resultType == ElementType::F32;
  product.c = at(args.c, args.resultType, to);
  if (!isWide)
    product.c = resultScratch.reserve(product.m * product.n), product.ldc = product.n;
  for (int64_t row = 0; row < tile.rows.count; row += kSummedRows) {
    int64_t first = tile.rows.first + row, rows = std::min(kSummedRows, tile.rows.count - row);
    product.a = at(args.a, args.type, first * args.k + tile.row), product.lda = args.k;
    product.b = at(args.b, args.type, first * args.n + tile.column), product.ldb = args.n;
    product.k = rows;
    product.beta = row > 0 || args.accumulate ? 1 : 0;
    if (rows < kSummedRows) {
      product.k = padded(rows);
      product.a = copyPadded(product.a, args.type, args.k, rows, product.m, product.k, leftScratch);
      product.b =
          copyPadded(product.b, args.type, args.n, rows, product.n, product.k, rightScratch);
      product.lda = product.m, product.ldb = product.n;
    }
    call(product, pool);
  }
  for (int64_t row = 0; row < product.m && !isWide; ++row)
    isaKernels().narrow(args.resultType, static_cast<float *>(product.c) + row * product.n,
                        at(args.c, args.resultType, to + row * args.n), product.n);
}

} // namespace

void groupedLibraryGemm(const GroupedGemmArgs &args, std::span<const GroupRows> groups,
                        ThreadPool &pool) {
  // Tiles depend on the counts no more than shapes do: those of any matrix that is large enough.
  int64_t many = std::numeric_limits<int32_t>::max();
  GemmPlan plan = cutForLibrary(GemmBackend::OneDnn, {args.sumsRows ? args.k : many, args.n, args.k,
                                                      1, args.sumsRows, args.transB});
  static thread_local std::vector<Tile> found;
  std::vector<Tile> &tiles = found; // the caller's, which other threads read below
  tiles.clear();
  for (const GroupRows &rows : groups)
    for (int64_t column = 0; column < args.n; column += plan.tileN)
      for (int64_t row = 0; row < (args.sumsRows ? args.k : rows.count); row += plan.tileM)
        tiles.push_back({rows, row, column});
  pool.parallelFor(static_cast<int64_t>(tiles.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      (args.sumsRows ? sumTile : multiplyTile)(args, plan, tiles[static_cast<size_t>(i)], pool);
  });
}

} // namespace dtc::cpu
