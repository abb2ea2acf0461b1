#include "tools/dtrun/Evaluation.h"

#include "runtime/base/Text.h"
#include "tools/dtrun/Outputs.h"

#include <algorithm>

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
                            const Executor &executor, std::vector<Trait> &traits,
                            std::vector<int64_t> &counts) {
  if (!canEvaluate(executor.program()))
    return Status::invalidArgument(
        text("--eval-data: ", executable.name(),
             " can only train: it has no entry 'evaluate'; compile it anew, or leave out "
             "--eval-data"));
  DTC_RETURN_IF_ERROR(batches.open(options.evalData, seed, executable, executor));
  // Of a rank that reads nothing: as many as others have, which open() finds out.
  if (executor.program().inputs()->size() == 0)
    return batches.traits(numBatches, traits);
  if (batches.isRandom()) {
    numBatches = kRandomEvaluationBatches;
  } else {
    numBatches = batches.samples() / globalBatch;
    partialBatch = batches.samples() % globalBatch;
  }
  if (numBatches == 0)
    return Status::invalidArgument(text("--eval-data ", options.evalData, " has ",
                                        batches.samples(),
                                        batches.samples() == 1 ? " sample" : " samples",
                                        ", and evaluation runs on whole batches of ", globalBatch,
                                        "; give it more, or compile for a smaller --global-batch"));
  DTC_RETURN_IF_ERROR(batches.check(numBatches));
  DTC_RETURN_IF_ERROR(batches.countWhatCounts(numBatches, counts));
  return batches.traits(numBatches, traits);
}

Status Evaluation::weighBatches(std::vector<int64_t> counts, Control &world) {
  weights.assign(counts.size(), 0);
  if (counts.empty())
    return {};
  auto ranks = static_cast<size_t>(world.size());
  std::vector<int64_t> all(counts.size() * ranks);
  DTC_RETURN_IF_ERROR(world.allGather(counts.data(), all.data(), counts.size(), DataType::I64));
  for (size_t i = 0; i < all.size(); ++i)
    weights[i % weights.size()] += all[i];
  return {};
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
  std::vector<Trait> traits;
  std::vector<int64_t> counts;
  DTC_RETURN_IF_ERROR(agree(world, openData(options, executable, executor, traits, counts)));
  // Also that all have as many batches, whose counts are exchanged next.
  DTC_RETURN_IF_ERROR(agreeOnTraits(world, traits));
  int64_t known[2] = {static_cast<int64_t>(numBatches), static_cast<int64_t>(partialBatch)};
  DTC_RETURN_IF_ERROR(world.largest(known));
  numBatches = static_cast<uint64_t>(known[0]);
  partialBatch = static_cast<uint64_t>(known[1]);
  if (numBatches == 0)
    return Status::invalidArgument(
        text("--eval-data: ", executable.name(), " reads nothing; leave out --eval-data"));
  if (Batches::isWeighted(executable))
    counts.resize(numBatches);
  return weighBatches(std::move(counts), world);
}

bool Evaluation::isDue(uint64_t step) const {
  return isOn && (step == steps || (every > 0 && step > 0 && step % every == 0));
}

Status Evaluation::run(uint64_t afterStep, Executor &executor, Control &world,
                       EvaluationReport &report, bool &isOwn) {
  DTC_RETURN_IF_ERROR(agree(
      world, executor.setScalars({.step = 0, .totalSteps = steps, .baseLr = 0, .seed = seed})));
  double sum = 0, total = 0;
  for (uint64_t batch = 0; batch < numBatches; ++batch) {
    DTC_RETURN_IF_ERROR(agree(world, batches.load(batch + 1, executor)));
    StepResult result;
    if (Status status = executor.run(format::EntryKind::evaluate, result); !status.ok()) {
      isOwn = true;
      return status;
    }
    double weight = weights.empty() ? 1 : static_cast<double>(weights[batch]);
    // A batch in which nothing counts has loss 0; nothing but such batches, too.
    sum += weight * static_cast<double>(result.loss);
    total += weight;
  }
  report.step = afterStep;
  report.loss = total > 0 ? sum / total : 0;
  DTC_RETURN_IF_ERROR(bringLoss(*manifest, world, report.loss));
  report.countsTokens = sequenceLength > 0;
  uint64_t read = numBatches * globalBatch * std::max<uint64_t>(sequenceLength, 1);
  report.count = weights.empty() ? read : static_cast<uint64_t>(total);
  return {};
}

} // namespace dtc::rt
