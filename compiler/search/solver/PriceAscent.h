// Moves the prices of memory towards the best bound.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace dtc::solver {

// Maximises a concave function of prices >= 0 from values and inexact subgradients, like the volume
// algorithm (Barahona and Anbil, "The volume algorithm: producing primal solutions with a
// subgradient method", 2000). Each step goes along the average of many subgradients, over a share
// of the distance to a level above the best value. Steps grow while they lead up. They shrink if
// values stay below the best one or fall far below it, and then prices return to the best ones. If
// the values depend on earlier state, that state must return too: see move().
// Example:
//   PriceAscent ascent({0, 0}, 0.1);
//   for (int i = 0; i < 100; ++i) {
//     bool best = ascent.see(valueAt(ascent.prices()));
//     bool back = ascent.move(subgradientAt(ascent.prices()), target);
//   }
class PriceAscent {
public:
  // `rate` is the share of a new subgradient in the average. It falls while little is gained.
  PriceAscent(std::vector<double> start, double rate);

  // Takes the value at prices(). Returns true if no better one has been seen.
  bool see(double value);
  // Takes the subgradient at prices() and moves them, at most towards `target`. Returns true if the
  // move started from the best prices: the messages of these should then be restored as well.
  bool move(const std::vector<double> &gradient, double target);
  // Forgets the best value and the average but not the prices, which start from the best ones.
  void restart(double stepSize);

  const std::vector<double> &prices() const { return price; }
  const std::vector<double> &bestPrices() const { return best; }
  double bestValue() const { return bestSeen; }

private:
  bool adapt(bool along, double reach);

  std::vector<double> price, best, direction;
  double rate, stepSize = 1;
  double bestSeen = -std::numeric_limits<double>::infinity(), last = 0, before = 0;
  double milestone = 0; // best value when the rate was last changed
  int moves = 0, inVain = 0;
};

} // namespace dtc::solver
