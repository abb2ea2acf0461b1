#include "runtime/simt/Races.h"

#include <algorithm>

namespace dtc::simt {

using abi::Access;

void Races::refine(Page &page, unsigned shift) {
  size_t times = size_t{1} << (page.shift - shift);
  std::vector<Cell> finer(page.cells.size() * times);
  for (size_t i = 0; i < finer.size(); ++i)
    finer[i] = page.cells[i / times];
  page.cells = std::move(finer);
  page.shift = shift;
}

Races::Page &Races::pageAt(uint64_t index, uint64_t epoch, unsigned shift) {
  if (index >= pages.size())
    pages.resize(index + 1);
  if (!pages[index])
    pages[index] = std::make_unique<Page>();
  Page &page = *pages[index];
  if (page.epoch != epoch) {
    page.epoch = epoch;
    page.shift = shift;
    page.cells.assign(pageBytes >> shift, {});
  } else if (page.shift > shift) {
    refine(page, shift);
  }
  return page;
}

bool Races::noteCell(Cell &cell, Access access, const Clocks &clocks, Stamp &other) {
  bool atomic = abi::isAtomic(access);
  auto mayMeet = [&](const Stamp &stamp) {
    return (atomic && stamp.atomic) || clocks.isOrdered(stamp);
  };
  if (!mayMeet(cell.write)) {
    other = cell.write;
    return false;
  }
  if (!abi::writes(access)) {
    Stamp now = clocks.now(/*write=*/false, atomic);
    for (Stamp &read : cell.reads)
      if (clocks.isOrdered(read)) { // whatever this read is ordered before, the new one is, too
        read = now;
        return true;
      }
    cell.reads[1] = now; // two unordered readers are enough to find a later write
    return true;
  }
  for (const Stamp &read : cell.reads)
    if (!mayMeet(read)) {
      other = read;
      return false;
    }
  cell = {};
  cell.write = clocks.now(/*write=*/true, atomic);
  return true;
}

bool Races::note(uint64_t offset, uint64_t bytes, Access access, uint64_t epoch,
                 const Clocks &clocks, Stamp &other) {
  unsigned shift = (offset | bytes) % 4 == 0 ? 2 : (offset | bytes) % 2 == 0 ? 1 : 0;
  for (uint64_t at = offset, end = offset + bytes; at < end;) {
    uint64_t index = at / pageBytes, stop = std::min(end, (index + 1) * pageBytes);
    Page &page = pageAt(index, epoch, shift);
    uint64_t first = (at % pageBytes) >> page.shift, last = ((stop - 1) % pageBytes) >> page.shift;
    for (uint64_t cell = first; cell <= last; ++cell)
      if (!noteCell(page.cells[cell], access, clocks, other))
        return false;
    at = stop;
  }
  return true;
}

} // namespace dtc::simt
