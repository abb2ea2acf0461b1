// Finds accesses to the same bytes that nothing orders: for every 4 bytes (fewer where kernels use fewer) the last
// write and up to two reads since, each with the thread and the time of its warp.
//
// Time is per warp and moves on at barriers, of the block and of the warp. An access is ordered before another one when
// it was made by the same thread, by the same warp at an earlier time, or by a warp of the block at a time that lies
// before the last barrier of the block; between blocks, when one has released what the other has acquired (Clocks.h).
#pragma once

#include "runtime/simt/Abi.h"
#include "runtime/simt/Clocks.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace dtc::simt {

class Races {
public:
  // Notes an access of the thread that `clocks` is at, to `bytes` bytes at `offset` of the range. `epoch` is the launch,
  // or for shared memory the block: what was noted in another epoch is forgotten. Returns false when an unordered
  // access is there already, which `other` then is; nothing is noted from there on.
  //
  // Example: after note(0, 4, Write) by thread 0, note(2, 2, Read) by thread 1 is false, `other` the write by 0.
  bool note(uint64_t offset, uint64_t bytes, abi::Access access, uint64_t epoch,
            const Clocks &clocks, Stamp &other);

private:
  struct Cell {
    Stamp write;
    Stamp reads[2];
  };
  struct Page {
    uint64_t epoch = 0;
    unsigned shift = 0; // a cell is of 1 << shift bytes
    std::vector<Cell> cells;
  };
  static constexpr uint64_t pageBytes = 4096;

  static void refine(Page &page, unsigned shift);
  Page &pageAt(uint64_t index, uint64_t epoch, unsigned shift);
  static bool noteCell(Cell &cell, abi::Access access, const Clocks &clocks, Stamp &other);

  std::vector<std::unique_ptr<Page>> pages;
};

} // namespace dtc::simt
