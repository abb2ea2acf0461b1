// Keeps the bytes left at every point of time under an assignment that changes.
#pragma once

#include "compiler/search/solver/Network.h"

#include <span>

namespace dtc::solver {

// Supports updates of ranges and the least of all entries, in blocks of 64 points. A range updates
// the entries of at most two blocks, and the blocks between as a whole.
class UsageLedger {
public:
  explicit UsageLedger(const Network &network);

  // Computes everything again for `choice`.
  void assign(std::span<const int32_t> choice);
  // Updates the ledger for a node that changes its value.
  void change(int32_t node, int32_t from, int32_t to);

  // Returns the bytes left at a point of time; negative over the limit.
  int64_t leftAt(int32_t time) const { return left[time] + whole[time / kBlock]; }
  // Returns the first point with the least bytes left, or -1 if there are no points.
  int32_t tightest() const;
  // Returns false if more than the limit is in use somewhere.
  bool fits() const;
  // Returns the bytes over the limit, summed over the points of time.
  double overload() const;

private:
  static constexpr int32_t kBlock = 64;
  void add(int32_t begin, int32_t end, int64_t bytes);
  void addWithin(int32_t begin, int32_t end, int64_t bytes);

  const Network &network;
  std::vector<int64_t> left, whole, least; // least: of the entries of a block, without `whole`
};

} // namespace dtc::solver
