// Moves the prices of memory towards the best bound.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace dtc::solver {

// Maximises a concave function of prices >= 0 from values and inexact subgradients, in the manner
// of the volume algorithm (Barahona and Anbil, "The volume algorithm: producing primal solutions
// with a subgradient method", 2000): a step along the average of many subgradients, as long as a
// share of the distance to a level above the best value. Steps grow while they lead up, and shrink
// where values stay below the best one or fall far below it; then prices go back to the best ones.
// Whoever computes the values must go back too, where they depend on what came before: see move().
// Example:
//   PriceAscent ascent({0, 0}, 0.1);
//   for (int i = 0; i < 100; ++i) {
//     bool best = ascent.see(valueAt(ascent.prices()));
//     bool back = ascent.move(subgradientAt(ascent.prices()), target);
//   }
class PriceAscent {
public:
  // rate: the share of a new subgradient in the average; it falls while little is gained.
  PriceAscent(std::vector<double> start, double rate);

  // The value at prices(). True where no better one has been seen.
  bool see(double value);
  // The subgradient there. Moves prices(), at most towards target. True where they start from the
  // best ones again: messages that went with these should be taken back as well.
  bool move(const std::vector<double> &gradient, double target);
  // Forgets the best value and the average, not the prices: these start from the best ones.
  void restart(double stepSize);

  const std::vector<double> &prices() const { return price; }
  const std::vector<double> &bestPrices() const { return best; }
  double bestValue() const { return bestSeen; }

private:
  bool adapt(bool along, double reach);

  std::vector<double> price, best, direction;
  double rate, stepSize = 1;
  double bestSeen = -std::numeric_limits<double>::infinity(), last = 0, before = 0;
  double milestone = 0; // best value when the rate was last looked at
  int moves = 0, inVain = 0;
};

} // namespace dtc::solver
