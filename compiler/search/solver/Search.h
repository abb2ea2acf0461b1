// Searches locally in large neighbourhoods for assignments within the memory limits.
#pragma once

#include "compiler/search/solver/Forest.h"
#include "compiler/search/solver/UsageLedger.h"

#include <functional>
#include <random>

namespace dtc::solver {

// Holds one assignment and improves it. A move frees a set of nodes whose edges form a forest (a
// ball in the network, or balls around several nodes that are live at a tight point of time). It
// minimises exactly over them, and keeps the result if it is cheaper and fits. If the minimum does
// not fit, the points of time over the limit get prices. These move by Polyak's step until the
// minimum fits, or until its Lagrangian value proves that the neighbourhood has nothing cheaper. An
// assignment that is over the limit first reduces overload instead of cost. The sequence of
// assignments depends only on the seed. Work counts table entries.
class Search {
public:
  Search(const Network &network, uint64_t seed);

  // Continues from this assignment.
  void start(std::vector<int32_t> assignment);
  // Makes moves without limits, with memory at the given prices per byte, until about `amount` of
  // work is done or stop() returns true.
  void relax(const std::vector<double> &prices, int64_t amount, const std::function<bool()> &stop);
  // Makes moves until about `amount` of work is done or stop() returns true.
  void improve(int64_t amount, const std::function<bool()> &stop);

  const std::vector<int32_t> &assignment() const { return choice; }
  // Returns the cost of the network, its constant included. If a forbidden pair is taken, it is at
  // least Network::forbidden.
  double cost() const { return currentCost; }
  // Returns true if the assignment fits and takes nothing forbidden.
  bool feasible() const { return fits && currentCost < network.forbidden; }
  // Returns the cost of another assignment, its constant included.
  double costOf(const std::vector<int32_t> &assignment) const;
  // Returns the work so far: table entries read.
  int64_t work() const;

private:
  struct TightTime {
    int32_t time;
    double price, room;                  // room: bytes that the freed nodes may use
    double over;                         // bytes over room in the last minimum
    std::vector<const int64_t *> usages; // for each member the usages of its values; null if none
  };

  void pickNodes();
  void grow(int32_t seed, int32_t size);
  void growAtTime(int32_t time, int32_t balls, int32_t size);
  int32_t forbiddenNode();
  bool optimise();
  bool reduceOverload();
  double solvePriced();
  void swapIn();
  void swapBack();
  void accept(double change);
  void addTightTime(int32_t time);
  void measureTightTimes();
  int32_t below(int32_t count) {
    return static_cast<int32_t>(random() % static_cast<uint64_t>(count));
  }

  const Network &network;
  std::mt19937_64 random;
  UsageLedger ledger;
  Forest forest;
  std::vector<int32_t> choice;
  double currentCost = 0, currentOverload = 0;
  bool fits = false;
  std::vector<TightTime> tight;
  std::vector<int32_t> previous; // values of the members before the move
  std::vector<int32_t> frontier;
  int64_t extraWork = 0;
};

} // namespace dtc::solver
