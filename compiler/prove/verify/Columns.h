// The bytes of equally spaced rows that instructions touch, and sets of those that were written.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace dtc {

// A range of bytes within a row.
struct Column {
  int64_t begin = 0, end = 0;
  bool operator==(const Column &) const = default;
  bool operator<(const Column &other) const {
    return std::tie(begin, end) < std::tie(other.begin, other.end);
  }
};

// The same columns of all rows: byte b belongs to them if one of them holds b mod `stride`. Columns
// ascend, lie in [0, stride), and neither overlap nor touch each other.
// Example: stride 96 and column 32-64 are bytes 32-64, 128-160, and so on.
struct Columns {
  int64_t stride = 1; // bytes from one row to the next
  std::vector<Column> columns;
  // Returns true if no byte is left out.
  bool isAll() const { return columns.size() == 1 && columns[0] == Column{0, stride}; }
};

// One dim of a box of elements.
struct BoxDim {
  int64_t size = 1, stride = 0; // stride in elements, of either sign
};

// Returns the bytes that a box touches, from its least byte on and before its greatest; nullopt if
// its rows are spaced in too many ways to be told apart.
// Example: dims {4, 24} and {8, 1} of 4 bytes are column 0-32 of rows of 96 bytes.
std::optional<Columns> columnsOf(std::vector<BoxDim> dims, int64_t elementBytes);

// Sets of bytes of a segment, by number: equal sets have equal numbers. Positions are counted from
// the begin of the segment, so that two segments of one length that were written in the same way
// have equal sets, wherever they are. A set that is too irregular to be followed is taken for kAll.
class ColumnSets {
public:
  using Set = uint16_t;
  static constexpr Set kAll = 0, kAllWithStep = 1, kNone = 2;

  ColumnSets();
  // Adds columns to a set of a segment of `bytes`, the rows of which began `phase` bytes before
  // the segment. `isOfStep`: they hold for all micro-batches.
  Set add(Set set, const Columns &columns, int64_t phase, int64_t bytes, bool isOfStep);
  // Returns the set with `isOfStep` noted.
  Set withStep(Set set);
  // Returns true if some column holds for all micro-batches.
  bool isOfStep(Set set) const { return sets[set].isOfStep; }
  static bool isAll(Set set) { return set == kAll || set == kAllWithStep; }
  // Returns those of `wanted` (null: all), as in add(), that a set lacks, counted from the begin of
  // the segment; nullopt if it has them all. A stride of `bytes` means that they are single bytes.
  std::optional<Columns> findMissing(Set set, const Columns *wanted, int64_t phase,
                                     int64_t bytes) const;
  // Returns true if a byte of the set is one of `columns`, as in add(); false if the two are too
  // irregular to be told apart.
  bool meets(Set set, const Columns &columns, int64_t phase, int64_t bytes) const;

private:
  struct Entry {
    Columns columns;
    bool isOfStep = false;
  };
  using Key = std::tuple<int64_t, bool, std::vector<Column>>;
  Set intern(Columns columns, bool isOfStep);

  std::vector<Entry> sets;
  std::map<Key, Set> numbers;
};

} // namespace dtc
