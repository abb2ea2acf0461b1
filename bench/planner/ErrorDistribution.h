// The distribution of errors of one class of runs, drawn towards that of a wider class.
#pragma once

#include <vector>

namespace dtc::published {

// The information of one run on log(measured / estimated).
struct ErrorSample {
  // The kind of a sample: a measurement, or a bound.
  enum class Kind {
    Exact,  // the error is `value`
    AtMost, // the run fitted into memory of exp(value) times the estimate
    Above   // the run did not fit into it
  };
  Kind kind = Kind::Exact;
  double value = 0;
  double weight = 1; // in independent runs
};

// The shares of runs with errors from -2 to 2, in cells. The estimate for a class is the mean of a
// Dirichlet process whose base is the wider class: (sum of weights x the class's own shares + pull
// x those of the wider class) / (sum of weights + pull) (Ferguson 1973). Runs with only a bound are
// distributed over the errors within the bound by the estimate itself, which is iterated to a fixed
// point (Susarla and Van Ryzin 1976). With few runs it is the wider class's. The wider class keeps
// a share of pull / (weights + pull), which is the probability of the next run's being unlike all
// seen, as in conformal prediction.
class ErrorDistribution {
public:
  // Returns Laplace's distribution of that scale around 0, which is the prior.
  static ErrorDistribution laplace(double scale);
  // Returns the distribution of a class with these samples, of which this one is the wider class.
  ErrorDistribution of(const std::vector<ErrorSample> &samples, double pull) const;

  // Returns the share of errors below a value.
  double shareBelow(double value) const;
  // Returns the error below which the share lies; linear within a cell.
  double quantile(double share) const;

private:
  std::vector<double> mass; // shares of kCells cells, which sum to 1
};

} // namespace dtc::published
