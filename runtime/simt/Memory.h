// The memory that emulated kernels may touch, and what is known of every byte of it: whether it was ever written, and
// which thread of the running kernel used it last.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/simt/Races.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>

namespace dtc::simt {

// A contiguous piece of memory. Device addresses are addresses of this process.
struct Range {
  ~Range();
  Range() = default;
  Range(const Range &) = delete;
  Range &operator=(const Range &) = delete;

  // Memory of the caller's that counts as written; `written` is null when there is no memory for it.
  static std::unique_ptr<Range> ofHost(void *address, uint64_t bytes);

  uint8_t *base = nullptr;
  uint64_t bytes = 0;
  void *mapping =
      nullptr; // with a page on each side that faults; null where the caller owns the memory
  uint64_t mappedBytes = 0;
  uint8_t *written =
      nullptr; // a flag per byte, from calloc, so that what is never touched takes no memory
  Races races;

  bool contains(const void *address, uint64_t count) const {
    auto *at = static_cast<const uint8_t *>(address);
    return at >= base && count <= bytes && static_cast<uint64_t>(at - base) <= bytes - count;
  }
};

// Ranges of global memory. One launch at a time works on a memory; all functions may be called from any thread.
//
// Example: void *buffer; memory.allocate(1024, buffer); memcpy(buffer, host, 1024); memory.markWritten(buffer, 1024);
class Memory {
public:
  // Memory as cudaMalloc gives it, aligned to 256 bytes. It is filled with 0xff (NaN) and counts as not written.
  // Errors: ResourceExhausted.
  rt::Status allocate(uint64_t bytes, void *&address);
  // Errors: InvalidArgument when `address` is not the start of a range of `allocate`.
  rt::Status free(void *address);

  // Host memory that kernels may use, too (pinned memory, variables of modules); it counts as written. It stays the
  // caller's. Errors: InvalidArgument when it overlaps another range.
  rt::Status addHostRange(void *address, uint64_t bytes);
  rt::Status removeHostRange(void *address);

  // What others than kernels do to memory: copies from the host, libraries, reuse of an arena. A range that is not
  // wholly within one of this memory is an InvalidArgument that names it.
  rt::Status markWritten(const void *address, uint64_t bytes);
  rt::Status markUnwritten(void *address, uint64_t bytes); // and fills it with 0xff
  // A copy within this memory: what was not written in `source` is not written in `target`. Does not copy the bytes.
  rt::Status markCopied(const void *target, const void *source, uint64_t bytes);

  // What a library that runs instead of a kernel has to ask before it reads or writes; `user` says who, as
  // "gemm operand 'a'". Errors: InvalidArgument when the bytes are outside of any range, or read and not written.
  rt::Status checkRead(const void *address, uint64_t bytes, const std::string &user) const;
  rt::Status checkWrite(const void *address, uint64_t bytes, const std::string &user) const;

private:
  friend class Engine;

  // The range that begins at or before `address`, or null.
  Range *findBefore(const void *address) const;
  rt::Status find(const void *address, uint64_t bytes, const std::string &user,
                  Range *&range) const;
  rt::Status insert(std::unique_ptr<Range> range);

  mutable std::recursive_mutex mutex; // held during a launch
  std::map<const uint8_t *, std::unique_ptr<Range>> ranges;
  std::deque<std::unique_ptr<Range>> freed; // the last ones, whose addresses nothing else has
};

} // namespace dtc::simt
