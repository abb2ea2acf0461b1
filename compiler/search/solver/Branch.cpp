// Chooses which part comes next, and the target.
#include "compiler/search/solver/Branch.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace dtc::solver {
namespace {

// Position of a target between the bound and the best cost.
constexpr double kShare = 0.5;
// If the best cost is within this share above the bound, it is the target.
constexpr double kNear = 0.03;
// Without a best cost, the target is this share above the bound.
constexpr double kBlind = 0.1;

} // namespace

Branch::Branch(const Network &network, double bound, std::vector<double> prices, uint64_t seed)
    : network(network), prices(std::move(prices)), seed(seed), proven(bound) {}

void Branch::restart(double best) {
  if (best == std::numeric_limits<double>::infinity())
    goal = std::ceil(proven + kBlind * std::abs(proven) + 1);
  else if (best - proven <= kNear * std::abs(proven) + 2)
    goal = best;
  else
    goal = std::ceil(proven + kShare * (best - proven));
  open.clear();
  Part all{std::vector<char>(network.unary.size(), 1), prices,
           std::vector<double>(network.numNodes(), 1.0), proven, seed};
  open.emplace(std::pair(proven, -made++), std::move(all));
  started = true;
}

std::vector<Part> Branch::take(size_t count, double best) {
  assert(taken == 0 && "all that was taken is given back before more is taken");
  std::vector<Part> parts;
  if (!started)
    restart(best);
  goal = std::min(goal, best);
  std::erase_if(open, [&](const auto &entry) { return reaches(entry.first.first, goal); });
  updateBound();
  if (open.empty() && goal >= best)
    return parts;
  if (open.empty())
    restart(best);
  while (parts.size() < count && !open.empty()) {
    parts.push_back(std::move(open.begin()->second));
    open.erase(open.begin());
  }
  taken = parts.size();
  return parts;
}

void Branch::give(PartResult result) {
  --taken;
  for (Part &half : result.halves)
    open.emplace(std::pair(half.bound, -made++), std::move(half));
}

void Branch::updateBound() {
  proven = std::max(proven, open.empty() ? goal : std::min(goal, open.begin()->first.first));
}

} // namespace dtc::solver
