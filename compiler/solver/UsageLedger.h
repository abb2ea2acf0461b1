// Bytes left at every point of time under an assignment that changes.
#pragma once

#include "compiler/solver/Network.h"

#include <span>

namespace dtc::solver {

// Range updates and the least of all entries, in blocks of 64 points: a range touches at most two
// blocks entry by entry and the ones between as a whole.
class UsageLedger {
public:
  explicit UsageLedger(const Network &network);

  // Everything from the start: what choice leaves.
  void assign(std::span<const int32_t> choice);
  // The node goes from one value to another.
  void change(int32_t node, int32_t from, int32_t to);

  int64_t leftAt(int32_t time) const { return left[time] + whole[time / kBlock]; }
  // The point with the least left, the first of several; -1 where there are no points.
  int32_t tightest() const;
  // False where more than the limit is in use somewhere.
  bool fits() const;
  // Bytes over the limit, summed over the points of time.
  double overload() const;
  // Bytes that the node's value uses at a point of time.
  int64_t usageAt(int32_t node, int32_t value, int32_t time) const;

private:
  static constexpr int32_t kBlock = 64;
  void add(int32_t begin, int32_t end, int64_t bytes);
  void addWithin(int32_t begin, int32_t end, int64_t bytes);

  const Network &network;
  std::vector<int64_t> left, whole, least; // least: of the entries of a block, without `whole`
};

} // namespace dtc::solver
