#include "tools/dtrun/Train.h"

#include "runtime/base/Text.h"
#include "runtime/comm/Agree.h"
#include "runtime/exec/Executor.h"
#include "runtime/format/Printable.h"
#include "tools/dtrun/Batches.h"
#include "tools/dtrun/Checkpoints.h"
#include "tools/dtrun/Devices.h"
#include "tools/dtrun/Evaluation.h"
#include "tools/dtrun/MetricsPage.h"
#include "tools/dtrun/Outputs.h"
#include "tools/dtrun/Parameters.h"
#include "tools/dtrun/Report.h"
#include "tools/dtrun/Spikes.h"
#include "tools/dtrun/StepEvents.h"
#include "tools/dtrun/TerminalView.h"
#include "tools/dtrun/Watch.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

namespace dtc::rt {
namespace {

using format::text;

// "trace.json" is rank 0's; rank 2 writes "trace.rank2.json".
std::string traceFile(const std::string &path, int rank) {
  if (path.empty() || rank == 0)
    return path;
  size_t dot = path.rfind('.');
  if (dot == std::string::npos || path.find('/', dot) != std::string::npos)
    dot = path.size();
  return text(path.substr(0, dot), ".rank", rank, path.substr(dot));
}

// `path` without symbolic links; empty where there is no such file.
std::string realPath(const std::string &path) {
  char *found = ::realpath(path.c_str(), nullptr);
  std::string result = found ? found : "";
  std::free(found);
  return result;
}

Status printLine(const std::string &line) {
  if (std::printf("%s\n", line.c_str()) >= 0 && std::fflush(stdout) == 0)
    return {};
  return Status::unavailable(text("writing to stdout: ", std::strerror(errno)));
}

class Trainer {
public:
  Trainer(const Options &options, const Executable &executable, Comm &world, int threads,
          Progress *progress)
      : options(options), executable(executable), world(world), threads(threads),
        progress(progress) {}

  Status prepare(StartUp &startUp);
  Status runSteps(TrainEnd &end);
  Status finish(const TrainEnd &end);

private:
  Status startState();
  Status openTargets();
  Status openFiles();
  Status checkTargets() const;
  Status openData(std::vector<Trait> &traits);
  Status announce();
  std::string describeJob() const;
  Status setScalars(uint64_t step);
  void enter(Activity activity) {
    if (progress)
      progress->enter(activity);
  }
  Status enqueue(uint64_t step);
  Status dumpGradients(uint64_t step);
  Status loadAndWait(uint64_t step);
  // Reads the next batch while the step runs that was begun then.
  Status readNext(uint64_t step, std::chrono::steady_clock::time_point begun);
  Status collect(uint64_t step, StepReport &report);
  // Fills in what is known of the job, and what is measured between steps.
  Status completeReport(StepReport &report);
  // Seconds since this was called last.
  double lap();
  void tellWork(const StepReport &report);
  Status evaluate(uint64_t step, TrainEnd &end);
  enum class Spike { None, Finite, NotFinite };
  Status judge(const StepReport &report, Spike &spike);
  Status rollBack(uint64_t &step, const StepReport &report, Spike &spike, TrainEnd &end);
  void goOnFrom(const Checkpoints::Progress &progress);
  // The batch of the data that a step reads.
  uint64_t batchOf(uint64_t step) const { return step + skippedBatches; }
  Status checkReplicas(uint64_t step);
  Status saveAfter(uint64_t step, const StepResult &result, TrainEnd &end);
  // On stdout, or above the view.
  Status say(const std::string &line);
  Status print(const StepReport &report);
  // The view is over; the last step stays to be seen.
  Status closeView();
  void writeLog(const StepReport &report);
  bool diverges(StepReport &report);
  void explainDivergence(const StepReport &report, int rank) const;

