// Merges launches of an order: those of kernels that one merged kernel can do (Kernel.merged), if
// nothing between them depends on them.
#pragma once

#include "runtime/cuda/Driver.h"
#include "runtime/format/dte_generated.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace dtc::rt {

// The memory accesses of a launch, and the data for merging it.
struct LaunchPiece {
  // A range of device memory.
  struct Range {
    uint64_t begin = 0, end = 0;
    bool isWritten = false;
    // True if the ranges overlap and one of them is written.
    bool meets(const Range &other) const {
      return (isWritten || other.isWritten) && begin < other.end && other.begin < end;
    }
  };
  std::vector<Range> ranges;
  cu::Function merged = nullptr; // null for a launch that stays alone
  uint64_t blocks = 0;           // blocks of the merged kernel
  std::vector<uint64_t> record;  // the record described at Kernel.merged
};

// Describes a strided copy, which stays alone: its ranges go from the first to the last element of
// each side.
LaunchPiece describe(const format::StridedCopy &copy, const std::vector<char *> &buffers);

// Launches that run one after another, merged if there are several.
struct LaunchGroup {
  std::vector<size_t> members; // numbers of launches
};

// Divides launches in a row on one stream into groups, to be run in this order: no launch comes
// before one that it depends on, nor is merged with it. Launches of one merged kernel wait, if
// possible, until all of them are ready.
std::vector<LaunchGroup> groupLaunches(const std::vector<const LaunchPiece *> &launches);

// The tables that merged launches of an order read from device memory: firsts and records of each.
class LaunchTables {
public:
  explicit LaunchTables(const cu::Driver &driver) : driver(driver) {}
  ~LaunchTables();
  LaunchTables(const LaunchTables &) = delete;
  LaunchTables &operator=(const LaunchTables &) = delete;

  // Adds the table of a launch of `pieces`; `firsts` and `records` get their first words.
  void add(const std::vector<const LaunchPiece *> &pieces, size_t &firsts, size_t &records);
  // True if no table was added.
  bool empty() const { return words.empty(); }
  // Copies the tables to the device after the earlier work of `stream`. No table may be added
  // afterwards.
  Status copy(cu::Stream stream);
  // Returns the device address of a word, after copy.
  cu::DevicePtr address(size_t word) const { return memory + word * sizeof(uint64_t); }

private:
  const cu::Driver &driver;
  std::vector<uint64_t> words;
  void *host = nullptr; // source of the copy
  cu::DevicePtr memory = 0;
};

} // namespace dtc::rt
