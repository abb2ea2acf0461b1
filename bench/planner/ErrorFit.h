// The table of errors that compiler/uncertainty reads, from published rows.
#pragma once

#include "bench/planner/Evaluate.h"

namespace dtc::published {

// A row as constants in use estimate it, and as those do that were fitted without its family of
// sources.
struct CrossFitted {
  std::string family, group; // group: the family, the model and its sequence
  Outcome now, without;
};

// Of the rows of the fitting half.
std::vector<CrossFitted> crossFit(const std::vector<std::unique_ptr<Case>> &cases,
                                  const Knobs &knobs, int rounds);

// Errors of every class that a row is of: of its stack or one that it extends, on its device or any,
// of its kind of model; of all rows of the kind; of all rows. Each class is drawn towards the next
// wider one, all rows towards Laplace's distribution. A row's error counts half as it is and half as
// it is without its source, since a plan may be for a cluster like one of the sources or unlike all.
// A source family weighs as the root of its rows.
// `tail` is the share of a class's errors that is left out on either side of its interval.
std::vector<ClassErrors> fitErrors(const std::vector<CrossFitted> &rows, double tail);

// Rows whose step is within the interval of a table made without them.
struct LeftOut {
  int64_t rows = 0, inside = 0;
  double share() const {
    return rows ? static_cast<double>(inside) / static_cast<double>(rows) : 0;
  }
};

// Without all rows of the family, by family: as of a source that is not known.
std::map<std::string, LeftOut> coverageWithoutFamily(const std::vector<CrossFitted> &rows,
                                                     double tail);
// Without the rows of the model in the family: as of another model of a source that is known.
LeftOut coverageWithoutModel(const std::vector<CrossFitted> &rows, double tail);

// The greatest tail for which the mean of the two shares of rows inside is nine in ten.
double calibratedTail(const std::vector<CrossFitted> &rows);

// Writes compiler/uncertainty/errors.csv. Returns an error, or "".
std::string writeErrors(const std::vector<ClassErrors> &table, const std::string &path);

} // namespace dtc::published
