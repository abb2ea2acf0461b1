// Finds consecutive repetitions in a list.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace dtc {

// An element of the list. Elements of one kind have equally many numbers.
struct ListItem {
  unsigned kind;
  std::vector<int64_t> numbers;
};

// Items [begin, begin + period * count): `count` repetitions of `period` items.
struct FoundRepeat {
  unsigned begin, period, count;
  // Returns the items that the repeat saves.
  unsigned saved() const { return period * (count - 1); }
};

// Finds repeats that do not overlap, ascending, each of which saves at least `minSaved` items. The
// i-th items of all repetitions have the same kind, and each of their numbers grows by a constant
// from one repetition to the next.
// 1. Candidate periods are the most frequent distances between equal windows of kinds, and their
// doubles.
// 2. For each period, one pass over the list finds all longest repeats.
// 3. The repeat that saves most is taken; the lists before and after it are searched in the same
// way.
//
// Example: kinds a b c b c b c with numbers 0 1 2 3 4 5 6: [1, 7) is 3 times b c, with numbers that
// grow by 2.
std::vector<FoundRepeat> findRepeats(llvm::ArrayRef<ListItem> items, unsigned minSaved);

} // namespace dtc
