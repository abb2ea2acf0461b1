// Builds the simulation of a pipeline's step from its schedule.
#include "compiler/show/simulate/PipelineSimulation.h"

#include "compiler/search/pipeline/BuildSchedule.h"
#include "compiler/search/pipeline/Timing.h"

#include "llvm/ADT/Twine.h"

#include <map>
#include <tuple>

using namespace dtc;

namespace {

class StepBuilder {
public:
  StepBuilder(StepSimulation &step, const StepSettings &settings)
      : step(step), problem(step.problem), settings(settings) {}

  void build();
  // After the run.
  void followMemory();

private:
  int transferStream(int from, int to, bool forward);
  int addTransfer(const PipelineTask &task, int source);
  void addTasks();
  void connect();
  void addTails();
  int &taskOf(const PipelineTask &task) {
    bool forward = task.kind == PipelineTaskKind::Forward;
    return (forward ? forwards
                    : backwards)[size_t(task.chunk) * problem.microBatches + task.microBatch];
  }
  int stageOf(int chunk) const { return stageOfChunk(problem.kind, problem.stages, chunk); }

  StepSimulation &step;
  const PipelineProblem &problem;
  const StepSettings &settings;
  std::vector<int> forwards, backwards;            // simulated tasks, by chunk and micro-batch
  std::map<std::tuple<int, int, bool>, int> sends; // streams by source, target, pass
  std::vector<int> lastTasks;                      // per stage
};

// "F3" on a stage with one chunk, "F3.c5" on one with several: chunk 5.
std::string taskName(const PipelineProblem &problem, const PipelineTask &task) {
  std::string name = toString(task.kind).str() + std::to_string(task.microBatch);
  return problem.virtualStages > 1 ? name + ".c" + std::to_string(task.chunk) : name;
}

SimTask makeTask(SimTaskKind kind, std::string name, int stream, double seconds) {
  SimTask task;
  task.kind = kind;
  task.name = std::move(name);
  task.streams.push_back(stream);
  task.seconds = seconds;
  return task;
}

int StepBuilder::transferStream(int from, int to, bool forward) {
  auto [found, isNew] = sends.try_emplace({from, to, forward}, 0);
  if (isNew)
    found->second = step.simulation.addStream(
        {from,
         std::string(forward ? "send to stage " : "send gradient to stage ") + std::to_string(to)});
  return found->second;
}

// In the order in which the stage computes: the order of its stream.
void StepBuilder::addTasks() {
  size_t count = problem.chunks.size() * problem.microBatches;
  forwards.assign(count, -1);
  backwards.assign(count, -1);
  for (int stage = 0; stage < problem.stages; ++stage)
    for (const PipelineTask &task : step.schedule.order[stage]) {
      const ChunkTimes &chunk = problem.chunks[task.chunk];
      double seconds = task.kind == PipelineTaskKind::Forward         ? chunk.forward
                       : task.kind == PipelineTaskKind::BackwardInput ? chunk.backwardInput
                       : task.kind == PipelineTaskKind::BackwardWeight
                           ? chunk.backwardWeight
                           : chunk.backwardInput + chunk.backwardWeight;
      int added = step.simulation.addTask(
          makeTask(SimTaskKind::Compute, taskName(problem, task), stage, seconds));
      lastTasks[stage] = added;
      if (task.kind != PipelineTaskKind::BackwardWeight) // it follows its B on its stream
        taskOf(task) = added;
    }
}

// The result of `source` goes to the chunk of `task`, which gets -1 if it is on the same stage.
int StepBuilder::addTransfer(const PipelineTask &task, int source) {
  bool forward = task.kind == PipelineTaskKind::Forward;
  int sender = forward ? task.chunk - 1 : task.chunk + 1;
  int from = stageOf(sender), to = stageOf(task.chunk);
  if (from == to)
    return -1;
  const ChunkTimes &times = problem.chunks[sender];
  SimTask transfer =
      makeTask(SimTaskKind::Transfer, "send " + taskName(problem, task),
               transferStream(from, to, forward), forward ? times.sendForward : times.sendBackward);
  transfer.dependencies.push_back(source);
  return step.simulation.addTask(std::move(transfer));
}

// Transfers in the order in which their senders compute.
void StepBuilder::connect() {
  int chunks = static_cast<int>(problem.chunks.size());
  for (int stage = 0; stage < problem.stages; ++stage)
    for (PipelineTask task : step.schedule.order[stage]) {
      if (task.kind == PipelineTaskKind::BackwardWeight)
        continue;
      int source = taskOf(task);
      bool turns = task.kind == PipelineTaskKind::Forward && task.chunk + 1 == chunks;
      if (turns || (task.kind != PipelineTaskKind::Forward && task.chunk == 0))
        continue; // the loss follows on the same stage; nobody waits for the first gradient
      task.chunk += task.kind == PipelineTaskKind::Forward ? 1 : -1;
      int target = taskOf(task), transfer = addTransfer(task, source);
      step.simulation.addDependency(target, transfer < 0 ? source : transfer);
    }
}

void StepBuilder::addTails() {
  for (int stage = 0; stage < problem.stages && !settings.tails.empty(); ++stage) {
    const StepTail &tail = settings.tails[stage];
    int last = lastTasks[stage];
    if (tail.synchronise > 0) {
      int stream = step.simulation.addStream({stage, "synchronise"});
      SimTask task = makeTask(SimTaskKind::Transfer, "gradients", stream, tail.synchronise);
      task.dependencies.push_back(last);
      last = step.simulation.addTask(std::move(task));
    }
    if (tail.optimizer > 0) {
      SimTask task = makeTask(SimTaskKind::Compute, "optimizer", stage, tail.optimizer);
      task.dependencies.push_back(last);
      step.simulation.addTask(std::move(task));
    }
  }
}

void StepBuilder::build() {
  lastTasks.assign(problem.stages, -1);
  for (int stage = 0; stage < problem.stages; ++stage) {
    std::string name =
        settings.stageNames.empty() ? "stage " + std::to_string(stage) : settings.stageNames[stage];
    step.simulation.addStream(
        {step.simulation.addDevice({std::move(name), settings.computeSlowdown}), "compute"});
  }
  addTasks();
  connect();
  addTails();
}

void StepBuilder::followMemory() {
  int task = 0; // the first tasks are those of the schedule, stage by stage
  for (int stage = 0; stage < problem.stages; ++stage) {
    TraceCounter counter;
    counter.device = stage;
    counter.name = "memory";
    counter.unit = "bytes";
    int64_t bytes = settings.residentBytes.empty() ? 0 : settings.residentBytes[stage];
    auto sample = [&](double seconds, int64_t change) {
      bytes += change;
      if (!counter.samples.empty() && counter.samples.back().seconds == seconds)
        counter.samples.back().value = bytes;
      else if (counter.samples.empty() || change != 0)
        counter.samples.push_back({seconds, bytes});
    };
    sample(0, 0);
    for (const PipelineTask &each : step.schedule.order[stage]) {
      const ChunkTimes &chunk = problem.chunks[each.chunk];
      SimTime time = step.result.tasks[task++];
      if (each.kind == PipelineTaskKind::Forward)
        sample(time.start, chunk.activationBytes);
      else if (each.kind == PipelineTaskKind::Backward)
        sample(time.end, -chunk.activationBytes);
      else if (each.kind == PipelineTaskKind::BackwardInput)
        sample(time.end, chunk.weightStashBytes - chunk.activationBytes);
      else
        sample(time.end, -chunk.weightStashBytes);
    }
    step.memory.push_back(std::move(counter));
  }
}

template <typename T>
Status checkLength(const std::vector<T> &list, int stages, llvm::StringRef what) {
  if (list.empty() || list.size() == static_cast<size_t>(stages))
    return {};
  return UserError(("simulating a step: there are " + llvm::Twine(list.size()) + " " + what +
                    ", wanted one for each of the " + llvm::Twine(stages) + " stages, or none")
                       .str());
}

} // namespace

