// Decides which collectives are merged.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dtc {

// Groups collectives, which are offered in program order, into buckets. Steps:
// 1. One bucket is open for each key (kind, reduction, axes, element type); a collective joins the
// one of its key.
// 2. A bucket that would exceed `limitBytes` is closed first; a collective bigger than that is
// alone.
// 3. The user closes buckets with a member that cannot be delayed past an instruction.
//
// Example, limit 100: sizes 40, 50, 30 of one key give {0, 1}, {2}.
class CollectiveBuckets {
public:
  explicit CollectiveBuckets(int64_t limitBytes) : limitBytes(limitBytes) {}

  // Offers a collective of `bytes` bytes.
  void add(unsigned collective, llvm::StringRef key, int64_t bytes);
  // Closes the buckets that have a member for which `blocked` returns true.
  void closeIf(llvm::function_ref<bool(unsigned)> blocked);
  // Returns all buckets, in the order in which they closed; the open ones close in order of key.
  std::vector<std::vector<unsigned>> take();

private:
  struct Open {
    std::vector<unsigned> members;
    int64_t bytes = 0;
  };

  int64_t limitBytes;
  std::map<std::string, Open> open; // ordered, so that every run gives the same result
  std::vector<std::vector<unsigned>> closed;
};

} // namespace dtc
