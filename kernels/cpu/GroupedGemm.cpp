// Matrix products of groups of rows. Groups with a large share of the work are multiplied one after
// another by all threads, the others at once by a thread each: either way a group is one dense
// product, whose bits do not depend on threads. Only what oneDNN multiplies goes tile by tile.
#include "kernels/cpu/GroupedGemm.h"

#include "kernels/cpu/Gemm.h"
#include "kernels/cpu/GroupedLibraryGemm.h"
#include "kernels/cpu/NarrowGemm.h"
#include "kernels/cpu/OneDnnGemm.h"
#include "kernels/cpu/ThreadPool.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace dtc::cpu {

namespace {

// A group is large with at least this share of the rows, times the number of threads: those that
// are left to single threads make these wait for each other by an eighth of the time at most.
constexpr int64_t kLargeShare = 4;

constexpr int64_t kClearedBytes = 1024 * 1024; // that a thread clears, about 170 us at 6 GB/s

const char *at(const void *base, ElementType type, int64_t element) {
  return static_cast<const char *>(base) + element * bytesOf(type);
}
char *at(void *base, ElementType type, int64_t element) {
  return static_cast<char *>(base) + element * bytesOf(type);
}

// Finds the rows of the groups, by falling number; returns the end of the last one's.
int64_t findRows(const GroupedGemmArgs &args, std::vector<GroupRows> &all) {
  all.clear();
  int64_t first = 0;
  for (int64_t group = 0; group < args.groups; ++group) {
    int64_t count = 0;
    for (int64_t sample = 0; sample < args.samples; ++sample)
      count += std::max<int64_t>(args.counts[sample * args.groups + group], 0);
    count = std::min(count, args.rows - first);
    all.push_back({group, first, count});
    first += count;
  }
  std::sort(all.begin(), all.end(), [](const GroupRows &x, const GroupRows &y) {
    return x.count != y.count ? x.count > y.count : x.group < y.group;
  });
  return first;
}

// Returns the addresses and the shape of a group's product.
template <typename Args> Args productOf(const GroupedGemmArgs &args, const GroupRows &rows) {
  int64_t matrix = rows.group * args.k * args.n;
  const void *a = at(args.a, args.type, rows.first * args.k);
  const void *b = at(args.b, args.type, args.sumsRows ? rows.first * args.n : matrix);
  void *c = at(args.c, args.resultType, args.sumsRows ? matrix : rows.first * args.n);
  Args product{};
  product.a = static_cast<decltype(Args::a)>(a);
  product.b = static_cast<decltype(Args::b)>(b);
  product.c = static_cast<decltype(Args::c)>(c);
  product.m = args.sumsRows ? args.k : rows.count;
  product.n = args.n;
  product.k = args.sumsRows ? rows.count : args.k;
  product.lda = args.k;
  product.ldb = args.transB ? args.k : args.n;
  product.ldc = args.n;
  product.transA = args.sumsRows;
  product.transB = args.transB;
  product.beta = args.accumulate ? 1 : 0;
  return product;
}

NarrowGemmArgs narrowProductOf(const GroupedGemmArgs &args, const GroupRows &rows) {
  auto product = productOf<NarrowGemmArgs>(args, rows);
  product.type = args.type;
  product.resultType = args.resultType;
  return product;
}

void multiply(const GroupedGemmArgs &args, const GroupRows &rows, ThreadPool &pool) {
  if (rows.count == 0 && (!args.sumsRows || args.accumulate))
    return;
  if (args.type == ElementType::F32)
    gemm(productOf<GemmArgs>(args, rows), pool);
  else
    packedNarrowGemm(narrowProductOf(args, rows), pool);
}

// Multiplies groups whose operands a library takes, and removes them from the list.
void multiplyByLibrary(const GroupedGemmArgs &args, std::vector<GroupRows> &groups,
                       ThreadPool &pool) {
  static thread_local std::vector<GroupRows> taken;
  taken.clear();
  for (const GroupRows &rows : groups)
    if (rows.count > 0 && !hasSubnormals(narrowProductOf(args, rows), pool))
      taken.push_back(rows);
  std::erase_if(groups, [](const GroupRows &rows) {
    return std::any_of(taken.begin(), taken.end(),
                       [&](const GroupRows &each) { return each.group == rows.group; });
  });
  groupedLibraryGemm(args, taken, pool);
}

} // namespace

void groupedGemm(const GroupedGemmArgs &args, ThreadPool &pool) {
  if (args.n == 0 || args.k == 0)
    return;
  static thread_local std::vector<GroupRows> found;
  std::vector<GroupRows> &all = found; // the caller's, which other threads read below
  int64_t end = findRows(args, all);
  if (hasLibraryProducts(args.type))
    multiplyByLibrary(args, all, pool);
  int64_t least = end / (kLargeShare * pool.size()); // rows that a group has at most beside others
  size_t large = 0;
  for (; large < all.size() && all[large].count > least; ++large)
    multiply(args, all[large], pool);
  pool.parallelFor(static_cast<int64_t>(all.size() - large), 1, [&](int64_t begin, int64_t stop) {
    for (int64_t i = begin; i < stop; ++i)
      multiply(args, all[large + static_cast<size_t>(i)], pool); // inline in the loop
  });
  if (args.sumsRows)
    return;
  int64_t rowBytes = args.n * bytesOf(args.resultType);
  pool.parallelFor(args.rows - end, kClearedBytes / rowBytes + 1, [&](int64_t begin, int64_t stop) {
    std::memset(at(args.c, args.resultType, (end + begin) * args.n), 0,
                static_cast<size_t>((stop - begin) * rowBytes));
  });
}

} // namespace dtc::cpu
