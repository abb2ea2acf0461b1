// Finds accesses to the same bytes that are not ordered. For every 4 bytes (fewer if kernels use
// fewer) it keeps the last write and up to two reads since, each with its thread and the time of
// its warp.
// Each warp has its own time, which moves on at barriers of the block and of the warp. An access is
// ordered before another one if it was made by the same thread, by the same warp at an earlier
// time, or by a warp of the block at a time before the last barrier of the block. Between blocks it
// is ordered if one block has released what the other has acquired (Clocks.h).
#pragma once

#include "runtime/simt/Abi.h"
#include "runtime/simt/Clocks.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace dtc::simt {

// The accesses to one range of memory, page by page.
class Races {
public:
  // Records an access of the current thread of `clocks` to `bytes` bytes at `offset` of the range.
  // `epoch` is the number of the launch, or for shared memory of the block: accesses of another
  // epoch are forgotten. Returns false if there is already an unordered access. `other` is then
  // that access, and the remaining bytes are not recorded.
  // Example: after note(0, 4, Write) by thread 0, note(2, 2, Read) by thread 1 returns false, with
  // `other` the write by 0.
  bool note(uint64_t offset, uint64_t bytes, abi::Access access, uint64_t epoch,
            const Clocks &clocks, Stamp &other);

private:
  struct Cell {
    Stamp write;
    Stamp reads[2];
  };
  struct Page {
    uint64_t epoch = 0;
    unsigned shift = 0; // a cell covers 1 << shift bytes
    std::vector<Cell> cells;
  };
  static constexpr uint64_t pageBytes = 4096;

  static void refine(Page &page, unsigned shift);
  Page &pageAt(uint64_t index, uint64_t epoch, unsigned shift);
  static bool noteCell(Cell &cell, abi::Access access, const Clocks &clocks, Stamp &other);

  std::vector<std::unique_ptr<Page>> pages;
};

} // namespace dtc::simt
