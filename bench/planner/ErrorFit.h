// The table of errors that compiler/price/uncertainty reads, from published rows.
#pragma once

#include "bench/planner/Evaluate.h"

namespace dtc::published {

// A row as estimated by the constants in use, and by constants that were fitted without its family
// of sources.
struct CrossFitted {
  std::string family, group; // group: the family, the model and its sequence
  CaseResult now, without;
};

// Estimates the rows of the fitting half both ways.
std::vector<CrossFitted> crossFit(const std::vector<std::unique_ptr<Case>> &cases,
                                  const Knobs &knobs, int rounds);

// Returns the errors of every class of the rows. The classes of a row are: its stack, or one that
// the stack extends, on its device or any, with its kind of model; all rows of that kind; all rows.
// Each class is drawn towards the next wider one, and all rows towards Laplace's distribution. A
// row's error counts half as it is and half as it is without its source, since a plan may be for a
// cluster like one of the sources or unlike all. A source family weighs as the root of its rows.
// `tail` is the share of a class's errors that is left out on either side of its interval.
std::vector<ClassErrors> fitErrors(const std::vector<CrossFitted> &rows, double tail);

// Counts of rows whose step is within the interval of a table made without them.
struct LeftOut {
  int64_t rows = 0, inside = 0;
  // Returns the share of rows inside; 0 if there are none.
  double share() const {
    return rows ? static_cast<double>(inside) / static_cast<double>(rows) : 0;
  }
};

// Returns the coverage of each family by a table without all rows of the family, as for an unknown
// source.
std::map<std::string, LeftOut> coverageWithoutFamily(const std::vector<CrossFitted> &rows,
                                                     double tail);
// Returns the coverage of rows by a table without the rows of the model in the family, as for
// another model of a known source.
LeftOut coverageWithoutModel(const std::vector<CrossFitted> &rows, double tail);

// Returns the largest tail for which the mean of the two shares of rows inside is nine in ten.
double calibratedTail(const std::vector<CrossFitted> &rows);

// Writes compiler/price/uncertainty/errors.csv. Returns an error, or "".
std::string writeErrors(const std::vector<ClassErrors> &table, const std::string &path);

} // namespace dtc::published
