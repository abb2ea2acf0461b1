// Puts transfers between the tasks of a pipeline's stages.
#include "compiler/search/pipeline/TransferOrder.h"

#include "compiler/search/pipeline/Timing.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <tuple>

using namespace dtc;

namespace {

// The fraction of the shortest duration that times are rounded to.
constexpr double kTicksOfShortest = 8;

// Returns the problem with durations in whole ticks, at least one for each computation. Sums of
// whole numbers are exact, so that times that should be equal are.
PipelineProblem inTicks(PipelineProblem problem) {
  double shortest = 0;
  for (const ChunkTimes &chunk : problem.chunks)
    for (double seconds : {chunk.forward, chunk.backwardInput, chunk.backwardWeight})
      if (seconds > 0 && (shortest == 0 || seconds < shortest))
        shortest = seconds;
  auto ticks = [&](double seconds) {
    return shortest > 0 ? std::round(seconds / shortest * kTicksOfShortest) : 0;
  };
  for (ChunkTimes &chunk : problem.chunks) {
    for (double *seconds : {&chunk.forward, &chunk.backwardInput, &chunk.backwardWeight})
      *seconds = std::max(1.0, ticks(*seconds));
    for (double *seconds : {&chunk.sendForward, &chunk.sendBackward})
      *seconds = ticks(*seconds);
  }
  return problem;
}

bool isBackward(const PipelineTask &task) { return task.kind != PipelineTaskKind::Forward; }

// The place of a step in the order of all steps: transfers come before tasks of the same time, as
// the tasks that they follow are over then, and may read what is received. No stage has two tasks
// that end at one time.
using Place = std::tuple<double, bool, int>;

class TransferOrder {
public:
  TransferOrder(const PipelineSchedule &schedule, const PipelineProblem &problem)
      : schedule(schedule), problem(inTicks(problem)), ends(problem.chunks.size() * 2) {
    for (std::vector<double> &each : ends)
      each.resize(static_cast<size_t>(problem.microBatches));
  }

  std::vector<std::vector<PipelineStep>> run() {
    Result<PipelineTiming> timing = timeSchedule(schedule, problem);
    assert(timing && "a schedule of this problem");
    for (size_t stage = 0; stage < schedule.order.size(); ++stage)
      for (size_t i = 0; i < schedule.order[stage].size(); ++i)
        if (const PipelineTask &task = schedule.order[stage][i];
            task.kind != PipelineTaskKind::BackwardWeight)
          endOf(task) = timing->tasks[stage][i].end;
    std::vector<std::vector<PipelineStep>> orders;
    for (size_t stage = 0; stage < schedule.order.size(); ++stage)
      orders.push_back(orderOf(static_cast<int>(stage), timing->tasks[stage]));
    return orders;
  }

private:
  int stageOf(int chunk) const { return stageOfChunk(problem.kind, problem.stages, chunk); }
  double &endOf(const PipelineTask &task) {
    return ends[static_cast<size_t>(task.chunk) * 2 + isBackward(task)]
               [static_cast<size_t>(task.microBatch)];
  }

  // Returns the task's neighbour in the pass of its micro-batch, `by` chunks further, if that is on
  // another stage: the one to or from which data moves.
  std::optional<PipelineTask> neighbour(PipelineTask task, int by) const {
    int stage = stageOf(task.chunk);
    task.chunk += isBackward(task) ? -by : by;
    bool isThere = task.chunk >= 0 && task.chunk < static_cast<int>(problem.chunks.size());
    return isThere && stageOf(task.chunk) != stage ? std::optional(task) : std::nullopt;
  }

  std::vector<PipelineStep> orderOf(int stage, const std::vector<TaskTime> &times) {
    std::vector<std::pair<Place, PipelineStep>> placed;
    for (size_t i = 0; i < times.size(); ++i) {
      const PipelineTask &task = schedule.order[static_cast<size_t>(stage)][i];
      placed.push_back({{times[i].start, true, stage}, {PipelineStep::Compute, task}});
      if (task.kind == PipelineTaskKind::BackwardWeight)
        continue;
      if (neighbour(task, 1))
        placed.push_back({{times[i].end, false, stage}, {PipelineStep::Send, task}});
      if (std::optional<PipelineTask> sender = neighbour(task, -1))
        placed.push_back(
            {{endOf(*sender), false, stageOf(sender->chunk)}, {PipelineStep::Receive, task}});
    }
    std::sort(placed.begin(), placed.end(),
              [](const auto &a, const auto &b) { return a.first < b.first; });
    std::vector<PipelineStep> order;
    for (const auto &[position, step] : placed)
      order.push_back(step);
    return order;
  }

  const PipelineSchedule &schedule;
  PipelineProblem problem;
  std::vector<std::vector<double>> ends; // of each chunk, forward and backward, by micro-batch
};

} // namespace

std::vector<std::vector<PipelineStep>> dtc::orderTransfers(const PipelineSchedule &schedule,
                                                           const PipelineProblem &problem) {
  return TransferOrder(schedule, problem).run();
}
