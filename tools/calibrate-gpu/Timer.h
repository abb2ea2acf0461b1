// Times of repeated device work, by events on a stream.
//
// Samples of one measurement are taken in several rounds over all measurements, so that a drift of
// the card's clocks meets all of them alike. A sample is a batch of runs between two events, long
// enough that the events' resolution (about 0.5 us) and the start of the first run do not count.
#pragma once

#include "Check.h"
#include "Points.h"

#include <functional>
#include <vector>

Summary summarize(std::vector<double> samples);

class Timer {
public:
  // A sample lasts `sampleSeconds` at least, and holds at most `mostRuns` runs.
  explicit Timer(cudaStream_t stream, double sampleSeconds = 1e-3, int mostRuns = 1000);
  ~Timer();
  Timer(const Timer &) = delete;
  Timer &operator=(const Timer &) = delete;

  // Runs to warm up, and how many runs make a sample. `run` only enqueues on the stream.
  int calibrateBatch(const std::function<void()> &run);
  // Seconds of one run, of a batch.
  double sample(const std::function<void()> &run, int batch);

private:
  cudaStream_t stream;
  double sampleSeconds;
  int mostRuns;
  cudaEvent_t begin, end;
};

constexpr int warmUps = 3;
