#include "tools/dtrun/Divergence.h"

#include "runtime/base/Text.h"

#include <cmath>
#include <cstdio>

namespace dtc::rt {

using format::text;

void Divergence::goOnFrom(const Checkpoints::Progress &from) {
  skipped = static_cast<float>(from.skippedSteps);
  skippedRow = from.skippedRow;
  meanLoss = from.meanLoss;
}

void Divergence::fill(Checkpoints::Progress &progress) const {
  progress.skippedSteps = static_cast<uint64_t>(skipped);
  progress.skippedRow = skippedRow;
  progress.meanLoss = meanLoss;
}

bool Divergence::ends(StepReport &report) {
  const StepResult &result = report.result;
  report.isSkipped = result.hasSkippedSteps && result.skippedSteps > skipped;
  skipped = result.skippedSteps;
  skippedRow = report.isSkipped ? skippedRow + 1 : 0;
  bool isFinite = !result.hasLoss || std::isfinite(result.loss);
  bool isLast = report.step == options.steps;
  return report.isSkipped ? skippedRow > kMostSkipped || (isLast && !isFinite) : !isFinite;
}

void Divergence::explain(const StepReport &report, int rank) const {
  if (skippedRow > kMostSkipped) {
    std::fprintf(stderr,
                 "dtrun: the gradients of the last %llu steps, up to step %llu, are not finite: "
                 "training diverged; lower --lr (now %g) or check the data\n",
                 static_cast<unsigned long long>(skippedRow),
                 static_cast<unsigned long long>(report.step),
                 static_cast<double>(report.learningRate));
    return;
  }
  bool mine = report.result.hasLoss && !std::isfinite(report.result.loss);
  const char *what = !mine                            ? "not finite"
                     : std::isnan(report.result.loss) ? "not a number"
                                                      : "infinite";
  std::fprintf(stderr,
               "dtrun: the loss of step %llu is %s%s: training diverged; lower --lr (now %g) or "
               "check the data\n",
               static_cast<unsigned long long>(report.step), what,
               mine ? "" : text(" on rank ", rank).c_str(),
               static_cast<double>(report.learningRate));
}

Status Divergence::judge(const StepReport &report, Spike &spike) {
  if (options.spikeFactor == 0)
    return {};
  bool knows = world.rank() == 0 && report.result.hasLoss;
  if (knows && isSpike(meanLoss, report.result.loss, options.spikeFactor))
    spike = std::isfinite(report.result.loss) ? Spike::Finite : Spike::NotFinite;
  int64_t raised[2] = {report.isSkipped, static_cast<int64_t>(spike)};
  DTC_RETURN_IF_ERROR(world.largest(raised));
  bool isSkipped = raised[0] != 0;
  spike = isSkipped ? Spike::None : static_cast<Spike>(raised[1]);
  if (knows && spike == Spike::None && !isSkipped)
    meanLoss.add(report.result.loss);
  return {};
}

void Divergence::say(const StepReport &report, const std::string &what) const {
  if (world.rank() == 0)
    std::fprintf(stderr, "dtrun: the loss of step %llu is %g, of those before %g: %s\n",
                 static_cast<unsigned long long>(report.step),
                 static_cast<double>(report.result.loss), meanLoss.value, what.c_str());
}

Divergence::Way Divergence::afterSpike(const StepReport &report, Spike spike,
                                       const std::optional<Checkpoints::Progress> &target,
                                       bool isChanged) {
  row = target && target->step == lastTarget ? row + 1 : 1;
  if (target && row <= kMostRollBacks)
    return Way::Back;
  if (!target && !isChanged && spike == Spike::Finite) {
    say(report, "there is no good checkpoint to go back to, and training goes on");
    if (world.rank() == 0 && report.result.hasLoss)
      meanLoss.add(report.result.loss);
    return Way::Stay;
  }
  say(report, text(target ? text("going back ", kMostRollBacks, " times did not help")
                          : "there is no good checkpoint to go back to",
                   ": training diverged; lower --lr or check the data"));
  return Way::End;
}

void Divergence::wentBack(const StepReport &report, const Checkpoints::Progress &target,
                          uint64_t batches) {
  say(report, text("went back to step ", target.step, ", and leaves out the data of ", batches,
                   batches == 1 ? " step" : " steps"));
  ++count;
  lastTarget = target.step;
}

} // namespace dtc::rt
