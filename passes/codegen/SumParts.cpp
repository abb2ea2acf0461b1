// Cuts long sums into parts.
#include "passes/codegen/SumParts.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace dtc;

namespace {

// Fewest rows of a part: enough for the threads of a block to work on at once.
constexpr int64_t leastRows = 16;
// Rows that a thread has in an iteration, so that their loads are in flight together.
constexpr int64_t rowsAtOnce = 4;

} // namespace

int64_t ChunkedSum::chunksOf(int64_t size) {
  int64_t runs = std::max<int64_t>(1, llvm::divideCeilSigned(size, run));
  int64_t ofChunk = llvm::divideCeilSigned(runs, wantedSumBlocks);
  ofChunk = llvm::divideCeilSigned(ofChunk, runsAtOnce) * runsAtOnce;
  return llvm::divideCeilSigned(runs, ofChunk);
}

int64_t ChunkedSum::runsOfChunk() const {
  return llvm::divideCeilSigned(llvm::divideCeilSigned(size, run), chunks);
}

int64_t RowParts::partsOf(int64_t rows, int64_t units) {
  if (units >= enoughSumBlocks || units < 1)
    return 1;
  int64_t parts = std::min(llvm::divideCeilSigned(wantedSumBlocks, units), rows / leastRows);
  if (parts < 2)
    return 1;
  // Rounds to the number of parts that are not empty.
  return llvm::divideCeilSigned(rows, llvm::divideCeilSigned(rows, parts));
}

int64_t RowParts::rowsOfPart() const { return llvm::divideCeilSigned(rows, parts); }

KernelUnit RowParts::unit(int64_t width) const {
  int64_t wide = std::min(columns, KernelBuilder::vectorWidth(columns, width));
  return {std::max<int64_t>(1, rowsOfPart() * wide), /*combines=*/rowsOfPart() > 1};
}

void RowParts::forEachUnit(
    KernelBuilder &k, int64_t width,
    llvm::function_ref<void(Value part, Value column, Lanes, SumRows)> body) const {
  KernelBuilder::ColumnBlocks blocks{parts, columns, width, rowsOfPart()};
  k.forEachColumnUnit(blocks, [&](Value part, Value column, Lanes lanes) {
    auto sumRows = [&](ValueRange zeros, AddRow addRow) {
      if (parts == 1)
        return k.combineParts(k.index(rows), KernelBuilder::Combining::Sum, zeros, rowsAtOnce,
                              addRow);
      Value first = k.mul(part, rowsOfPart());
      Value count = k.min(k.index(rowsOfPart()), k.sub(k.index(rows), first));
      return k.combineParts(
          count, KernelBuilder::Combining::Sum, zeros, rowsAtOnce,
          [&](Value row, ValueRange sums) { return addRow(k.add(first, row), sums); });
    };
    body(part, column, lanes, sumRows);
  });
}
