#include "compiler/prove/verify/Columns.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace dtc {
namespace {

// The most columns of a set: more of them are not told apart.
constexpr int64_t kMostColumns = 64;

// Sorts columns and joins those that overlap or touch.
std::vector<Column> joined(std::vector<Column> columns) {
  std::sort(columns.begin(), columns.end());
  std::vector<Column> all;
  for (const Column &each : columns)
    if (all.empty() || all.back().end < each.begin)
      all.push_back(each);
    else
      all.back().end = std::max(all.back().end, each.end);
  return all;
}

// Repeats columns `count` times, `stride` bytes apart; nullopt if these are too many.
std::optional<std::vector<Column>> repeated(const std::vector<Column> &columns, int64_t count,
                                            int64_t stride) {
  if (columns.size() == 1 && stride <= columns[0].end - columns[0].begin)
    return std::vector<Column>{{columns[0].begin, columns[0].end + (count - 1) * stride}};
  if (count > kMostColumns / static_cast<int64_t>(columns.size()))
    return std::nullopt;
  std::vector<Column> all;
  for (int64_t i = 0; i < count; ++i)
    for (const Column &each : columns)
      all.push_back({each.begin + i * stride, each.end + i * stride});
  return joined(std::move(all));
}

// Returns the columns that a segment of `bytes` has, counted from its begin, of rows that began
// `phase` bytes before it. Where it is no longer than a row, its own length is the stride.
Columns inSegment(const Columns &rows, int64_t phase, int64_t bytes) {
  std::vector<Column> turned;
  int64_t stride = rows.stride;
  for (const Column &each : rows.columns) {
    int64_t begin = ((each.begin - phase) % stride + stride) % stride;
    int64_t end = begin + each.end - each.begin;
    turned.push_back({begin, std::min(end, stride)});
    if (end > stride)
      turned.push_back({0, end - stride});
  }
  Columns out{std::min(stride, bytes), {}};
  for (const Column &each : joined(std::move(turned)))
    if (each.begin < out.stride)
      out.columns.push_back({each.begin, std::min(each.end, out.stride)});
  return out;
}

// Returns columns as those of longer rows, of a multiple of their stride or cut at the end of a
// segment; nullopt if these are too many.
std::optional<Columns> widened(const Columns &columns, int64_t stride) {
  if (columns.stride == stride || columns.isAll() || columns.columns.empty())
    return Columns{stride, columns.isAll() ? std::vector<Column>{{0, stride}} : columns.columns};
  int64_t count = (stride + columns.stride - 1) / columns.stride;
  std::optional<std::vector<Column>> all = repeated(columns.columns, count, columns.stride);
  if (!all)
    return std::nullopt;
  Columns out{stride, {}};
  for (const Column &each : *all)
    if (each.begin < stride)
      out.columns.push_back({each.begin, std::min(each.end, stride)});
  return out;
}

// Returns the stride by which both sets repeat themselves in a segment of `bytes`.
int64_t commonStride(const Columns &a, const Columns &b, int64_t bytes) {
  int64_t times = b.stride / std::gcd(a.stride, b.stride);
  return times > bytes / a.stride ? bytes : a.stride * times;
}

// Returns the columns of `all` that `taken` leaves over.
std::vector<Column> without(const std::vector<Column> &all, const std::vector<Column> &taken) {
  std::vector<Column> left;
  for (Column rest : all) {
    for (const Column &each : taken)
      if (each.begin < rest.end && rest.begin < each.end) {
        if (rest.begin < each.begin)
          left.push_back({rest.begin, each.begin});
        rest.begin = std::min(each.end, rest.end);
      }
    if (rest.begin < rest.end)
      left.push_back(rest);
  }
  return left;
}

} // namespace

