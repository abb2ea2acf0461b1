// Large-neighbourhood local search for assignments within the memory limits.
#pragma once

#include "compiler/solver/Forest.h"
#include "compiler/solver/UsageLedger.h"

#include <functional>
#include <random>

namespace dtc::solver {

// Holds one assignment and makes it better. A move frees a set of nodes whose edges form a forest
// (a ball in the network, or balls around several nodes that are live at a tight point of time),
// minimises exactly over them, and takes what is found where it is cheaper and fits. Where the
// minimum does not fit, the points of time that overrun get prices, which move by Polyak's step
// until the minimum fits or its Lagrangian value proves that the neighbourhood holds nothing
// cheaper. An assignment that is over the limit first gives up overload instead of cost. The
// sequence of assignments depends on the seed alone; work counts table entries.
class Search {
public:
  Search(const Network &network, uint64_t seed);

  // Goes on from this assignment.
  void start(std::vector<int32_t> assignment);
  // Moves without limits, memory at the given prices per byte, until about `amount` of work is done
  // or stop() says so.
  void relax(const std::vector<double> &prices, int64_t amount, const std::function<bool()> &stop);
  // Moves until about `amount` of work is done or stop() says so.
  void improve(int64_t amount, const std::function<bool()> &stop);

  const std::vector<int32_t> &assignment() const { return choice; }
  // Of the network with its constant; at least Network::forbidden more than any other where a
  // forbidden pair is taken.
  double cost() const { return currentCost; }
  bool feasible() const { return fits && currentCost < network.forbidden; }
  double costOf(const std::vector<int32_t> &assignment) const;
  int64_t work() const;

private:
  struct TightTime {
    int32_t time;
    double price, room;                  // room: bytes that the freed nodes may use
    double over;                         // bytes over room in the last minimum
    std::vector<const int64_t *> usages; // of each member's values; null: none
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
