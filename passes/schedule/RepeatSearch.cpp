// Finds consecutive repetitions in a list.
#include "passes/schedule/RepeatSearch.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace dtc;

namespace {
// Short windows find small repeats, long windows those of blocks in which kinds occur often.
constexpr unsigned kWindows[] = {1, 4, 16, 64};
constexpr size_t kPeriods = 16;

class RepeatSearch {
public:
  RepeatSearch(llvm::ArrayRef<ListItem> items, unsigned minSaved)
      : items(items), minSaved(minSaved) {}

  void search(unsigned begin, unsigned end) {
    FoundRepeat best{0, 0, 1};
    for (unsigned period : findPeriods(begin, end))
      findLongest(period, begin, end, best);
    if (best.saved() < std::max(minSaved, 1u))
      return;
    search(begin, best.begin);
    found.push_back(best);
    search(best.begin + best.period * best.count, end);
  }

  std::vector<FoundRepeat> found;

private:
  llvm::SmallVector<unsigned> findPeriods(unsigned begin, unsigned end) const;
  void findLongest(unsigned period, unsigned begin, unsigned end, FoundRepeat &best) const;

  // True if the numbers of item i grow to those of one period later as they grew from those of one
  // period earlier.
  bool growsOn(unsigned i, unsigned period) const {
    const std::vector<int64_t> &last = items[i - period].numbers, &now = items[i].numbers,
                               &next = items[i + period].numbers;
    for (size_t k = 0; k < now.size(); ++k)
      if (next[k] - now[k] != now[k] - last[k])
        return false;
    return true;
  }

  llvm::ArrayRef<ListItem> items;
  unsigned minSaved;
};

llvm::SmallVector<unsigned> RepeatSearch::findPeriods(unsigned begin, unsigned end) const {
  llvm::DenseMap<unsigned, unsigned> counts; // keyed by distance
  for (unsigned size : kWindows) {
    // Hashes a window as a polynomial of its kinds, modulo 2^64.
    constexpr uint64_t base = 0x9e3779b97f4a7c15;
    uint64_t hash = 0, highest = 1;
    for (unsigned i = 0; i < size; ++i)
      highest *= base;
    llvm::DenseMap<uint64_t, unsigned> last;
    for (unsigned i = begin; i < end; ++i) {
      hash = hash * base + items[i].kind + 1;
      if (i - begin >= size)
        hash -= highest * (items[i - size].kind + 1);
      if (i - begin + 1 < size)
        continue;
      // drops a bit: two values of the map's key type are reserved
      auto [entry, isNew] = last.try_emplace(hash >> 1, i);
      if (!isNew)
        ++counts[i - entry->second];
      entry->second = i;
    }
  }
  llvm::SmallVector<std::pair<unsigned, unsigned>> byCount;
  for (auto [distance, count] : counts)
    byCount.emplace_back(count, distance);
  llvm::sort(byCount, [](auto a, auto b) {
    return std::pair(b.first, a.second) < std::pair(a.first, b.second);
  });
  llvm::SmallVector<unsigned> periods;
  for (auto [count, distance] : llvm::ArrayRef(byCount).take_front(kPeriods)) {
    periods.push_back(distance);
    periods.push_back(2 * distance); // doubles find buffers that alternate
  }
  return periods;
}

void RepeatSearch::findLongest(unsigned period, unsigned begin, unsigned end,
                               FoundRepeat &best) const {
  unsigned first = begin; // each item from here to i is like the one a period later
  auto close = [&](unsigned i) {
    FoundRepeat repeat{first, period, (i - first) / period + 1};
    if (repeat.saved() > best.saved())
      best = repeat;
  };
  unsigned i = begin;
  for (; i + period < end; ++i) {
    if (items[i].kind != items[i + period].kind) {
      close(i);
      first = i + 1;
    } else if (i - first >= period && !growsOn(i, period)) {
      close(i);
      first = i - period + 1; // from here on the numbers may grow by other constants
    }
  }
  close(i);
}
} // namespace

std::vector<FoundRepeat> dtc::findRepeats(llvm::ArrayRef<ListItem> items, unsigned minSaved) {
  RepeatSearch search(items, minSaved);
  search.search(0, items.size());
  return std::move(search.found);
}
