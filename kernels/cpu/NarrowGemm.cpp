// Matrix products of 16-bit floats: by oneDNN if the processor multiplies them and no operand is
// subnormal; else packing converts operands to f32, the tiles of this library multiply them, and
// the f32 sums are rounded once.
//
// C is cut into columns so that the part of B that they need, of all depths, is packed at once: one
// task sums every element of C completely, in order of k, before it is rounded. So its bits depend
// on neither threads nor blocks. Cost: 2*batch*m*n*k flops at the rate of f32, and the conversion
// of B once and of A once for each block of columns.
#include "kernels/cpu/NarrowGemm.h"

#include "kernels/cpu/GemmTable.h"
#include "kernels/cpu/IsaKernels.h"
#include "kernels/cpu/OneDnnGemm.h"
#include "kernels/cpu/Scratch.h"
#include "kernels/cpu/ThreadPool.h"

#include <algorithm>
#include <atomic>

namespace dtc::cpu {

namespace {

constexpr int64_t kDepthBlock = 512;
constexpr int64_t kPackedFloats = 3 * 512 * 1024; // packed part of B, if k allows: 6 MiB
constexpr int64_t kLeastPanels = 4, kMostPanels = 48;
constexpr int64_t kMostRows = 96;

// Number of multiplications below which a call of oneDNN (2.5 us) costs more than it saves.
constexpr int64_t kTinyWork = 40 * 40 * 40;

thread_local Scratch columnScratch, rowScratch, sourceScratch, resultScratch;

int64_t divideUp(int64_t value, int64_t by) { return (value + by - 1) / by; }

const char *at(const void *base, ElementType type, int64_t element) {
  return static_cast<const char *>(base) + element * bytesOf(type);
}
char *at(void *base, ElementType type, int64_t element) {
  return static_cast<char *>(base) + element * bytesOf(type);
}

// Converts `rows` x `columns` elements from `first` on to f32, without gaps in `to`.
void widenRows(const NarrowGemmArgs &args, const void *matrix, int64_t first, int64_t ld,
               int64_t rows, int64_t columns, const IsaKernels &isa, float *to) {
  for (int64_t row = 0; row < rows; ++row)
    isa.widen(args.type, at(matrix, args.type, first + row * ld), to + row * columns, columns);
}

// Packs columns [column, column + columns) of op(B), one block of depth after the other.
void packColumns(const NarrowGemmArgs &args, int64_t column, int64_t columns, const IsaKernels &isa,
                 float *packed, ThreadPool &pool) {
  int64_t panels = divideUp(columns, isa.tileColumns), padded = panels * isa.tileColumns;
  int64_t depths = divideUp(args.k, kDepthBlock);
  pool.parallelFor(panels * depths, 1, [&](int64_t begin, int64_t end) {
    float *source = sourceScratch.reserve(kDepthBlock * isa.tileColumns);
    for (int64_t task = begin; task < end; ++task) {
      int64_t first = task % panels * isa.tileColumns, depth = task / panels * kDepthBlock;
      int64_t width = std::min<int64_t>(isa.tileColumns, columns - first);
      int64_t height = std::min(kDepthBlock, args.k - depth), from = column + first;
      if (args.transB)
        widenRows(args, args.b, from * args.ldb + depth, args.ldb, width, height, isa, source);
      else
        widenRows(args, args.b, depth * args.ldb + from, args.ldb, height, width, isa, source);
      isa.packB(source, args.transB ? height : width, args.transB, height, width,
                packed + depth * padded + first * height);
    }
  });
}

// Computes rows [row, row + rows) of C for `columns` columns from `column` on; `packed` holds op(B)
// for these.
void multiplyRows(const NarrowGemmArgs &args, int64_t row, int64_t rows, int64_t column,
                  int64_t columns, const IsaKernels &isa, const float *packed) {
  int64_t padded = divideUp(columns, isa.tileColumns) * isa.tileColumns;
  bool isWide = args.resultType == ElementType::F32;
  float *sums = isWide ? static_cast<float *>(args.c) + row * args.ldc + column
                       : resultScratch.reserve(rows * columns);
  int64_t ld = isWide ? args.ldc : columns;
  if (!isWide && args.beta != 0)
    for (int64_t i = 0; i < rows; ++i)
      isa.widen(args.resultType, at(args.c, args.resultType, (row + i) * args.ldc + column),
                sums + i * columns, columns);
  float *source = sourceScratch.reserve(kDepthBlock * rows);
  float *panels = rowScratch.reserve((rows + isa.tileRows) * kDepthBlock + 16);
  for (int64_t depth = 0; depth < args.k; depth += kDepthBlock) {
    int64_t height = std::min(kDepthBlock, args.k - depth);
    if (args.transA)
      widenRows(args, args.a, depth * args.lda + row, args.lda, height, rows, isa, source);
    else
      widenRows(args, args.a, row * args.lda + depth, args.lda, rows, height, isa, source);
    isa.packA(source, args.transA ? rows : height, args.transA, rows, height, panels);
    isa.multiplyPacked(rows, columns, height, panels, packed + depth * padded, sums, ld, args.alpha,
                       depth == 0 ? args.beta : 1);
  }
  if (!isWide)
    for (int64_t i = 0; i < rows; ++i)
      isa.narrow(args.resultType, sums + i * columns,
                 at(args.c, args.resultType, (row + i) * args.ldc + column), columns);
}

void multiplyOne(const NarrowGemmArgs &args, ThreadPool &pool) {
  const IsaKernels &isa = isaKernels();
  int64_t panels =
      std::clamp(kPackedFloats / (args.k * isa.tileColumns), kLeastPanels, kMostPanels);
  int64_t width = std::min(panels, divideUp(args.n, isa.tileColumns)) * isa.tileColumns;
  // Gives all tasks equally many rows, and each thread some.
  int64_t tasks = divideUp(divideUp(args.m, kMostRows), pool.size()) * pool.size();
  int64_t rows = divideUp(divideUp(args.m, tasks), isa.tileRows) * isa.tileRows;
  float *packed = columnScratch.reserve(width * args.k);
  for (int64_t column = 0; column < args.n; column += width) {
    int64_t columns = std::min(width, args.n - column);
    packColumns(args, column, columns, isa, packed, pool);
    pool.parallelFor(divideUp(args.m, rows), 1, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task)
        multiplyRows(args, task * rows, std::min(rows, args.m - task * rows), column, columns, isa,
                     packed);
    });
  }
}

