// Seconds and peaks of a schedule whose orders are given.
#include "compiler/search/pipeline/Timing.h"

#include "compiler/search/pipeline/Geometry.h"

#include "llvm/ADT/Twine.h"

#include <algorithm>

using namespace dtc;

namespace {

std::string nameOf(const PipelineTask &task) {
  return (toString(task.kind) + " of micro-batch " + llvm::Twine(task.microBatch) + " on chunk " +
          llvm::Twine(task.chunk))
      .str();
}

// Advances every stage as far as its inputs are known; a stage that stops is taken up again when
// the task that it waits for gets its input.
class Timer {
public:
  Timer(const PipelineSchedule &schedule, const PipelineProblem &problem)
      : schedule(schedule), problem(problem), inputs(problem), next(problem.stages) {}

  Result<PipelineTiming> run();

private:
  Status checkTasks() const;
  void advance(int stage);
  Status checkDone() const;
  void summarise();

  const PipelineSchedule &schedule;
  const PipelineProblem &problem;
  PipelineInputs inputs;
  std::vector<size_t> next;
  std::vector<int> runnable;
  PipelineTiming timing;
};

Status Timer::checkTasks() const {
  if (schedule.order.size() != static_cast<size_t>(problem.stages))
    return UserError(("timing a pipeline: the schedule has the orders of " +
                      llvm::Twine(schedule.order.size()) + " stages, wanted " +
                      llvm::Twine(problem.stages))
                         .str());
  bool split = splitsBackward(problem.kind);
  std::vector<uint8_t> seen(problem.chunks.size() * problem.microBatches, 0);
  size_t count = 0;
  for (int stage = 0; stage < problem.stages; ++stage)
    for (const PipelineTask &task : schedule.order[stage]) {
      if (task.chunk < 0 || task.chunk >= inputs.numChunks() || task.microBatch < 0 ||
          task.microBatch >= problem.microBatches || inputs.stageOf(task.chunk) != stage)
        return UserError(("timing a pipeline: stage " + llvm::Twine(stage) + " has " +
                          nameOf(task) + ", which is not one of its tasks")
                             .str());
      if (task.kind != PipelineTaskKind::Forward &&
          split != (task.kind != PipelineTaskKind::Backward))
        return UserError(("timing a '" + toString(problem.kind) + "' pipeline: stage " +
                          llvm::Twine(stage) + " has " + nameOf(task) + " with its weights' part " +
                          (split ? "joined, wanted apart" : "apart, wanted joined"))
                             .str());
      uint8_t bit = 1u << static_cast<unsigned>(task.kind);
      uint8_t &bits = seen[size_t(task.chunk) * problem.microBatches + task.microBatch];
      if (bits & bit)
        return UserError(
            ("timing a pipeline: stage " + llvm::Twine(stage) + " has " + nameOf(task) + " twice")
                .str());
      bits |= bit;
      ++count;
    }
  size_t wanted = seen.size() * (split ? 3 : 2);
  if (count != wanted)
    return UserError(("timing a pipeline: the schedule has " + llvm::Twine(count) +
                      " tasks, wanted " + llvm::Twine(wanted))
                         .str());
  return {};
}

void Timer::advance(int stage) {
  const std::vector<PipelineTask> &order = schedule.order[stage];
  std::vector<TaskTime> &times = timing.tasks[stage];
  StageTiming &summary = timing.stages[stage];
  for (size_t &position = next[stage]; position < order.size(); ++position) {
    const PipelineTask &task = order[position];
    double arrival = inputs.arrival(task);
    // The own forward is in the same order; B of the last chunk arrives from it, that of the others
    // comes after it by way of the later chunks.
    if (arrival == PipelineInputs::never)
      return;
    double start = std::max(arrival, summary.lastEnd);
    double seconds = secondsOf(task, problem);
    times[position] = {start, start + seconds, arrival};
    summary.lastEnd = start + seconds;
    summary.busySeconds += seconds;
    if (std::optional<PipelineTask> receiver = inputs.finish(task, summary.lastEnd)) {
      int other = inputs.stageOf(receiver->chunk);
      if (other != stage && next[other] < schedule.order[other].size() &&
          schedule.order[other][next[other]] == *receiver)
        runnable.push_back(other);
    }
  }
}

Status Timer::checkDone() const {
  for (int stage = 0; stage < problem.stages; ++stage)
    if (next[stage] < schedule.order[stage].size())
      return UserError(("timing a pipeline: deadlock, stage " + llvm::Twine(stage) +
                        " waits for ever for the input of " +
                        nameOf(schedule.order[stage][next[stage]]))
                           .str());
  return {};
}

void Timer::summarise() {
  double busy = 0;
  for (int stage = 0; stage < problem.stages; ++stage) {
    StageTiming &summary = timing.stages[stage];
    const std::vector<PipelineTask> &order = schedule.order[stage];
    summary.firstStart = timing.tasks[stage].front().start;
    StageMemory memory(problem);
    for (const PipelineTask &task : order) {
      memory.start(task);
      summary.peakActivations = std::max(summary.peakActivations, memory.activations);
      summary.peakPending = std::max(summary.peakPending, memory.pending);
      summary.peakBytes = std::max(summary.peakBytes, memory.bytes);
      memory.finish(task);
      summary.peakBytes = std::max(summary.peakBytes, memory.bytes);
    }
    timing.makespan = std::max(timing.makespan, summary.lastEnd);
    busy += summary.busySeconds;
  }
  if (timing.makespan > 0)
    timing.bubbleFraction = 1 - busy / (problem.stages * timing.makespan);
}

Result<PipelineTiming> Timer::run() {
  if (Status tasks = checkTasks(); !tasks)
    return tasks.error();
  timing.stages.resize(problem.stages);
  for (const auto &order : schedule.order)
    timing.tasks.emplace_back(order.size());
  for (int stage = problem.stages; stage-- > 0;)
    runnable.push_back(stage);
  while (!runnable.empty()) {
    int stage = runnable.back();
    runnable.pop_back();
    advance(stage);
  }
  if (Status done = checkDone(); !done)
    return done.error();
  summarise();
  return std::move(timing);
}

} // namespace

Result<PipelineTiming> dtc::timeSchedule(const PipelineSchedule &schedule,
                                         const PipelineProblem &problem) {
  if (Status checked = checkProblem(problem); !checked)
    return checked.error();
  return Timer(schedule, problem).run();
}
