// How errors of one class of runs are spread, drawn towards those of a wider class.
#pragma once

#include <vector>

namespace dtc::published {

// What a run says of log(measured / estimated).
struct ErrorSample {
  enum class Kind {
    Exact,  // it is `value`
    AtMost, // the run fitted into memory of exp(value) times the estimate
    Above   // it did not
  };
  Kind kind = Kind::Exact;
  double value = 0;
  double weight = 1; // in runs that say something of their own
};

// Shares of runs over errors from -2 to 2. The estimate for a class is the mean of a Dirichlet
// process whose base is the wider class: (sum of weights x the class's own shares + pull x those of
// the wider class) / (sum of weights + pull) (Ferguson 1973); runs of which only a bound is known
// are spread over what they leave by the estimate itself, until that stands still (Susarla and Van
// Ryzin 1976). With few runs it is the wider class's; mass that no run has is as much as
// a run that comes next may have (pull / (weights + pull)), which is what conformal prediction adds
// for runs not seen.
class ErrorDistribution {
public:
  // Laplace's, of that scale about 0: what is taken to be known before any run.
  static ErrorDistribution laplace(double scale);
  ErrorDistribution of(const std::vector<ErrorSample> &samples, double pull) const;

  double shareBelow(double value) const;
  double quantile(double share) const; // linear within a cell

private:
  std::vector<double> mass; // of kCells cells; sums to 1
};

} // namespace dtc::published