  const Options &options;
  const Executable &executable;
  Comm &world;
  int threads;
  Progress *progress; // null in a job of one rank
  RankDevice rankDevice;
  Device *device = nullptr; // of rankDevice
  std::unique_ptr<Executor> executor;
  Batches batches;
  Evaluation evaluation;
  Checkpoints checkpoints;
  std::chrono::steady_clock::time_point lapBegin;
  RankLog log;
  StepEvents events;
  Watch watch;
  MetricsPage metrics; // of rank 0, as is the view
  TerminalView view;
  std::string lastLine; // of the step that the view shows
  bool hasToldOfLog = false;
  AtomicFile profile;
  std::unique_ptr<Dump> dump, gradients;
  float baseLearningRate = 0;
  float skipped = 0;       // steps so far
  uint64_t skippedRow = 0; // the last steps, one after another
  uint64_t lastStep = 0;   // that ran before this process
  LossMean meanLoss;       // of rank 0
  uint64_t skippedBatches = 0;
  uint64_t rollBacks = 0, rollBackRow = 0; // so far; the last ones to one checkpoint
  uint64_t lastRollBack = UINT64_MAX;      // its step
};

// Steps that a run may skip one after another. A loss scale may need 24 to come down from its
// largest value, 2^24; where more are skipped, the scale is not what is wrong.
constexpr uint64_t kMostSkipped = 32;

// What goes to disk is opened before the first step: nothing that a run makes is lost for want of
// a place to put it.
Status Trainer::openFiles() {
  if (!options.logDir.empty())
    DTC_RETURN_IF_ERROR(log.open(options.logDir, world.rank()));
  if (!options.logDir.empty() && world.rank() == 0)
    events.open(options.logDir);
  if (options.hasMetricsPort && world.rank() == 0)
    DTC_RETURN_IF_ERROR(metrics.open(
        options,
        executable.manifest().model_name() ? executable.manifest().model_name()->str() : "model",
        world.size()));
  return options.profile.empty() ? Status()
                                 : profile.open(traceFile(options.profile, world.rank()));
}

// That no output replaces another, or what the run reads.
Status Trainer::checkTargets() const {
  std::vector<std::pair<std::string, std::string>> known = {
      {"the program", realPath(options.model)},
      {"--data", realPath(options.data)},
      {"--eval-data", realPath(options.evalData)}};
  size_t inputs = known.size();
  if (profile.isOpen())
    known.push_back({"--profile", profile.target()});
  if (dump)
    known.push_back({"--dump-params", dump->file->target()});
  if (gradients)
    known.push_back({"--dump-grads", gradients->file->target()});
  for (size_t i = 0; i < known.size(); ++i)
    for (size_t j = std::max(i + 1, inputs); j < known.size(); ++j)
      if (!known[i].second.empty() && known[i].second == known[j].second)
        return Status::invalidArgument(text(known[j].first, " and ", known[i].first,
                                            " are one file, '", known[i].second,
                                            "'; name another for ", known[j].first));
  return {};
}

Status Trainer::openTargets() {
  DTC_RETURN_IF_ERROR(agree(world, openFiles()));
  if (!options.dumpParams.empty())
    DTC_RETURN_IF_ERROR(
        openDump(executable, world, options.dumpParams, DumpedTensors::Parameters, dump));
  if (!options.dumpGrads.empty())
    DTC_RETURN_IF_ERROR(
        openDump(executable, world, options.dumpGrads, DumpedTensors::Gradients, gradients));
  return agree(world, checkTargets());
}

Status Trainer::openData(std::vector<Trait> &traits) {
  DTC_RETURN_IF_ERROR(batches.open(options.data, options.seed, executable, *executor));
  // A run that leaves out data reads on behind it.
  uint64_t reach =
      options.spikeFactor > 0 && options.steps < UINT64_MAX / 2 ? 2 * options.steps : options.steps;
  DTC_RETURN_IF_ERROR(batches.check(reach));
  return batches.traits(reach, traits);
}

Status Trainer::prepare(StartUp &startUp) {
  DTC_RETURN_IF_ERROR(
      agree(world, makeDevice(executable, world, threads, options.timeoutSeconds, rankDevice)));
  device = rankDevice.device.get();
  startUp.enter(Phase::MakingGroups);
  ExecutorOptions wanted{.trace = !options.profile.empty(), .progress = progress};
  DTC_RETURN_IF_ERROR(Executor::create(executable, world, *device, wanted, executor));
  startUp.done();
  baseLearningRate =
      options.hasLearningRate ? options.learningRate : executable.manifest().default_lr();
  DTC_RETURN_IF_ERROR(openTargets());
  std::vector<Trait> traits;
  DTC_RETURN_IF_ERROR(agree(world, openData(traits)));
  DTC_RETURN_IF_ERROR(evaluation.open(options, executable, *executor, world));
  DTC_RETURN_IF_ERROR(agreeOnTraits(world, traits));
  DTC_RETURN_IF_ERROR(startState());
  DTC_RETURN_IF_ERROR(watch.open(options, executable, world, *executor, *device, progress));
  return agree(world, announce());
}

// From the last checkpoint, or from the seed or --init.
Status Trainer::startState() {
  DTC_RETURN_IF_ERROR(checkpoints.open(options, executable, world, *executor, *device,
                                       batches.samples(), baseLearningRate));
  std::optional<Checkpoints::Progress> progress;
  Spent before = watch.enter(Spent::Checkpoint);
  DTC_RETURN_IF_ERROR(checkpoints.resume(progress));
  watch.enter(before);
  if (!progress)
    return agree(
        world, fillParameters(executable, *executor, *device, options.seed, options.init, threads));
  goOnFrom(*progress);
  skippedBatches = progress->skippedBatches;
  return {};
}

void Trainer::goOnFrom(const Checkpoints::Progress &from) {
  lastStep = from.step;
  skipped = static_cast<float>(from.skippedSteps);
  skippedRow = from.skippedRow;
  meanLoss = from.meanLoss;
  log.goOnAfter(lastStep);
}

// "gpt2: 4 ranks (dp 2 x tp 2)"
std::string Trainer::describeJob() const {
  const format::Manifest &manifest = executable.manifest();
  std::string mesh;
  for (const format::Axis *axis : *manifest.mesh())
    mesh += text(mesh.empty() ? " (" : " x ", axis->name()->string_view(), " ", axis->size());
  return text(
      manifest.model_name() ? manifest.model_name()->string_view() : std::string_view("model"),
      ": ", world.size(), world.size() == 1 ? " rank" : " ranks", mesh.empty() ? "" : mesh + ")");
}

Status Trainer::announce() {
  if (world.rank() != 0)
    return {};
  if (options.json)
    return {};
  const format::Manifest &manifest = executable.manifest();
  std::string line =
      text(describeJob(), ", ", threads, threads == 1 ? " thread" : " threads", " each, ",
           humanBytes(manifest.peak_memory_bytes()), " of memory a rank",
           manifest.peak_host_bytes() > 0
               ? text(" and ", humanBytes(manifest.peak_host_bytes()), " of its host")
               : "",
           ", ", manifest.global_batch(),
           manifest.sequence_length() ? text(" x ", manifest.sequence_length(), " tokens")
                                      : std::string(" samples"),
           " a step");
  if (TerminalView::isWanted(options, world.size() == 1))
    view.open(describeJob(), lastStep, options.steps);
  return say(line);
}

double Trainer::lap() {
  auto now = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(now - std::exchange(lapBegin, now)).count();
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

// The update takes the memory of gradients, so that they are written before the step that follows
// them, whose inputs stay where they are. Collective.
Status Trainer::dumpGradients(uint64_t step) {
  Spent before = watch.enter(Spent::Other);
  DTC_RETURN_IF_ERROR(setScalars(step));
  StepResult result;
  DTC_RETURN_IF_ERROR(executor->run(format::EntryKind::gradients, result));
  enter(Activity::Working);
  Status status = writeDump(*gradients, *executor, *device, result.gradientScale);
  enter(Activity::Stepping);
  (void)lap(); // no part of the step
  watch.enter(before);
  return status;
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
  report.learningRate =
      report.result.hasLearningRate ? report.result.learningRate : baseLearningRate;
  report.rollBacks = rollBacks;
  report.skippedBatches = skippedBatches;
  watch.afterStep(report);
  if (!watch.measuresNorms(report.step))
    return {};
  auto begin = std::chrono::steady_clock::now();
  Spent before = watch.enter(Spent::Other);
  enter(Activity::Working);
  DTC_RETURN_IF_ERROR(watch.measureNorms(report));
  enter(Activity::Stepping);
  watch.enter(before);
  lapBegin += std::chrono::steady_clock::now() - begin; // no part of the step
  return {};
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

// What this rank spent in a step on what meets no other.
void Trainer::tellWork(const StepReport &report) {
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

Status Trainer::say(const std::string &line) {
  if (!view.isOpen())
    return printLine(line);
  view.print(line);
  return {};
}

Status Trainer::print(const StepReport &report) {
  if (world.rank() != 0)
    return {};
  metrics.write(report);
  if (!view.isOpen())
    return printLine(options.json ? stepAsJson(report) : stepAsText(report));
  view.show(report);
  lastLine = stepAsText(report);
  return {};
}

Status Trainer::closeView() {
  view.close();
  return lastLine.empty() ? Status() : printLine(std::exchange(lastLine, {}));
}

// Hours of training are worth more than their log: a full disk is told once, and training goes on.
void Trainer::writeLog(const StepReport &report) {
  Status status = log.write(report);
  if (status.ok() || std::exchange(hasToldOfLog, true))
    return;
  std::string rank = world.size() > 1 ? text("rank ", world.rank(), ": ") : "";
  std::fprintf(stderr,
               "dtrun: warning: %s%s; training goes on, and steps are missing in the log from step "
               "%llu on\n",
               rank.c_str(), format::printable(status.message()).c_str(),
               static_cast<unsigned long long>(report.step));
}

// A step that was skipped has changed nothing, so the next one may go well, whatever its loss was;
// not for ever. A loss that is not finite ends training where the step was applied, or the last.
bool Trainer::diverges(StepReport &report) {
  const StepResult &result = report.result;
  report.isSkipped = result.hasSkippedSteps && result.skippedSteps > skipped;
  skipped = result.skippedSteps;
  skippedRow = report.isSkipped ? skippedRow + 1 : 0;
  bool isFinite = !result.hasLoss || std::isfinite(result.loss);
  bool isLast = report.step == options.steps;
  return report.isSkipped ? skippedRow > kMostSkipped || (isLast && !isFinite) : !isFinite;
}

void Trainer::explainDivergence(const StepReport &report, int rank) const {
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

// Whether the loss of a step is one to go back before; `spike` comes in as this rank's own. Rank 0
// knows the losses, and others whether a step was skipped, whose loss does not count.
Status Trainer::judge(const StepReport &report, Spike &spike) {
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

// Back to the last good checkpoint, and on behind the batch of `step`, which becomes that of the
// checkpoint. Where there is none, what is finite is no reason to end.
Status Trainer::rollBack(uint64_t &step, const StepReport &report, Spike &spike, TrainEnd &end) {
  double loss = report.result.loss, mean = meanLoss.value;
  std::optional<Checkpoints::Progress> progress;
  bool isChanged = false; // what is trained, by checkpoints that turned out not to be good
  enter(Activity::Working);
  Spent before = watch.enter(Spent::Checkpoint);
  DTC_RETURN_IF_ERROR(checkpoints.rollBack(progress, isChanged));
  watch.enter(before);
  bool isFirst = !progress || progress->step != lastRollBack;
  rollBackRow = isFirst ? 1 : rollBackRow + 1;
  bool staysHere = !progress && !isChanged && spike == Spike::Finite;
  end.diverged = !staysHere && (!progress || rollBackRow > kMostRollBacks);
  auto say = [&](const std::string &what) {
    if (world.rank() == 0)
      std::fprintf(stderr, "dtrun: the loss of step %llu is %g, of those before %g: %s\n",
                   static_cast<unsigned long long>(report.step), loss, mean, what.c_str());
  };
  if (end.diverged)
    say(text(progress ? text("going back ", kMostRollBacks, " times did not help")
                      : "there is no good checkpoint to go back to",
             ": training diverged; lower --lr or check the data"));
  if (staysHere) {
    say("there is no good checkpoint to go back to, and training goes on");
    if (world.rank() == 0 && report.result.hasLoss)
      meanLoss.add(loss);
    spike = Spike::None;
    enter(Activity::Stepping);
    (void)lap();
  }
  if (end.diverged || staysHere)
    return {};
  uint64_t batches = step - progress->step;
  say(text("went back to step ", progress->step, ", and leaves out the data of ", batches,
           batches == 1 ? " step" : " steps"));
  watch.tookBack(static_cast<double>(batches) * report.seconds);
  ++rollBacks;
  skippedBatches += batches;
  step = lastRollBack = progress->step;
  goOnFrom(*progress);
  if (gradients && report.step == options.steps) // of the batch that is left out
    DTC_RETURN_IF_ERROR(
        openDump(executable, world, options.dumpGrads, DumpedTensors::Gradients, gradients));
  DTC_RETURN_IF_ERROR(agree(world, this->batches.load(batchOf(step + 1), *executor)));
  enter(Activity::Stepping);
  (void)lap();
  return {};
}

// Nothing runs meanwhile.
Status Trainer::loadAndWait(uint64_t step) {
  auto begun = std::chrono::steady_clock::now();
  Status status = batches.load(batchOf(step), *executor);
  watch.waitedForInput(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
  return status;
}

// Between two steps: the next batch is read anew, as evaluation fills the same inputs. Its loss need
// not be finite for the training to go on.
Status Trainer::evaluate(uint64_t step, TrainEnd &end) {
  EvaluationReport report;
  Spent before = watch.enter(Spent::Evaluation);
  if (Status status = evaluation.run(step, *executor, world, report, end.isOwn); !status.ok()) {
    if (end.isOwn)
      world.abandon(status.message());
    return status;
  }
  Status mine;
  if (world.rank() == 0)
    mine = say(options.json ? evaluationAsJson(report) : evaluationAsText(report));
  view.show(report);
  metrics.write(report);
  events.write(report); // of rank 0
  (void)lap();          // evaluation is no part of a step
  watch.enter(before);
  if (mine.ok() && step < options.steps)
    mine = loadAndWait(step + 1);
  return agree(world, mine);
}

// A step that fails on one rank ends it there, and with it the job: the others are in the middle of
// theirs. All that may fail between two steps is agreed on after each, with whether the loss is
// finite, so that no rank goes on alone. The next batch is read while a step runs; that it could not
// be is told after the step.
Status Trainer::runSteps(TrainEnd &end) {
  if (options.steps == 0)
    return evaluation.isDue(0) ? evaluate(0, end) : Status();
  if (lastStep == options.steps && gradients)
    return Status::invalidArgument(text("--dump-grads: step ", lastStep,
                                        " has run, and no step is left that has gradients; raise "
                                        "--steps, or leave out --resume"));
  if (lastStep == options.steps)
    return {};
  (void)lap();
  watch.enter(Spent::Training);
  DTC_RETURN_IF_ERROR(agree(world, loadAndWait(lastStep + 1)));
  enter(Activity::Stepping);
  for (uint64_t step = lastStep + 1; step <= options.steps; ++step) {
    StepReport report;
    report.checkpointStall = checkpoints.takeStall();
    bool evaluates = evaluation.isDue(step);
    Status status, loaded;
    if (gradients && step == options.steps)
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
    tellWork(report);
    bool ends = diverges(report);
    // What going back may mend ends nothing.
    bool mayGoBack = ends && options.spikeFactor > 0 && !report.isSkipped;
    Spike spike = mayGoBack ? Spike::NotFinite : Spike::None;
    ends &= !mayGoBack;
    DTC_RETURN_IF_ERROR(completeReport(report));
    Status mine = print(report);
    if (mine.ok())
      mine = loaded;
    writeLog(report);
    events.write(report);
    int diverged = -1;
    DTC_RETURN_IF_ERROR(agree(world, mine, ends, diverged));
    if (diverged >= 0) {
      end.diverged = true;
      DTC_RETURN_IF_ERROR(closeView());
      if (world.rank() == 0)
        explainDivergence(report, diverged);
      return {};
    }
    DTC_RETURN_IF_ERROR(judge(report, spike));
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

// Of replicas that differ at least one trains something else: no checkpoint of it is taken.
Status Trainer::checkReplicas(uint64_t step) {
  if (!watch.comparesReplicas(step))
    return {};
  auto begin = std::chrono::steady_clock::now();
  Spent before = watch.enter(Spent::Other);
  enter(Activity::Working);
  DTC_RETURN_IF_ERROR(watch.checkReplicas(step));
  enter(Activity::Stepping);
  watch.enter(before);
  lapBegin += std::chrono::steady_clock::now() - begin; // no part of a step
  return {};
}

// What the step waits for is reported with the next one.
Status Trainer::saveAfter(uint64_t step, const StepResult &result, TrainEnd &end) {
  auto begin = std::chrono::steady_clock::now();
  Spent before = watch.enter(Spent::Checkpoint);
  enter(Activity::Working);
  DTC_RETURN_IF_ERROR(checkpoints.afterStep({.step = step,
                                             .skippedSteps = static_cast<uint64_t>(skipped),
                                             .skippedRow = skippedRow,
                                             .lossScale = static_cast<double>(result.lossScale),
                                             .skippedBatches = skippedBatches,
                                             .meanLoss = meanLoss},
                                            end.stopped));
  enter(Activity::Stepping);
  watch.enter(before);
  lapBegin += std::chrono::steady_clock::now() - begin; // no part of the step
  return {};
}

// What can be written is written, also where something else cannot. A run that ends before its last
// step has nothing to write but a checkpoint that is under way: that of a run that was asked to end
// has to be there.
Status Trainer::finish(const TrainEnd &end) {
  enter(Activity::Working);
  Status shown = closeView();
  Status saved = checkpoints.finish();
  if (end.stopped)
    return saved;
  if (end.diverged)
    return saved.statusCode() == StatusCode::Aborted ? saved : Status();
  Status traced = agree(world, profile.isOpen() ? executor->writeTrace(profile) : Status());
  if (dump)
    DTC_RETURN_IF_ERROR(writeDump(*dump, *executor, *device));
  return !traced.ok() ? traced : !saved.ok() ? saved : shown;
}

} // namespace

Status train(const Options &options, const Executable &executable, Comm &world, int threads,
             StartUp &startUp, Progress *progress, TrainEnd &end) {
  Trainer trainer(options, executable, world, threads, progress);
  DTC_RETURN_IF_ERROR(trainer.prepare(startUp));
  DTC_RETURN_IF_ERROR(trainer.runSteps(end));
  return trainer.finish(end);
}

} // namespace dtc::rt
