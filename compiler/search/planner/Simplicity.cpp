// Says which of two plans is simpler.
#include "compiler/search/planner/Simplicity.h"

#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/decide/decisions/Decision.h"

#include <algorithm>

namespace dtc {
namespace {

constexpr double kMostTie = 0.01, kShareOfNoise = 0.5;

// Returns the points of a decision.
int pointsOf(const Decision &decision, const Decisions &d) {
  return decision.mechanism.points ? decision.mechanism.points(d) : 0;
}

} // namespace

int complexityOf(const Decisions &d) {
  int sum = 0;
  for (const Decision *each : decisions())
    sum += pointsOf(*each, d);
  return sum;
}

int leastComplexityOf(const Decisions &decisions) { return complexityOf(decisions.keepingMost()); }

std::string mechanismsBeyond(const Decisions &plan, const Decisions &other) {
  std::string list;
  for (const Decision *each : decisions())
    if (pointsOf(*each, other) > pointsOf(*each, plan))
      list += (list.empty() ? "" : ", ") + each->mechanism.name.str();
  return list;
}

Simplicity simplicityOf(const Plan &plan, double expectedSeconds) {
  return {complexityOf(plan.decisions), plan.predicted.peakMemoryBytes, expectedSeconds};
}

std::string reasonToPassOver(const Plan &fastest, const Plan &plan) {
  if (fastest.decisions == plan.decisions)
    return "";
  std::string mechanisms = mechanismsBeyond(plan.decisions, fastest.decisions);
  return mechanisms.empty() ? "more memory" : mechanisms;
}

double tieShare(double noise) { return std::min(kMostTie, kShareOfNoise * noise); }

} // namespace dtc
