// Measures the time of repeated device work, by events on a stream.
//
// The samples of one measurement are taken in several rounds over all measurements, so that a drift
// of the card's clocks affects all of them in the same way. A sample is a batch of runs between two
// events. It is long enough that the resolution of the events (about 0.5 us) and the start of the
// first run do not matter.
#pragma once

#include "Check.h"
#include "Points.h"

#include <functional>
#include <vector>

// Returns the median and the spread of samples, in seconds.
Summary summarize(std::vector<double> samples);

// Times batches of runs on one stream.
class Timer {
public:
  // A sample lasts at least `sampleSeconds`, and holds at most `mostRuns` runs.
  explicit Timer(cudaStream_t stream, double sampleSeconds = 1e-3, int mostRuns = 1000);
  ~Timer();
  Timer(const Timer &) = delete;
  Timer &operator=(const Timer &) = delete;

  // Warms up, and returns the number of runs that make a sample. `run` only enqueues on the stream.
  int calibrateBatch(const std::function<void()> &run);
  // Runs a batch and returns the seconds of one run.
  double sample(const std::function<void()> &run, int batch);

private:
  cudaStream_t stream;
  double sampleSeconds;
  int mostRuns;
  cudaEvent_t begin, end;
};

constexpr int warmUps = 3;
