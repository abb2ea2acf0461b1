// Distribution of measured seconds and bytes around their estimates.
#pragma once

#include "compiler/price/uncertainty/ErrorTable.h"

namespace dtc {

// The errors of estimates of published runs, by software, device and kind of model, applied to a
// planned run. Example: a step of Megatron-Core on H100 that is estimated to take 10 s takes 8.9 to
// 12.4 s in nine of ten runs.
//   Uncertainty errors = Uncertainty::of({{"megatron-core", "gpu", "dtc"}, "H100"});
//   errors.stepHighSeconds(10);
//   errors.fitProbability(/*estimatedBytes=*/70e9, /*limitBytes=*/80e9);
class Uncertainty {
public:
  // Returns the errors of the nearest class in errors.csv.
  static Uncertainty of(const ErrorClass &key);
  // Returns zero errors, for estimates that equal the measured value: memory of programs that dtc
  // plans to the byte.
  static Uncertainty exact() { return Uncertainty(std::nullopt); }
  explicit Uncertainty(std::optional<ClassErrors> errors, ErrorClass key = {})
      : errors(std::move(errors)), key(std::move(key)) {}

  // The 5th and the 95th percentile of measured seconds.
  double stepLowSeconds(double estimate) const;
  // Returns the 95th percentile of measured seconds.
  double stepHighSeconds(double estimate) const;

  // Returns the probability that a run's memory is at most the limit. Falls with the estimate,
  // rises with the limit.
  double fitProbability(double estimatedBytes, double limitBytes) const;
  // The f for which measured <= f * estimated with that probability: fitProbability of an estimate
  // of limit / f.
  double memoryFactor(double probability) const;

  // Two configurations of one model and cluster whose estimated seconds differ by no more than this
  // share can't be told apart: in half of the published pairs, the measured ratio is further than
  // that from the estimated one, so that at this difference one order in four is wrong.
  double noise() const { return errors ? errors->noise : 0; }

  // Describes the runs that the errors come from, and what of the key none of them had. `software`
  // is the name of the key's first stack for people. Example: "59 runs of dense models with
  // megatron-core or variants of it on H100; none was with dtc".
  std::string basis(llvm::StringRef software) const;

private:
  std::optional<ClassErrors> errors; // none: exact
  ErrorClass key;                    // the class that was asked for
};

} // namespace dtc
