#include "tools/dtrun/Train.h"

#include "runtime/base/Text.h"
#include "runtime/comm/Agree.h"
#include "runtime/exec/Executor.h"
#include "runtime/format/Counted.h"
#include "runtime/format/Target.h"
#include "tools/dtrun/Batches.h"
#include "tools/dtrun/Checkpoints.h"
#include "tools/dtrun/Devices.h"
#include "tools/dtrun/Divergence.h"
#include "tools/dtrun/Evaluation.h"
#include "tools/dtrun/Outputs.h"
#include "tools/dtrun/Parameters.h"
#include "tools/dtrun/RunFiles.h"
#include "tools/dtrun/RunRecord.h"
#include "tools/dtrun/Watch.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <unistd.h>
#include <utility>

namespace dtc::rt {
namespace {

using format::text;

class Trainer {
public:
  Trainer(const Options &options, const Executable &executable, Comm &world, int threads,
          StartUp &startUp, Progress *progress)
      : options(options), executable(executable), world(world), threads(threads), startUp(startUp),
        progress(progress), record(options, executable, world), divergence(options, world) {}

  Status prepare();
  // Prints what prepare() has checked.
  Status reportDryRun();
  Status runSteps(TrainEnd &end);
  Status finish(const TrainEnd &end);

private:
  Status startState();
  Status openData(std::vector<Trait> &traits);
  Status announceData(const DataSummary &data, bool isEvaluation);
  Status setScalars(uint64_t step);
  void enter(Activity activity) {
    if (progress)
      progress->enter(activity);
  }
  Status enqueue(uint64_t step);
  Status dumpGradients(uint64_t step);
  // Closes the dumps of steps that ran before the checkpoint, whose files must be there.
  Status leaveOutGradients();
  Status loadAndWait(uint64_t step);
  // Reads the next batch while the step runs that was started at `begun`.
  Status readNext(uint64_t step, std::chrono::steady_clock::time_point begun);
  Status collect(uint64_t step, StepReport &report);
  // Fills in what is known about the job, and what is measured between steps.
  Status completeReport(StepReport &report);
  // Returns the seconds since the last call.
  double lap();
  // Does work that is not part of a step and may take long.
  template <typename Work> Status doBetweenSteps(Spent cause, Work work);
  void reportWork(const StepReport &report);
  Status evaluate(uint64_t step, TrainEnd &end);
  Status rollBack(uint64_t &step, const StepReport &report, Spike &spike, TrainEnd &end);
  void goOnFrom(const Checkpoints::Progress &progress);
  // Returns the batch of the data that a step reads.
  uint64_t batchOf(uint64_t step) const { return step + skippedBatches; }
  Status checkReplicas(uint64_t step);
  Status saveAfter(uint64_t step, const StepResult &result, TrainEnd &end);
  Status conclude(const TrainEnd &end);

