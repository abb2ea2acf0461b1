#include "tools/dtrun/StepEvents.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace dtc::rt {

using format::text;

std::vector<Scalar> scalarsOf(const StepReport &report) {
  const StepResult &result = report.result;
  std::vector<Scalar> scalars;
  auto add = [&](bool isKnown, std::string_view tag, double value) {
    if (isKnown && std::isfinite(value))
      scalars.push_back({std::string(tag), static_cast<float>(value)});
  };
  add(result.hasLoss, "train/loss", result.loss);
  add(result.hasGradNorm, "train/grad_norm", result.gradNorm);
  add(true, "train/lr", report.learningRate);
  add(result.hasLossScale, "train/loss_scale", result.lossScale);
  add(result.hasSkippedSteps, "train/skipped_steps", result.skippedSteps);
  add(report.rollBacks > 0, "train/roll_backs", static_cast<double>(report.rollBacks));
  add(report.rollBacks > 0, "train/skipped_batches", static_cast<double>(report.skippedBatches));
  add(true, "speed/step_time_s", report.seconds);
  add(true, "speed/samples_per_s", report.samplesPerSecond);
  add(report.sequenceLength > 0, "speed/tokens_per_s",
      report.samplesPerSecond * static_cast<double>(report.sequenceLength));
  add(report.mfu >= 0, "speed/mfu", report.mfu);
  std::optional<StepSplit> split = splitOf(report);
  StepSplit known = split.value_or(StepSplit());
  add(split && report.seconds > 0, "speed/exposed_comm_fraction",
      result.exposedCommSeconds / report.seconds);
  add(split.has_value(), "split/compute_s", known.compute);
  add(split.has_value(), "split/exposed_comm_s", known.exposedComm);
  add(true, "split/input_wait_s", report.inputWait);
  add(true, "split/checkpoint_stall_s", report.checkpointStall);
  add(split.has_value(), "split/other_s", known.other);
  add(true, "memory/peak_bytes", static_cast<double>(report.peakMemoryBytes));
  add(report.residentBytes > 0, "memory/resident_bytes", static_cast<double>(report.residentBytes));
  // Nobody can tell more curves apart. The log has all values.
  constexpr size_t kMostRanks = 64;
  for (size_t rank = 0; rank < std::min(report.loads.work.size(), kMostRanks); ++rank)
    add(true, text("ranks/work_s/", rank), report.loads.work[rank]);
  add(report.loads.slowest >= 0, "ranks/slowest", report.loads.slowest);
  add(report.loads.slowest >= 0, "ranks/slowest_excess", report.loads.excess);
  add(report.loads.straggler.rank >= 0, "ranks/straggler_cost", report.loads.straggler.costShare);
  ExpertLoads experts = report.experts.value_or(ExpertLoads());
  add(report.experts.has_value(), "experts/imbalance", experts.imbalance);
  add(report.experts.has_value(), "experts/rounds", static_cast<double>(experts.rounds));
  add(report.experts && result.hasLossBeside, "experts/router_loss", result.lossBeside);
  for (size_t layer = 0; layer < experts.rows.size(); ++layer)
    add(true, text("experts/load/", layer), loadOf(experts.rows[layer]));
  for (size_t i = 0; i < numSpent; ++i)
    add(true, text("goodput/", nameOf(static_cast<Spent>(i))), report.goodput[i]);
  for (const BlockNorm &norm : report.norms)
    add(true, text("param_norm/", norm.block), norm.norm);
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
