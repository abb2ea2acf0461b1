#include "tools/dtrun/Watch.h"

#include "runtime/base/Env.h"
#include "runtime/comm/Launch.h"
#include "runtime/comm/RollCall.h"

#include <algorithm>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace dtc::rt {

uint64_t residentBytes() {
  char line[128] = {};
  int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return 0;
  bool isRead = ::read(file, line, sizeof(line) - 1) > 0;
  ::close(file);
  unsigned long long pages = 0;
  long bytes = ::sysconf(_SC_PAGESIZE);
  return isRead && bytes > 0 && std::sscanf(line, "%*u %llu", &pages) == 1
             ? pages * static_cast<uint64_t>(bytes)
             : 0;
}

Status Watch::open(const Options &options, const Executable &executable, Control &control,
                   const Executor &executor, Device &device, const Progress *given) {
  world = &control;
  progress = given;
  hasLauncher = options.restarts > 0 && isLaunchedRank() && control.rank() == 0;
  // Each rank has its own options for outputs. Those of rank 0 decide.
  int64_t hasReader = options.json || options.hasMetricsPort || !options.logDir.empty();
  DTC_RETURN_IF_ERROR(control.broadcast(&hasReader, 1, DataType::I64, 0));
  std::optional<uint64_t> every;
  if (options.hasNormsEvery)
    every = options.normsEvery;
  else if (!hasReader)
    every = 0;
  replicas.open(executable, control, executor, device, options.checkReplicas);
  return norms.open(executable, control, executor, device, every);
}

Status Watch::goOn(const SpentSeconds &kept, Control &control) {
  double now = clockSeconds();
  std::optional<JobSpent> job;
  if (isLaunchedRank())
    job = jobSpentOf(envText(EnvVar::Spent));
  if (job)
    goodput.startAgain(job->seconds.value_or(kept), kept[static_cast<size_t>(Spent::Training)],
                       now - job->until, now);
  else
    goodput.addEarlier(kept);
  struct {
    SpentSeconds seconds;
    Spent doing;
  } firsts{goodput.seconds(now), goodput.doing()};
  DTC_RETURN_IF_ERROR(control.broadcast(&firsts, sizeof(firsts), DataType::U8, 0));
  goodput.adopt(firsts.seconds, firsts.doing, now);
  return {};
}

// Tells the launcher when an activity ends, because an evaluation may take longer than many steps.
Spent Watch::enter(Spent what) {
  Spent before = goodput.enter(what, clockSeconds());
  sendToLauncher();
  return before;
}

void Watch::beginSteps() {
  isStepping = true;
  enter(Spent::Training);
}

// Tells the launcher the time so far, for the next start. Steps after the last note count as lost
// to the failure, as those since the last checkpoint do.
void Watch::sendToLauncher() {
  constexpr double kBetween = 0.1; // seconds
  double now = clockSeconds();
  if (!hasLauncher || !isStepping || now - lastReported < kBetween)
    return;
  lastReported = now;
  leaveNote(asText({.until = now, .seconds = goodput.seconds(now)}));
}

void Watch::afterStep(StepReport &report) {
  double beyond = std::max(std::exchange(readSeconds, 0) - report.result.seconds, 0.0);
  report.inputWait = std::min(std::exchange(inputWait, 0) + beyond, report.seconds);
  report.residentBytes = residentBytes();
  goodput.enter(Spent::Training, clockSeconds()); // counted as training so far
  goodput.move(report.inputWait, Spent::Training, Spent::InputWait);
  if (report.isSkipped)
    goodput.move(report.seconds - report.inputWait, Spent::Training, Spent::Lost);
  double now = clockSeconds();
  report.goodput = goodput.shares(now);
  report.elapsed = goodput.elapsed(now);
  sendToLauncher();
  if (progress && world->rank() == 0)
    report.loads = readLoads(*progress, world->size(), report.seconds);
}

Status Watch::checkReplicas(uint64_t step) const {
  return replicas.areDue(step) ? replicas.check(step) : Status();
}

Status Watch::measureNorms(StepReport &report) {
  return norms.measure(report.step, report.seconds, report.norms);
}

} // namespace dtc::rt
