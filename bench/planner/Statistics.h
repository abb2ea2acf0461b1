// Errors of estimates against published measurements.
#pragma once

#include "bench/planner/Evaluate.h"

#include <functional>

namespace dtc::published {

// Linear between ranks; 0 of none.
double quantileOf(const std::vector<double> &sorted, double share);

// Equal for rows that differ in their plan alone: of one source, model, cluster and batch.
std::string comparableKey(const Outcome &outcome);

struct Errors {
  size_t rows = 0;
  double median = 0, p90 = 0; // of |estimate / published - 1|
  double bias = 0;            // median of estimate / published - 1
};
Errors errorsOf(std::vector<double> ratios);

// Order of configurations of one model on the same devices with the same batch, in one source.
struct Order {
  int64_t groups = 0, pairs = 0, concordant = 0, discordant = 0;
  double tau() const {
    return pairs ? static_cast<double>(concordant - discordant) / static_cast<double>(pairs) : 0;
  }
};
Order orderOf(const std::vector<const Outcome *> &outcomes);

// How it is told whether a row fits.
using Fits = std::function<bool(const Outcome &)>;
// By the estimate and the errors of its class: at least as probably as not.
bool isLikelyToFit(const Outcome &outcome);
// By the estimate alone.
bool isEstimatedToFit(const Outcome &outcome);

// Whether rows that ran are said to fit, and rows that ran out of memory not to.
struct Feasibility {
  int64_t ran = 0, ranFits = 0, failed = 0, failedFits = 0;
  double right() const {
    return ran + failed ? static_cast<double>(ranFits + failed - failedFits) /
                              static_cast<double>(ran + failed)
                        : 0;
  }
  double wrongFits() const {
    return failed ? static_cast<double>(failedFits) / static_cast<double>(failed) : 0;
  }
};
Feasibility feasibilityOf(const std::vector<const Outcome *> &outcomes,
                          const Fits &fits = isLikelyToFit);

struct Summary {
  Errors time, memory;
  Order order;
  Feasibility feasibility;
};
Summary summaryOf(const std::vector<const Outcome *> &outcomes);

// Outcomes by a key, in order of keys.
using Groups = std::map<std::string, std::vector<const Outcome *>>;
Groups groupBy(const std::vector<const Outcome *> &outcomes,
               const std::function<std::string(const Outcome &)> &key);

} // namespace dtc::published
