#include "tools/dtrun/Evaluation.h"

#include "runtime/base/Text.h"
#include "tools/dtrun/Outputs.h"

#include <algorithm>
#include <cmath>

namespace dtc::rt {

using format::text;

namespace {

bool canEvaluate(const format::Program &program) {
  return std::any_of(
      program.entries()->begin(), program.entries()->end(),
      [](const format::Entry *entry) { return entry->kind() == format::EntryKind::evaluate; });
}

} // namespace

Status Evaluation::openData(const Options &options, const Executable &executable,
                            const Executor &executor, std::vector<Trait> &traits) {
  if (!canEvaluate(executor.program()))
    return Status::invalidArgument(
        text("--eval-data: ", executable.name(),
             " can only train: it has no entry 'evaluate'; compile it anew, or leave out "
             "--eval-data"));
  DTC_RETURN_IF_ERROR(
      batches.open(options.evalData, documentsOf(options), seed, executable, executor));
  // A rank that reads nothing takes the sample count that other ranks found; open() exchanges it.
  if (executor.program().inputs()->size() > 0)
    samples = batches.isRandom() ? kRandomEvaluationBatches * globalBatch : batches.samples();
  DTC_RETURN_IF_ERROR(batches.check(numBatches()));
  return batches.traits(numBatches(), traits);
}

Status Evaluation::open(const Options &options, const Executable &executable,
                        const Executor &executor, Control &world) {
  isOn = !options.evalData.empty();
  if (!isOn)
    return {};
  every = options.evalEvery;
  steps = options.steps;
  seed = options.seed;
  manifest = &executable.manifest();
  globalBatch = executable.manifest().global_batch();
  sequenceLength = executable.manifest().sequence_length();
  isWeighted = rankWith(*manifest, format::OutputRole::loss_weight) >= 0;
  countsTargets = isWeighted && Batches::leavesOut(executable);
  std::vector<Trait> traits;
  DTC_RETURN_IF_ERROR(agree(world, openData(options, executable, executor, traits)));
  DTC_RETURN_IF_ERROR(agreeOnTraits(world, traits));
  auto known = static_cast<int64_t>(samples);
  DTC_RETURN_IF_ERROR(world.largest({&known, 1}));
  samples = static_cast<uint64_t>(known);
  if (samples == 0)
    return Status::invalidArgument(
        text("--eval-data: ", executable.name(), " reads nothing; leave out --eval-data"));
  return {};
}

bool Evaluation::isDue(uint64_t step) const {
  return isOn && (step == steps || (every > 0 && step > 0 && step % every == 0));
}

Status Evaluation::load(uint64_t batch, Executor &executor, Progress *progress) {
  if (!progress)
    return batches.load(batch + 1, executor);
  Activity before = progress->activity();
  progress->enter(Activity::Working);
  Status status = batches.load(batch + 1, executor);
  progress->enter(before);
  return status;
}

Status Evaluation::runBatch(uint64_t batch, Executor &executor, Control &world, Progress *progress,
                            Sum &sum, bool &isOwn) {
  DTC_RETURN_IF_ERROR(agree(world, load(batch, executor, progress)));
  StepResult result;
  if (Status status = executor.run(format::EntryKind::evaluate, result); !status.ok()) {
    isOwn = true;
    return status;
  }
  // The loss of a batch in which nothing counts is 0, except for the terms beside it.
  sum.batches = 1;
  sum.beside = static_cast<double>(result.lossBeside);
  sum.weight = isWeighted ? static_cast<double>(result.lossWeight) : 1;
  sum.loss = sum.weight * (static_cast<double>(result.loss) - sum.beside);
  return {};
}

Status Evaluation::run(uint64_t afterStep, Executor &executor, Control &world, Progress *progress,
                       EvaluationReport &report, bool &isOwn) {
  DTC_RETURN_IF_ERROR(agree(
      world, executor.setScalars({.step = 0, .totalSteps = steps, .baseLr = 0, .seed = seed})));
  Sum total;
  for (uint64_t batch = 0; batch < samples / globalBatch; ++batch) {
    Sum whole;
    DTC_RETURN_IF_ERROR(runBatch(batch, executor, world, progress, whole, isOwn));
    total.add(whole, 1);
  }
  if (uint64_t rest = samples % globalBatch) {
    Sum filledUp, filling;
    uint64_t last = samples / globalBatch;
    DTC_RETURN_IF_ERROR(runBatch(last, executor, world, progress, filledUp, isOwn));
    DTC_RETURN_IF_ERROR(runBatch(last + 1, executor, world, progress, filling, isOwn));
    total.add(filledUp, 1);
    total.add(filling, -static_cast<double>(globalBatch - rest) / static_cast<double>(globalBatch));
  }
  report.step = afterStep;
  report.loss = total.weight > 0 ? total.loss / total.weight : 0;
  if (total.batches > 0)
    report.loss += total.beside / total.batches;
  DTC_RETURN_IF_ERROR(bringFromLoss(*manifest, world, report.loss));
  report.countsTokens = sequenceLength > 0;
  report.count = samples * std::max<uint64_t>(sequenceLength, 1);
  if (countsTargets) {
    DTC_RETURN_IF_ERROR(bringFromLoss(*manifest, world, total.weight));
    report.count = static_cast<uint64_t>(std::llround(std::max(total.weight, 0.0)));
  }
  return {};
}

} // namespace dtc::rt
