#include "tools/dtrun/Train.h"

#include "runtime/base/Text.h"
#include "runtime/device/CpuDevice.h"
#include "runtime/exec/Agree.h"
#include "runtime/exec/Executor.h"
#include "tools/dtrun/Batches.h"
#include "tools/dtrun/Parameters.h"
#include "tools/dtrun/Report.h"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <unistd.h>

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

// Whether a file can be made at `path`, asked before hours of work go into what shall be in it.
Status checkWritable(const std::string &path) {
  if (path.empty())
    return {};
  size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (::access(folder.c_str(), W_OK | X_OK) == 0)
    return {};
  return Status::invalidArgument(
      text("the folder of '", path, "' cannot be written: ", std::strerror(errno)));
}

class Trainer {
public:
  Trainer(const Options &options, const Executable &executable, Comm &world, int threads)
      : options(options), executable(executable), world(world), threads(threads),
        device(makeCpuDevice(threads)) {}

  Status prepare();
  Status runSteps(bool &diverged);
  Status finish();

private:
  Status prepareHere();
  void announce() const;
  Status runStep(uint64_t step, StepReport &report);
  void print(const StepReport &report) const;

  const Options &options;
  const Executable &executable;
  Comm &world;
  int threads;
  std::unique_ptr<Device> device;
  std::unique_ptr<Executor> executor;
  Batches batches;
  RankLog log;
  float baseLearningRate = 0;
};

Status Trainer::prepareHere() {
  const format::Manifest &manifest = executable.manifest();
  baseLearningRate = options.hasLearningRate ? options.learningRate : manifest.default_lr();
  DTC_RETURN_IF_ERROR(checkWritable(options.dumpParams));
  DTC_RETURN_IF_ERROR(checkWritable(options.profile));
  DTC_RETURN_IF_ERROR(batches.open(options.data, options.seed, executable, *executor));
  DTC_RETURN_IF_ERROR(batches.check(options.steps, world.rank(), world.size()));
  if (!options.logDir.empty())
    DTC_RETURN_IF_ERROR(log.open(options.logDir, world.rank()));
  return fillParameters(executable, *executor, *device, options.seed, options.init, threads);
}

Status Trainer::prepare() {
  ExecutorOptions wanted{.traceFile = traceFile(options.profile, world.rank())};
  DTC_RETURN_IF_ERROR(Executor::create(executable, world, *device, wanted, executor));
  DTC_RETURN_IF_ERROR(agree(world, prepareHere()));
  if (world.rank() == 0 && !options.json)
    announce();
  return {};
}

void Trainer::announce() const {
  const format::Manifest &manifest = executable.manifest();
  std::string mesh;
  for (const format::Axis *axis : *manifest.mesh())
    mesh += text(mesh.empty() ? " (" : " x ", axis->name()->string_view(), " ", axis->size());
  std::string line = text(
      manifest.model_name() ? manifest.model_name()->string_view() : std::string_view("model"),
      ": ", world.size(), world.size() == 1 ? " rank" : " ranks", mesh.empty() ? "" : mesh + ")",
      ", ", threads, threads == 1 ? " thread" : " threads", " each, ",
      humanBytes(executor->program().arena_bytes()), " of memory a rank, ", manifest.global_batch(),
      manifest.sequence_length() ? text(" x ", manifest.sequence_length(), " tokens")
                                 : std::string(" samples"),
      " a step");
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

Status Trainer::runStep(uint64_t step, StepReport &report) {
  const format::Manifest &manifest = executable.manifest();
  auto begin = std::chrono::steady_clock::now();
  DTC_RETURN_IF_ERROR(batches.load(step, *executor));
  DTC_RETURN_IF_ERROR(executor->setScalars({.step = step,
                                            .totalSteps = options.steps,
                                            .baseLr = baseLearningRate,
                                            .seed = options.seed}));
  DTC_RETURN_IF_ERROR(executor->runStep(report.result));
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  report.step = step;
  report.learningRate =
      report.result.hasLearningRate ? report.result.learningRate : baseLearningRate;
  report.samplesPerSecond = static_cast<double>(manifest.global_batch()) / report.seconds;
  report.sequenceLength = manifest.sequence_length();
  double peak = manifest.peak_flops_per_device() * world.size();
  report.mfu = peak > 0 ? manifest.model_flops_per_step() / report.seconds / peak : -1;
  report.peakMemoryBytes = executor->program().arena_bytes();
  return log.write(report);
}

void Trainer::print(const StepReport &report) const {
  if (world.rank() != 0)
    return;
  std::string line = options.json ? stepAsJson(report) : stepAsText(report);
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

Status Trainer::runSteps(bool &diverged) {
  for (uint64_t step = 1; step <= options.steps; ++step) {
    StepReport report;
    Status status = runStep(step, report);
    if (!status.ok()) {
      world.abandon(status.message());
      return status;
    }
    print(report);
    if (report.result.hasLoss && !std::isfinite(report.result.loss)) {
      diverged = true;
      if (world.rank() == 0)
        std::fprintf(stderr,
                     "dtrun: the loss of step %llu is %s: training diverged; lower --lr (now %g) "
                     "or check the data\n",
                     static_cast<unsigned long long>(step),
                     std::isnan(report.result.loss) ? "not a number" : "infinite",
                     static_cast<double>(report.learningRate));
      return {};
    }
  }
  return {};
}

Status Trainer::finish() {
  if (!options.dumpParams.empty())
    DTC_RETURN_IF_ERROR(saveParameters(executable, *executor, *device, world, options.dumpParams));
  return agree(world, executor->writeTrace());
}

} // namespace

Status train(const Options &options, const Executable &executable, Comm &world, int threads,
             bool &diverged) {
  Trainer trainer(options, executable, world, threads);
  DTC_RETURN_IF_ERROR(trainer.prepare());
  DTC_RETURN_IF_ERROR(trainer.runSteps(diverged));
  if (diverged)
    return {};
  return trainer.finish();
}

} // namespace dtc::rt
