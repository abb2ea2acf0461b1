// Measures the time of repeated device work.
#include "Timer.h"

#include <algorithm>
#include <cmath>

Summary summarize(std::vector<double> samples) {
  Summary result;
  if (samples.empty())
    return result;
  std::sort(samples.begin(), samples.end());
  auto quantile = [&](double share) {
    double position = share * double(samples.size() - 1);
    size_t below = size_t(position), above = std::min(below + 1, samples.size() - 1);
    return samples[below] + (position - double(below)) * (samples[above] - samples[below]);
  };
  result.seconds = quantile(0.5);
  result.repeats = int(samples.size());
  if (result.seconds > 0)
    result.spread = (quantile(0.75) - quantile(0.25)) / result.seconds;
  return result;
}

Timer::Timer(cudaStream_t stream, double sampleSeconds, int mostRuns)
    : stream(stream), sampleSeconds(sampleSeconds), mostRuns(mostRuns) {
  CHECK_CUDA(cudaEventCreate(&begin));
  CHECK_CUDA(cudaEventCreate(&end));
}

Timer::~Timer() {
  // An error may have been reported before, so errors here are ignored.
  (void)cudaEventDestroy(begin);
  (void)cudaEventDestroy(end);
}

int Timer::calibrateBatch(const std::function<void()> &run) {
  for (int i = 0; i < warmUps; ++i)
    run();
  CHECK_CUDA(cudaStreamSynchronize(stream));
  double one = std::max(sample(run, 4), 1e-7);
  return int(std::clamp(std::ceil(sampleSeconds / one), 1.0, double(mostRuns)));
}

double Timer::sample(const std::function<void()> &run, int batch) {
  CHECK_CUDA(cudaEventRecord(begin, stream));
  for (int i = 0; i < batch; ++i)
    run();
  CHECK_CUDA(cudaEventRecord(end, stream));
  CHECK_CUDA(cudaEventSynchronize(end));
  float milliseconds = 0;
  CHECK_CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
  return double(milliseconds) * 1e-3 / batch;
}
