// The memory that emulated kernels may access. For each byte it records whether it was ever
// written, and which thread of the running kernel used it last.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/simt/Races.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>

namespace dtc::simt {

// A contiguous piece of memory. A device address is an address of this process.
struct Range {
  ~Range();
  Range() = default;
  Range(const Range &) = delete;
  Range &operator=(const Range &) = delete;

  // Returns a range over the caller's memory, which counts as written. `written` is null if there
  // is no memory for the flags.
  static std::unique_ptr<Range> ofHost(void *address, uint64_t bytes);

  uint8_t *base = nullptr;
  uint64_t bytes = 0;
  void *mapping =
      nullptr; // has a page on each side that faults; null if the caller owns the memory
  uint64_t mappedBytes = 0;
  uint8_t *written =
      nullptr; // a flag per byte, from calloc, so that parts that are never used take no memory
  Races races;

  // Returns true if `count` bytes at `address` are all within the range.
  bool contains(const void *address, uint64_t count) const {
    auto *at = static_cast<const uint8_t *>(address);
    return at >= base && count <= bytes && static_cast<uint64_t>(at - base) <= bytes - count;
  }
};

// The ranges of global memory. Only one launch at a time may use a memory. All functions may be
// called from any thread.
// Example: void *buffer; memory.allocate(1024, buffer); memcpy(buffer, host, 1024);
// memory.markWritten(buffer, 1024);
class Memory {
public:
  // Allocates memory as cudaMalloc does, aligned to 256 bytes. It is filled with 0xff (NaN) and
  // counts as not written. Errors: ResourceExhausted.
  rt::Status allocate(uint64_t bytes, void *&address);
  // Frees the memory. Its addresses are not used again soon, so that later accesses to it are
  // found. Errors: InvalidArgument if `address` is not the start of a range that `allocate` gave.
  rt::Status free(void *address);

  // Adds host memory that kernels may use as well (pinned memory, variables of modules). It counts
  // as written, and the caller keeps owning it. Errors: InvalidArgument if it overlaps another
  // range or has no bytes, ResourceExhausted.
  rt::Status addHostRange(void *address, uint64_t bytes);
  // Removes a range that addHostRange added. Errors: InvalidArgument if `address` is not the start
  // of such a range.
  rt::Status removeHostRange(void *address);

  // Records that bytes were written by something other than a kernel, such as a copy from the host
  // or a library. Errors, here and below: InvalidArgument that names the bytes if they are not all
  // within one range of this memory.
  rt::Status markWritten(const void *address, uint64_t bytes);
  // also fills it with 0xff, for a part of an arena that is used again
  rt::Status markUnwritten(void *address, uint64_t bytes);
  // Records a copy within this memory: a byte that was not written in `source` is not written in
  // `target`. Does not copy the bytes.
  rt::Status markCopied(const void *target, const void *source, uint64_t bytes);

  // Checks bytes that a library will read in place of a kernel. `user` names the use in errors,
  // such as "gemm operand 'a'". Errors: InvalidArgument if the bytes are outside of any range, or
  // were never written.
  rt::Status checkRead(const void *address, uint64_t bytes, const std::string &user) const;
  // Checks bytes that a library will write in place of a kernel. Errors: InvalidArgument if they
  // are outside of any range.
  rt::Status checkWrite(const void *address, uint64_t bytes, const std::string &user) const;

private:
  friend class Engine;

  // The range that begins at or before `address`, or null.
  Range *findBefore(const void *address) const;
  rt::Status find(const void *address, uint64_t bytes, const std::string &user,
                  Range *&range) const;
  rt::Status insert(std::unique_ptr<Range> range);

  mutable std::recursive_mutex mutex; // locked during a launch
  std::map<const uint8_t *, std::unique_ptr<Range>> ranges;
  std::deque<std::unique_ptr<Range>> freed; // the last freed ones, whose addresses stay reserved
};

} // namespace dtc::simt