  const Options &options;
  const Executable &executable;
  Comm &world;
  int threads;
  StartUp &startUp;
  Progress *progress; // null in a job of one rank
  RankDevice rankDevice;
  Device *device = nullptr; // points into rankDevice
  std::unique_ptr<Executor> executor;
  Batches batches;
  Evaluation evaluation;
  Checkpoints checkpoints;
  std::chrono::steady_clock::time_point lapBegin;
  RunRecord record;
  Watch watch;
  ExpertLoadMeter experts;
  Divergence divergence;
  RunFiles files;
  float baseLearningRate = 0;
  uint64_t lastStep = 0; // the last step before this process
  uint64_t skippedBatches = 0;
  std::chrono::steady_clock::time_point firstBegan; // begin of the first step
  RunSummary summary;
};

Status Trainer::openData(std::vector<Trait> &traits) {
  DTC_RETURN_IF_ERROR(
      batches.open(options.data, documentsOf(options), options.seed, executable, *executor));
  // A run that leaves out data reads further samples in their place.
  uint64_t reach =
      options.spikeFactor > 0 && options.steps < UINT64_MAX / 2 ? 2 * options.steps : options.steps;
  DTC_RETURN_IF_ERROR(batches.check(reach));
  return batches.traits(reach, traits);
}

Status Trainer::prepare() {
  startUp.enter(Phase::OpeningDevice);
  DTC_RETURN_IF_ERROR(
      agree(world, makeDevice(executable, world, threads, options.timeoutSeconds, rankDevice)));
  device = rankDevice.device.get();
  startUp.enter(Phase::MakingGroups);
  ExecutorOptions wanted{.trace = !options.profile.empty(), .progress = progress};
  DTC_RETURN_IF_ERROR(Executor::create(executable, world, *device, wanted, executor));
  DTC_RETURN_IF_ERROR(experts.open(executable.manifest(), world, executor->expertSizes()));
  startUp.enter(Phase::OpeningOutputs);
  baseLearningRate =
      options.hasLearningRate ? options.learningRate : executable.manifest().default_lr();
  DTC_RETURN_IF_ERROR(agree(world, record.open()));
  DTC_RETURN_IF_ERROR(record.shareFolder(world));
  DTC_RETURN_IF_ERROR(files.open(options, executable, world));
  startUp.enter(Phase::OpeningData);
  std::vector<Trait> traits;
  DTC_RETURN_IF_ERROR(agree(world, openData(traits)));
  DTC_RETURN_IF_ERROR(evaluation.open(options, executable, *executor, world));
  DTC_RETURN_IF_ERROR(agreeOnTraits(world, traits));
  DTC_RETURN_IF_ERROR(startState());
  DTC_RETURN_IF_ERROR(watch.open(options, executable, world, *executor, *device, progress));
  DTC_RETURN_IF_ERROR(agree(world, record.announce(threads, lastStep)));
  if (Batches::firstReader(executable) < 0)
    return {};
  DTC_RETURN_IF_ERROR(announceData(batches.summarise(options.steps), false));
  return evaluation.hasData() ? announceData(evaluation.summarise(), true) : Status();
}

// Rank 0 prints, but it may not read any data itself.
Status Trainer::announceData(const DataSummary &data, bool isEvaluation) {
  std::string line = options.json ? dataAsJson(data, isEvaluation) : dataAsText(data, isEvaluation);
  DTC_RETURN_IF_ERROR(bringText(world, Batches::firstReader(executable), line));
  return agree(world, record.announceData(line));
}

Status Trainer::reportDryRun() {
  std::vector<std::string> checked = {text("the program for ",
                                           format::counted(world.size(), "rank"), " of device '",
                                           format::deviceOf(executable.manifest()), "'")};
  if (Batches::firstReader(executable) >= 0)
    checked.push_back(text("the data of ", format::counted(options.steps, "step")));
  if (evaluation.hasData())
    checked.push_back("the evaluation data");
  if (lastStep > 0)
    checked.push_back(
        text("the checkpoint of step ", lastStep, " of '", options.checkpointDir, "'"));
  else if (!options.init.empty())
    checked.push_back(text("the parameters of '", options.init, "'"));
  for (const auto &[flag, value] :
       {std::pair("--profile", &options.profile), std::pair("--dump-params", &options.dumpParams),
        std::pair("--dump-grads", &options.dumpGrads), std::pair("--log-dir", &options.logDir),
        std::pair("--checkpoint-dir", &options.checkpointDir)})
    if (!value->empty())
      checked.push_back(text("the place of ", flag));
  return agree(world, record.announceDryRun(checked, lastStep));
}

// Starts from the last checkpoint, or from the seed or --init.
Status Trainer::startState() {
  startUp.enter(Phase::ReadingCheckpoint);
  DTC_RETURN_IF_ERROR(checkpoints.open(options, executable, world, *executor, *device,
                                       batches.samples(), baseLearningRate));
  std::optional<Checkpoints::Progress> progress;
  Spent before = watch.enter(Spent::Checkpoint);
  DTC_RETURN_IF_ERROR(checkpoints.resume(progress));
  watch.enter(before);
  DTC_RETURN_IF_ERROR(watch.goOn(progress ? progress->spent : SpentSeconds(), world));
  startUp.enter(Phase::FillingParameters);
  if (!progress)
    return agree(
        world, fillParameters(executable, *executor, *device, options.seed, options.init, threads));
  goOnFrom(*progress);
  skippedBatches = progress->skippedBatches;
  return {};
}

void Trainer::goOnFrom(const Checkpoints::Progress &from) {
  lastStep = from.step;
  divergence.goOnFrom(from);
  record.goOnAfter(lastStep);
}

double Trainer::lap() {
  auto now = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(now - std::exchange(lapBegin, now)).count();
}

template <typename Work> Status Trainer::doBetweenSteps(Spent cause, Work work) {
  auto begin = std::chrono::steady_clock::now();
  Spent before = watch.enter(cause);
  enter(Activity::Working);
  DTC_RETURN_IF_ERROR(work());
  enter(Activity::Stepping);
  watch.enter(before);
  lapBegin += std::chrono::steady_clock::now() - begin;
  return {};
}

Status Trainer::setScalars(uint64_t step) {
  return executor->setScalars({.step = step,
                               .totalSteps = options.steps,
                               .baseLr = baseLearningRate,
                               .seed = options.seed});
}

Status Trainer::enqueue(uint64_t step) {
  DTC_RETURN_IF_ERROR(setScalars(step));
  return executor->enqueue(format::EntryKind::train);
}

// The update reuses the memory of gradients. They are therefore written before the step that
// follows them, whose inputs stay in place. Collective.
Status Trainer::dumpGradients(uint64_t step) {
  Spent before = watch.enter(Spent::Other);
  DTC_RETURN_IF_ERROR(setScalars(step));
  StepResult result;
  DTC_RETURN_IF_ERROR(executor->run(format::EntryKind::gradients, result));
  enter(Activity::Working);
  Status status = writeDump(*files.gradients.at(step), *executor, *device, result.gradientScale);
  files.gradients.erase(step);
  enter(Activity::Stepping);
  (void)lap(); // not part of the step
  watch.enter(before);
  return status;
}

Status Trainer::leaveOutGradients() {
  Status status;
  while (!files.gradients.empty() && files.gradients.begin()->first <= lastStep) {
    const auto &[step, dump] = *files.gradients.begin();
    bool isLast = options.dumpGradsAt.empty();
    if (world.rank() == 0 && status.ok() &&
        (isLast || ::access(dump->file->target().c_str(), F_OK) != 0))
      status = Status::invalidArgument(text(isLast ? "--dump-grads" : "--dump-grads-at", ": step ",
                                            step, " has run, and its gradients are gone; ",
                                            isLast ? "raise --steps" : "name a later step",
                                            ", or leave out --resume"));
    files.gradients.erase(files.gradients.begin());
  }
  return agree(world, status);
}

Status Trainer::readNext(uint64_t step, std::chrono::steady_clock::time_point begun) {
  enter(Activity::Working);
  Status status = batches.load(batchOf(step + 1), *executor);
  enter(Activity::Stepping);
  watch.readInput(std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
  return status;
}

Status Trainer::completeReport(StepReport &report) {
  DTC_RETURN_IF_ERROR(bringOutputs(executable.manifest(), world, report.result));
  DTC_RETURN_IF_ERROR(experts.measure(report.result.experts, world, report.experts));
  report.learningRate =
      report.result.hasLearningRate ? report.result.learningRate : baseLearningRate;
  report.rollBacks = divergence.rollBacks();
  report.skippedBatches = skippedBatches;
  watch.afterStep(report);
  if (!watch.measuresNorms(report.step))
    return {};
  return doBetweenSteps(Spent::Other, [&]() -> Status {
    DTC_RETURN_IF_ERROR(experts.gather(report.result.experts, world, report.experts));
    return watch.measureNorms(report);
  });
}

Status Trainer::collect(uint64_t step, StepReport &report) {
  const format::Manifest &manifest = executable.manifest();
  DTC_RETURN_IF_ERROR(executor->collect(report.result));
  report.seconds = lap();
  report.step = step;
  report.samplesPerSecond = static_cast<double>(manifest.global_batch()) / report.seconds;
  report.sequenceLength = manifest.sequence_length();
  double peak = manifest.peak_flops_per_device() * world.size();
  report.mfu = peak > 0 ? manifest.model_flops_per_step() / report.seconds / peak : -1;
  report.peakMemoryBytes = executor->program().arena_bytes();
  return {};
}

// Reports this rank's work in a step: the time in which it did not wait for other ranks.
void Trainer::reportWork(const StepReport &report) {
  double work = 0;
  for (size_t i = 0; i < numTimeClasses; ++i)
    if (i != static_cast<size_t>(TimeClass::Collective) &&
        i != static_cast<size_t>(TimeClass::Wait))
      work += report.result.classSeconds[i];
  if (progress)
    progress->addWork(
        executable.manifest().rank_program()->Get(static_cast<uint32_t>(world.rank())), work,
        report.seconds);
}

// Goes back to the last good checkpoint and continues with the data behind the batch of `step`.
// Without a checkpoint, a finite loss does not end training.
Status Trainer::rollBack(uint64_t &step, const StepReport &report, Spike &spike, TrainEnd &end) {
  std::optional<Checkpoints::Progress> progress;
  bool isChanged = false; // parameters changed while loading checkpoints that were not good
  enter(Activity::Working);
  Spent before = watch.enter(Spent::Checkpoint);
  DTC_RETURN_IF_ERROR(checkpoints.rollBack(progress, isChanged));
  watch.enter(before);
  Divergence::Way way = divergence.afterSpike(report, spike, progress, isChanged);
  end.diverged = way == Divergence::Way::End;
  if (way == Divergence::Way::Stay) {
    spike = Spike::None;
    enter(Activity::Stepping);
    (void)lap();
  }
  if (way != Divergence::Way::Back)
    return {};
  uint64_t batches = step - progress->step;
  divergence.wentBack(report, *progress, batches);
  watch.tookBack(progress->spent);
  skippedBatches += batches;
  step = progress->step;
  goOnFrom(*progress);
  // Gradients that were written since then belong to batches that are left out.
  DTC_RETURN_IF_ERROR(files.openGradients(options, executable, world, step));
  DTC_RETURN_IF_ERROR(agree(world, this->batches.load(batchOf(step + 1), *executor)));
  enter(Activity::Stepping);
  (void)lap();
  return {};
}

// Loads a batch while nothing else runs.
Status Trainer::loadAndWait(uint64_t step) {
  auto begun = std::chrono::steady_clock::now();
  Status status = batches.load(batchOf(step), *executor);
  watch.waitedForInput(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
  return status;
}

// Evaluates between two steps. The next batch is then read again, because evaluation fills the same
// inputs. Training continues even if the loss is not finite.
Status Trainer::evaluate(uint64_t step, TrainEnd &end) {
  EvaluationReport report;
  Spent before = watch.enter(Spent::Evaluation);
  if (Status status = evaluation.run(step, *executor, world, progress, report, end.isOwn);
      !status.ok()) {
    if (end.isOwn)
      world.abandon(status.message());
    return status;
  }
  Status mine = record.write(report);
  (void)lap(); // evaluation is not part of a step
  watch.enter(before);
  if (mine.ok() && step < options.steps) {
    enter(Activity::Working);
    mine = loadAndWait(step + 1);
    enter(Activity::Stepping);
  }
  return agree(world, mine);
}

// If a step fails on one rank, it ends that rank at once, and with it the job, because the others
// are in the middle of their step. Everything that may fail between two steps is agreed on after
// each step, together with whether the loss is finite, so that no rank continues alone. The next
// batch is read while a step runs, and an error of that is reported after the step.
Status Trainer::runSteps(TrainEnd &end) {
  if (lastStep == options.steps) {
    startUp.done();
    enter(Activity::Working);
  }
  if (options.steps == 0)
    return evaluation.isDue(0) ? evaluate(0, end) : Status();
  DTC_RETURN_IF_ERROR(leaveOutGradients());
  if (lastStep == options.steps)
    return {};
  (void)lap();
  watch.beginSteps();
  startUp.enter(Phase::ReadingBatch);
  DTC_RETURN_IF_ERROR(agree(world, loadAndWait(lastStep + 1)));
  startUp.done();
  enter(Activity::Stepping);
  firstBegan = std::chrono::steady_clock::now();
  for (uint64_t step = lastStep + 1; step <= options.steps; ++step) {
    StepReport report;
    report.checkpointStall = checkpoints.takeStall();
    bool evaluates = evaluation.isDue(step);
    Status status, loaded;
    if (files.gradients.count(step))
      status = dumpGradients(step);
    auto begun = std::chrono::steady_clock::now();
    if (status.ok())
      status = enqueue(step);
    if (status.ok() && step < options.steps && !evaluates)
      loaded = readNext(step, begun);
    if (status.ok())
      status = collect(step, report);
    if (!status.ok()) {
      end.isOwn = true;
      world.abandon(status.message());
      return status;
    }
    reportWork(report);
    ++summary.steps;
    summary.lastStep = step;
    summary.last = report.result;
    bool ends = divergence.ends(report);
    // A loss for which the run may go back does not end it.
    bool mayGoBack = ends && options.spikeFactor > 0 && !report.isSkipped;
    Spike spike = mayGoBack ? Spike::NotFinite : Spike::None;
    ends &= !mayGoBack;
    DTC_RETURN_IF_ERROR(completeReport(report));
    Status mine = record.write(report);
    if (mine.ok())
      mine = loaded;
    int diverged = -1;
    DTC_RETURN_IF_ERROR(agree(world, mine, ends, diverged));
    if (diverged >= 0) {
      end.diverged = true;
      DTC_RETURN_IF_ERROR(record.close());
      if (world.rank() == 0)
        divergence.explain(report, diverged);
      return {};
    }
    DTC_RETURN_IF_ERROR(divergence.judge(report, spike));
    if (spike != Spike::None)
      DTC_RETURN_IF_ERROR(rollBack(step, report, spike, end));
    if (end.diverged)
      return {};
    if (spike != Spike::None)
      continue;
    DTC_RETURN_IF_ERROR(checkReplicas(step));
    if (evaluates)
      DTC_RETURN_IF_ERROR(evaluate(step, end));
    DTC_RETURN_IF_ERROR(saveAfter(step, report.result, end));
    if (end.stopped)
      return {};
  }
  return {};
}

// If replicas differ, at least one is wrong: no checkpoint of it is taken.
Status Trainer::checkReplicas(uint64_t step) {
  if (!watch.comparesReplicas(step))
    return {};
  return doBetweenSteps(Spent::Other, [&] { return watch.checkReplicas(step); });
}

// The time that the step waits here is reported with the next step.
Status Trainer::saveAfter(uint64_t step, const StepResult &result, TrainEnd &end) {
  Checkpoints::Progress now;
  now.step = step;
  now.lossScale = static_cast<double>(result.lossScale);
  now.skippedBatches = skippedBatches;
  now.spent = watch.spent();
  divergence.fill(now);
  return doBetweenSteps(Spent::Checkpoint, [&] { return checkpoints.afterStep(now, end.stopped); });
}

Status Trainer::conclude(const TrainEnd &end) {
  const format::Manifest &manifest = executable.manifest();
  summary.samples = summary.steps * manifest.global_batch();
  summary.stepsBefore = lastStep;
  summary.sequenceLength = manifest.sequence_length();
  summary.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - firstBegan).count();
  summary.checkpoint = checkpoints.lastSaved();
  summary.stopped = end.stopped;
  return record.conclude(summary);
}

// Writes what can be written, even if something else cannot. A run that ends before its last step
// only waits for its checkpoint: if the run was asked to end, the checkpoint must be there.
Status Trainer::finish(const TrainEnd &end) {
  enter(Activity::Working);
  Status shown = record.close();
  Status saved = checkpoints.finish();
  if (end.stopped)
    return saved.ok() ? conclude(end) : saved;
  if (end.diverged)
    return saved.statusCode() == StatusCode::Aborted ? saved : Status();
  Status traced =
      agree(world, files.profile.isOpen() ? executor->writeTrace(files.profile) : Status());
  if (files.parameters)
    DTC_RETURN_IF_ERROR(writeDump(*files.parameters, *executor, *device));
  for (const Status &status : {traced, saved, shown})
    DTC_RETURN_IF_ERROR(status);
  return conclude(end);
}

} // namespace

Status train(const Options &options, const Executable &executable, Comm &world, int threads,
             StartUp &startUp, Progress *progress, TrainEnd &end) {
  Trainer trainer(options, executable, world, threads, startUp, progress);
  DTC_RETURN_IF_ERROR(trainer.prepare());
  if (options.dryRun)
    return trainer.reportDryRun();
  DTC_RETURN_IF_ERROR(trainer.runSteps(end));
  return trainer.finish(end);
}

} // namespace dtc::rt
