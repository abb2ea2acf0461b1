// Finds what stands several times in a row in a list.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace dtc {

// An element of the list. Those of one kind have equally many numbers.
struct ListItem {
  unsigned kind;
  std::vector<int64_t> numbers;
};

// Items [begin, begin + period * count), `count` times the same.
struct FoundRepeat {
  unsigned begin, period, count;
  unsigned saved() const { return period * (count - 1); }
};

// Repeats that do not overlap, ascending, each of which saves `minSaved` items or more. The i-th item of each time has
// the same kind, and each of its numbers grows by the same from time to time.
// 1. Periods that may be: how far equal windows of kinds are apart, the commonest distances and their doubles.
// 2. Of each period all longest repeats, in one go through the list.
// 3. The one that saves most is taken; the same for what is before and behind it.
//
// Example: kinds a b c b c b c with numbers 0 1 2 3 4 5 6: [1, 7) is 3 times b c, with numbers that grow by 2.
std::vector<FoundRepeat> findRepeats(llvm::ArrayRef<ListItem> items, unsigned minSaved);

} // namespace dtc