std::optional<Columns> columnsOf(std::vector<BoxDim> dims, int64_t elementBytes) {
  for (BoxDim &dim : dims)
    dim.stride = (dim.stride < 0 ? -dim.stride : dim.stride) * elementBytes;
  dims.erase(std::remove_if(dims.begin(), dims.end(),
                            [](const BoxDim &dim) { return dim.size <= 1 || dim.stride == 0; }),
             dims.end());
  std::sort(dims.begin(), dims.end(),
            [](const BoxDim &a, const BoxDim &b) { return a.stride < b.stride; });
  std::vector<Column> columns{{0, elementBytes}};
  if (dims.empty())
    return Columns{elementBytes, columns};
  // The outer dims that go on in the spacing of the innermost of them are the rows.
  size_t rows = dims.size() - 1;
  while (rows > 0 && dims[rows].stride == dims[rows - 1].stride * dims[rows - 1].size)
    --rows;
  for (size_t dim = 0; dim < rows; ++dim) {
    std::optional<std::vector<Column>> next = repeated(columns, dims[dim].size, dims[dim].stride);
    if (!next)
      return std::nullopt;
    columns = std::move(*next);
  }
  if (columns.back().end > dims[rows].stride)
    return std::nullopt;
  return Columns{dims[rows].stride, std::move(columns)};
}

ColumnSets::ColumnSets() {
  sets.push_back({{1, {{0, 1}}}, false});
  sets.push_back({{1, {{0, 1}}}, true});
  sets.push_back({{1, {}}, false});
}

ColumnSets::Set ColumnSets::intern(Columns columns, bool isOfStep) {
  if (columns.isAll())
    return isOfStep ? kAllWithStep : kAll;
  if (columns.columns.empty() && !isOfStep)
    return kNone;
  Key key{columns.stride, isOfStep, columns.columns};
  if (auto found = numbers.find(key); found != numbers.end())
    return found->second;
  if (sets.size() > std::numeric_limits<Set>::max())
    return kAllWithStep;
  auto number = static_cast<Set>(sets.size());
  sets.push_back({std::move(columns), isOfStep});
  numbers.emplace(std::move(key), number);
  return number;
}

ColumnSets::Set ColumnSets::add(Set set, const Columns &columns, int64_t phase, int64_t bytes,
                                bool isOfStep) {
  isOfStep |= sets[set].isOfStep;
  if (isAll(set))
    return isOfStep ? kAllWithStep : kAll;
  if (columns.columns.size() == 1) { // most segments lie within a column or between two
    Column column = columns.columns[0];
    int64_t begin = (phase % columns.stride + columns.stride) % columns.stride;
    if (column.begin <= begin && begin + bytes <= column.end)
      return isOfStep ? kAllWithStep : kAll;
    int64_t next = begin < column.end ? column.begin : column.begin + columns.stride;
    if (begin + bytes <= next)
      return isOfStep ? withStep(set) : set;
  }
  Entry before = sets[set];
  Columns own = inSegment(columns, phase, bytes);
  int64_t stride = commonStride(before.columns, own, bytes);
  std::optional<Columns> all = widened(before.columns, stride), more = widened(own, stride);
  if (!all || !more)
    return kAllWithStep;
  all->columns.insert(all->columns.end(), more->columns.begin(), more->columns.end());
  all->columns = joined(std::move(all->columns));
  if (static_cast<int64_t>(all->columns.size()) > kMostColumns)
    return kAllWithStep;
  return intern(std::move(*all), isOfStep);
}

ColumnSets::Set ColumnSets::withStep(Set set) {
  if (isOfStep(set))
    return set;
  return isAll(set) ? kAllWithStep : intern(sets[set].columns, true);
}

std::optional<Columns> ColumnSets::findMissing(Set set, const Columns *wanted, int64_t phase,
                                               int64_t bytes) const {
  if (isAll(set))
    return std::nullopt;
  const Columns &has = sets[set].columns;
  Columns needs = wanted ? inSegment(*wanted, phase, bytes) : Columns{1, {{0, 1}}};
  int64_t stride = commonStride(has, needs, bytes);
  std::optional<Columns> all = widened(needs, stride), written = widened(has, stride);
  if (!all || !written)
    return std::nullopt;
  Columns missing{stride, without(all->columns, written->columns)};
  if (missing.columns.empty())
    return std::nullopt;
  if (missing.isAll()) // of rows of any length
    return Columns{bytes, {{0, bytes}}};
  return missing;
}

bool ColumnSets::meets(Set set, const Columns &columns, int64_t phase, int64_t bytes) const {
  const Columns &has = sets[set].columns;
  Columns own = inSegment(columns, phase, bytes);
  int64_t stride = commonStride(has, own, bytes);
  std::optional<Columns> all = widened(own, stride), written = widened(has, stride);
  return all && written && without(all->columns, written->columns) != all->columns;
}

} // namespace dtc
