#include "tools/dtrun/StepEvents.h"

#include <cmath>
#include <cstdio>

namespace dtc::rt {

std::vector<Scalar> scalarsOf(const StepReport &report) {
  const StepResult &result = report.result;
  std::vector<Scalar> scalars;
  auto add = [&](bool isKnown, std::string_view tag, double value) {
    if (isKnown && std::isfinite(value))
      scalars.push_back({tag, static_cast<float>(value)});
  };
  add(result.hasLoss, "train/loss", result.loss);
  add(result.hasGradNorm, "train/grad_norm", result.gradNorm);
  add(true, "train/lr", report.learningRate);
  add(result.hasLossScale, "train/loss_scale", result.lossScale);
  add(result.hasSkippedSteps, "train/skipped_steps", result.skippedSteps);
  add(true, "speed/step_time_s", report.seconds);
  add(true, "speed/samples_per_s", report.samplesPerSecond);
  add(report.sequenceLength > 0, "speed/tokens_per_s",
      report.samplesPerSecond * static_cast<double>(report.sequenceLength));
  add(report.mfu >= 0, "speed/mfu", report.mfu);
  add(report.seconds > 0, "speed/exposed_comm_fraction",
      result.exposedCommSeconds / report.seconds);
  add(true, "memory/peak_bytes", static_cast<double>(report.peakMemoryBytes));
  return scalars;
}

void StepEvents::open(const std::string &folder) { check(file.open(folder)); }

void StepEvents::write(const StepReport &report) {
  check(file.write(static_cast<int64_t>(report.step), scalarsOf(report)));
}

void StepEvents::write(const EvaluationReport &report) {
  if (std::isfinite(report.loss))
    check(file.write(static_cast<int64_t>(report.step),
                     {{"eval/loss", static_cast<float>(report.loss)}}));
}

void StepEvents::check(const Status &status) {
  if (status.ok() || isOver)
    return;
  isOver = true;
  std::fprintf(stderr, "dtrun: %s; training goes on without\n", status.message().c_str());
}

} // namespace dtc::rt
