// Takes medians of repeated runs within a budget of time.
#include "compiler/measure/calibrate/Stopwatch.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace dtc {
namespace {

constexpr double leastSample = 20e-6; // a shorter sample is a batch of runs
constexpr int32_t leastRepeats = 3, mostRepeats = 200;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Interpolates linearly between the sorted samples.
double quantile(const std::vector<double> &sorted, double share) {
  double position = share * static_cast<double>(sorted.size() - 1);
  auto below = static_cast<size_t>(position);
  size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

} // namespace

Measured summarize(std::vector<double> samples) {
  assert(!samples.empty() && "a median is of something");
  std::sort(samples.begin(), samples.end());
  Measured result;
  result.seconds = quantile(samples, 0.5);
  result.repeats = static_cast<int64_t>(samples.size());
  if (result.seconds > 0)
    result.spread = (quantile(samples, 0.75) - quantile(samples, 0.25)) / result.seconds;
  return result;
}

Stopwatch::Stopwatch(rt::Comm &world, double seconds, size_t runs)
    : world(world), end(now() + seconds), patience(now() + 5 * seconds), left(runs) {}

rt::Status Stopwatch::share(double warm, Share &result) {
  double slot = std::max(0.0, end - now()) / static_cast<double>(std::max<size_t>(left, 1));
  double batch = std::clamp(std::ceil(leastSample / std::max(warm, 1e-9)), 1.0, 1e5);
  double repeats = std::floor(slot / (warm * batch));
  result.batch = static_cast<int32_t>(batch);
  result.repeats = static_cast<int32_t>(std::clamp<double>(repeats, leastRepeats, mostRepeats));
  return world.broadcast(&result, 2, rt::DataType::I32, 0);
}

rt::Status Stopwatch::slowest(std::vector<float> &samples) {
  return world.allReduce(samples.data(), samples.data(), samples.size(), rt::DataType::F32,
                         rt::Reduction::Max);
}

rt::Status Stopwatch::time(llvm::function_ref<rt::Status()> run, std::optional<Measured> &result) {
  result.reset();
  int32_t goesOn = now() < patience;
  DTC_RETURN_IF_ERROR(world.broadcast(&goesOn, 1, rt::DataType::I32, 0));
  if (!goesOn) {
    ++numSkipped;
    return {};
  }
  // The first run touches pages and fills the libraries' caches. The second one is warm.
  DTC_RETURN_IF_ERROR(run());
  std::vector<float> warm(1);
  DTC_RETURN_IF_ERROR(world.barrier());
  double start = now();
  DTC_RETURN_IF_ERROR(run());
  warm[0] = static_cast<float>(now() - start);
  DTC_RETURN_IF_ERROR(slowest(warm));
  Share decided{};
  DTC_RETURN_IF_ERROR(share(static_cast<double>(warm[0]), decided));
  left -= left > 0;

  std::vector<float> samples(static_cast<size_t>(decided.repeats));
  for (float &sample : samples) {
    DTC_RETURN_IF_ERROR(world.barrier());
    start = now();
    for (int32_t i = 0; i < decided.batch; ++i)
      DTC_RETURN_IF_ERROR(run());
    sample = static_cast<float>((now() - start) / decided.batch);
  }
  DTC_RETURN_IF_ERROR(slowest(samples));
  result = summarize(std::vector<double>(samples.begin(), samples.end()));
  // Four digits are more than a clock can measure.
  char text[32];
  snprintf(text, sizeof(text), "%.4g", std::max(result->seconds, 1e-9));
  result->seconds = std::strtod(text, nullptr);
  return {};
}

} // namespace dtc