Result<StepSimulation> dtc::simulateStep(const PipelineProblem &problem,
                                         const StepSettings &settings) {
  for (const Status &checked :
       {checkLength(settings.stageNames, problem.stages, "stage names"),
        checkLength(settings.tails, problem.stages, "tails"),
        checkLength(settings.residentBytes, problem.stages, "sizes of what stays in memory")})
    if (!checked)
      return checked.error();
  Result<PipelineSchedule> schedule = buildSchedule(problem);
  if (!schedule)
    return schedule.error();
  StepSimulation step;
  step.problem = problem;
  step.schedule = std::move(*schedule);
  Result<PipelineTiming> timing = timeSchedule(step.schedule, problem);
  if (!timing)
    return timing.error();
  step.timing = std::move(*timing);
  StepBuilder builder(step, settings);
  builder.build();
  Result<SimResult> result = step.simulation.run();
  if (!result)
    return result.error();
  step.result = std::move(*result);
  double busy = 0;
  for (int stage = 0; stage < problem.stages; ++stage)
    busy += step.result.streamUtilisation[stage];
  step.bubbleFraction = step.result.makespan > 0 ? 1 - busy / problem.stages : 0;
  builder.followMemory();
  return std::move(step);
}

void dtc::writeStepTrace(llvm::raw_ostream &out, const StepSimulation &step) {
  writeTrace(out, step.simulation, step.result, step.memory);
}
