// Measures the time of a run on all ranks of a job at once.
#pragma once

#include "compiler/describe/topology/Calibration.h"
#include "runtime/comm/Comm.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace dtc {

// Returns the median of samples, and the distance of their quartiles as a share of the median.
// `samples` must not be empty.
// Example: {3, 1, 2} has the median 2; {1, 2, 3, 4} has 2.5 and the quartiles 1.75 and 3.25.
Measured summarize(std::vector<double> samples);

// Divides a budget of seconds among a number of measurements. Every rank of the job must make the
// same calls in the same order. Rank 0 decides how often a run is repeated.
class Stopwatch {
public:
  // `runs` is the number of measurements that will follow.
  Stopwatch(rt::Comm &world, double seconds, size_t runs);

  // Calls `run` at least twice to warm up and three times to time it. A sample starts at a barrier
  // and ends with the last rank; runs below 20 us are timed in batches. `result` stays empty if
  // five times the budget was spent before, on a machine much slower than the shapes are made for.
  // Errors: those of `run` and of the ranks' communication.
  rt::Status time(llvm::function_ref<rt::Status()> run, std::optional<Measured> &result);

  size_t skipped() const { return numSkipped; }

private:
  struct Share {
    int32_t repeats, batch; // 0: skip
  };
  // Asks rank 0 for repeats and batch, given the time of one warm run.
  rt::Status share(double warm, Share &result);
  rt::Status slowest(std::vector<float> &samples);

  rt::Comm &world;
  double end, patience;
  size_t left, numSkipped = 0;
};

} // namespace dtc
