// Matrix product from the register tiles of this library.
//
// C is cut into columns of kColumnBlock and the sum into depths of kDepthBlock. For each, all
// threads pack panels of B; then threads take blocks of rows, pack those rows of A into their own
// second-level cache, and multiply. Every element of C is a sum in order of k within depths in
// order, so its bits depend on neither threads nor blocks of rows and columns.
#include "kernels/cpu/TiledGemm.h"

#include "kernels/cpu/IsaKernels.h"
#include "kernels/cpu/Scratch.h"
#include "kernels/cpu/ThreadPool.h"

#include <algorithm>

namespace dtc::cpu {

namespace {

// Chosen by measurement on Zen 5 against 256, 384 x 768, 3072 x 192, 384. With AVX-512 a panel of B
// is 64 KiB.
constexpr int64_t kDepthBlock = 512;
constexpr int64_t kColumnBlock = 1536; // packed B is 3 MiB at most: in the third-level cache
constexpr int64_t kMostRows = 96;      // packed A is 192 KiB at most: in the second-level cache
constexpr int64_t kPanelsPerTask = 16; // fewest panels of columns per task, if there are as many

thread_local Scratch rowScratch, columnScratch;

int64_t divideUp(int64_t value, int64_t by) { return (value + by - 1) / by; }

struct Cut {
  int64_t rows, columns;         // size of one task
  int64_t rowTasks, columnTasks; // number of tasks
};

// Chooses blocks of rows of equal length, a multiple of threads if possible. Columns are only split
// if there would be too few tasks, as every split of columns packs A once more.
Cut cutBlock(int64_t m, int64_t n, int threads, const IsaKernels &isa) {
  Cut cut;
  int64_t rowTasks = divideUp(divideUp(m, kMostRows), threads) * threads;
  cut.rows = divideUp(divideUp(m, rowTasks), isa.tileRows) * isa.tileRows;
  // below this, reading packed B from cache would be the bottleneck
  int64_t leastRows = 8 * isa.tileRows;
  cut.rows = std::max(cut.rows, std::min(leastRows, m));
  cut.rowTasks = divideUp(m, cut.rows);
  int64_t panels = divideUp(n, isa.tileColumns);
  int64_t wanted = cut.rowTasks >= threads ? 1 : divideUp(2 * threads, cut.rowTasks);
  cut.columnTasks = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, panels / kPanelsPerTask));
  int64_t perTask = divideUp(panels, cut.columnTasks);
  cut.columnTasks = divideUp(panels, perTask);
  cut.columns = perTask * isa.tileColumns;
  return cut;
}

// One block of columns and depth, for which B is packed; beta applies to the previous contents of
// C.
struct Block {
  int64_t column, columns, depth, depths;
  float beta;
};

void packColumns(const GemmArgs &args, const Block &block, const IsaKernels &isa, float *packed,
                 ThreadPool &pool) {
  int64_t panels = divideUp(block.columns, isa.tileColumns);
  pool.parallelFor(panels, 4, [&](int64_t begin, int64_t end) {
    int64_t first = begin * isa.tileColumns;
    int64_t last = std::min(block.columns, end * isa.tileColumns);
    int64_t column = block.column + first;
    const float *b = args.transB ? args.b + column * args.ldb + block.depth
                                 : args.b + block.depth * args.ldb + column;
    isa.packB(b, args.ldb, args.transB, block.depths, last - first, packed + first * block.depths);
  });
}

void multiplyBlock(const GemmArgs &args, const Block &block, const IsaKernels &isa,
                   const float *packed, ThreadPool &pool) {
  Cut cut = cutBlock(args.m, block.columns, pool.size(), isa);
  pool.parallelFor(cut.rowTasks * cut.columnTasks, 1, [&](int64_t begin, int64_t end) {
    float *rowPanels = rowScratch.reserve((cut.rows + isa.tileRows) * block.depths + 16);
    int64_t packedRow = -1;
    for (int64_t task = begin; task < end; ++task) {
      int64_t row = task / cut.columnTasks * cut.rows,
              column = task % cut.columnTasks * cut.columns;
      int64_t rows = std::min(cut.rows, args.m - row);
      if (row != packedRow) {
        const float *a = args.transA ? args.a + block.depth * args.lda + row
                                     : args.a + row * args.lda + block.depth;
        isa.packA(a, args.lda, args.transA, rows, block.depths, rowPanels);
        packedRow = row;
      }
      isa.multiplyPacked(rows, std::min(cut.columns, block.columns - column), block.depths,
                         rowPanels, packed + column * block.depths,
                         args.c + row * args.ldc + block.column + column, args.ldc, args.alpha,
                         block.beta);
    }
  });
}

} // namespace

void tiledGemm(const GemmArgs &args, ThreadPool &pool) {
  const IsaKernels &isa = isaKernels();
  int64_t widest = divideUp(std::min(args.n, kColumnBlock), isa.tileColumns) * isa.tileColumns;
  float *packed = columnScratch.reserve(widest * std::min(args.k, kDepthBlock));
  for (int64_t column = 0; column < args.n; column += kColumnBlock)
    for (int64_t depth = 0; depth < args.k; depth += kDepthBlock) {
      Block block{column, std::min(kColumnBlock, args.n - column), depth,
                  std::min(kDepthBlock, args.k - depth), depth == 0 ? args.beta : 1};
      packColumns(args, block, isa, packed, pool);
      multiplyBlock(args, block, isa, packed, pool);
    }
}

} // namespace dtc::cpu
