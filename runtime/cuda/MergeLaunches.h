// Which launches of an order become one: those of kernels that a merged kernel does (Kernel.merged), where nothing between them
// depends on them.
#pragma once

#include "runtime/cuda/Driver.h"
#include "runtime/format/dte_generated.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace dtc::rt {

// What a launch reads and writes, and how it is one with others.
struct LaunchPiece {
  struct Range {
    uint64_t begin = 0, end = 0;
    bool isWritten = false;
    bool meets(const Range &other) const {
      return (isWritten || other.isWritten) && begin < other.end && other.begin < end;
    }
  };
  std::vector<Range> ranges;
  cu::Function merged = nullptr; // null for a launch that stays alone
  uint64_t blocks = 0;           // of the merged kernel
  std::vector<uint64_t> record;  // as Kernel.merged says
};

// A strided copy, which stays alone: all from the first to the last element of each side.
LaunchPiece describe(const format::StridedCopy &copy, const std::vector<char *> &buffers);

// Launches that run one after another, as one where there are several.
struct LaunchGroup {
  std::vector<size_t> members; // numbers of launches
};

// Launches that stand in a row on one stream as groups, to be run in this order: no launch comes before one that it depends on, nor
// is one with it. What one kernel does waits, where it can, for all of it to be ready.
std::vector<LaunchGroup> groupLaunches(const std::vector<const LaunchPiece *> &launches);

// What merged launches of an order read: firsts and records of each, in the memory of the device.
class LaunchTables {
public:
  explicit LaunchTables(const cu::Driver &driver) : driver(driver) {}
  ~LaunchTables();
  LaunchTables(const LaunchTables &) = delete;
  LaunchTables &operator=(const LaunchTables &) = delete;

  // Adds the table of a launch of `pieces`, and says at which of its words the firsts and the records begin.
  void add(const std::vector<const LaunchPiece *> &pieces, size_t &firsts, size_t &records);
  bool empty() const { return words.empty(); }
  // Has the device have them once what `stream` has been told so far is done. All have been added.
  Status copy(cu::Stream stream);
  // Where a word is, after copy.
  cu::DevicePtr address(size_t word) const { return memory + word * sizeof(uint64_t); }

private:
  const cu::Driver &driver;
  std::vector<uint64_t> words;
  void *host = nullptr; // where they are copied from
  cu::DevicePtr memory = 0;
};

} // namespace dtc::rt