// Computes C = beta * C.
void scaleOnly(const NarrowGemmArgs &args) {
  const IsaKernels &isa = isaKernels();
  float *row = resultScratch.reserve(args.n);
  for (int64_t i = 0; i < args.m; ++i) {
    char *c = at(args.c, args.resultType, i * args.ldc);
    isa.widen(args.resultType, c, row, args.n);
    for (int64_t j = 0; j < args.n; ++j)
      row[j] = args.beta == 0 ? 0 : args.beta * row[j];
    isa.narrow(args.resultType, row, c, args.n);
  }
}

NarrowGemmArgs matrixOfBatch(NarrowGemmArgs args, int64_t index) {
  args.a = at(args.a, args.type, index * args.strideA);
  args.b = at(args.b, args.type, index * args.strideB);
  args.c = at(args.c, args.resultType, index * args.strideC);
  args.batch = 1;
  return args;
}

// Makes a library call for each piece. Pieces are cut as those of f32: so the bits of the result
// depend on the shape alone.
void callLibrary(const NarrowGemmArgs &args, ThreadPool &pool) {
  GemmPlan plan = cutForLibrary(GemmBackend::OneDnn,
                                {args.m, args.n, args.k, args.batch, args.transA, args.transB});
  int64_t tilesM = divideUp(args.m, plan.tileM), tilesN = divideUp(args.n, plan.tileN);
  pool.parallelFor(args.batch * tilesM * tilesN, 1, [&](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile) {
      NarrowGemmArgs part = matrixOfBatch(args, tile / (tilesM * tilesN));
      int64_t row = tile % tilesM * plan.tileM, column = tile / tilesM % tilesN * plan.tileN;
      part.m = std::min(plan.tileM, args.m - row);
      part.n = std::min(plan.tileN, args.n - column);
      part.a = at(part.a, args.type, args.transA ? row : row * args.lda);
      part.b = at(part.b, args.type, args.transB ? column * args.ldb : column);
      part.c = at(part.c, args.resultType, row * args.ldc + column);
      if (!libraryNarrowGemm(part))
        multiplyOne(part, pool); // oneDNN refused the operands
    }
  });
}

// Returns true if some of `count` bf16 are subnormal: of exponent 0, but not 0.
bool anySubnormal(const uint16_t *values, int64_t count) {
  constexpr uint16_t magnitudeBits = 0x7fff, mantissaBits = 0x7f;
  uint16_t least = 0xffff; // of the magnitudes less 1, which makes a 0 the largest
  for (int64_t i = 0; i < count; ++i)
    least = std::min<uint16_t>(least, static_cast<uint16_t>((values[i] & magnitudeBits) - 1));
  return least < mantissaBits;
}

} // namespace

bool hasSubnormals(const NarrowGemmArgs &args, ThreadPool &pool) {
  constexpr int64_t grainElements = 64 * 1024; // some 5 us, more than waking a thread takes
  std::atomic<bool> found{false};
  auto scan = [&](const void *base, int64_t rows, int64_t columns, int64_t ld, int64_t stride) {
    const auto *matrix = static_cast<const uint16_t *>(base);
    int64_t grain = std::max<int64_t>(1, grainElements / std::max<int64_t>(1, columns));
    int64_t copies = stride == 0 ? 1 : args.batch;
    pool.parallelFor(copies * rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end && !found.load(std::memory_order_relaxed); ++row)
        if (anySubnormal(matrix + row / rows * stride + row % rows * ld, columns))
          found.store(true, std::memory_order_relaxed);
    });
  };
  scan(args.a, args.transA ? args.k : args.m, args.transA ? args.m : args.k, args.lda,
       args.strideA);
  scan(args.b, args.transB ? args.n : args.k, args.transB ? args.k : args.n, args.ldb,
       args.strideB);
  return found;
}

void narrowGemm(const NarrowGemmArgs &args, ThreadPool &pool) {
  if (args.m == 0 || args.n == 0)
    return;
  bool isTiny = args.m * args.n * args.k < kTinyWork;
  if (args.k > 0 && args.alpha != 0 && !isTiny && hasLibraryProducts(args.type) &&
      !hasSubnormals(args, pool))
    return callLibrary(args, pool);
  packedNarrowGemm(args, pool);
}

void packedNarrowGemm(const NarrowGemmArgs &args, ThreadPool &pool) {
  auto multiply = [&](int64_t index) {
    NarrowGemmArgs one = matrixOfBatch(args, index);
    if (args.k == 0 || args.alpha == 0)
      scaleOnly(one);
    else
      multiplyOne(one, pool);
  };
  if (args.batch == 1)
    return multiply(0);
  pool.parallelFor(args.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      multiply(i);
  });
}

} // namespace dtc::cpu
