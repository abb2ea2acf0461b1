// Simulates the seconds of a pipeline by its events alone.
#include "test/unit/planner/EventSimulation.h"

#include "compiler/search/pipeline/BuildSchedule.h"

#include <algorithm>
#include <limits>
#include <map>

namespace dtc {
namespace {

// A task: 'F' forward, 'B' backward, 'W' the gradients of weights if they are separate from 'B'.
struct Task {
  char kind;
  int chunk, microBatch;
};
using Order = std::vector<Task>; // tasks of one stage

bool isApart(ScheduleKind kind) {
  return kind != ScheduleKind::GPipe && kind != ScheduleKind::OneForwardOneBackward &&
         kind != ScheduleKind::Interleaved;
}

bool turnsBack(ScheduleKind kind) {
  return isApart(kind) && kind != ScheduleKind::ZeroBubbleH1 && kind != ScheduleKind::ZeroBubble2P;
}

int stageOf(const PipelineProblem &problem, int chunk) {
  if (turnsBack(problem.kind))
    return chunk < problem.stages ? chunk : 2 * problem.stages - 1 - chunk;
  return chunk % problem.stages;
}

// Returns some forwards first, then a backward and a forward in turn. Micro-batches that would only
// fill the last group are left out.
Order inTurns(const Order &forwards, const Order &backwards, size_t first, int microBatches) {
  Order order;
  auto add = [&](const Task &task) {
    if (task.microBatch < microBatches)
      order.push_back(task);
  };
  size_t next = 0;
  for (const Task &backward : backwards) {
    for (; next < std::min(first, forwards.size()); ++next)
      add(forwards[next]);
    add(backward);
    ++first;
  }
  return order;
}

// Returns the order of a stage. Groups of as many micro-batches as there are stages go through the
// chunks of a stage one after another: Narayanan et al. 2021, figure 4.
Order orderOf(const PipelineProblem &problem, int stage) {
  int p = problem.stages, v = problem.virtualStages, m = problem.microBatches;
  Order forwards, backwards;
  for (int group = 0; group < m; group += p)
    for (int turn = 0; turn < v; ++turn)
      for (int microBatch = group; microBatch < group + p; ++microBatch) {
        forwards.push_back({'F', turn * p + stage, microBatch});
        backwards.push_back({'B', (v - 1 - turn) * p + stage, microBatch});
      }
  int below = p - 1 - stage;
  int warmUp = v == 1 ? below : (v - 1) * p + 2 * below;
  if (problem.kind == ScheduleKind::GPipe)
    warmUp = static_cast<int>(forwards.size());
  return inTurns(forwards, backwards, static_cast<size_t>(warmUp) + 1, m);
}

std::vector<Order> zeroBubbleOrders(const PipelineProblem &problem) {
  std::vector<Order> orders;
  Result<PipelineSchedule> schedule = buildSchedule(problem);
  if (!schedule)
    return orders;
  for (const std::vector<PipelineTask> &stage : schedule->order) {
    Order &order = orders.emplace_back();
    for (const PipelineTask &task : stage)
      order.push_back({task.kind == PipelineTaskKind::Forward         ? 'F'
                       : task.kind == PipelineTaskKind::BackwardInput ? 'B'
                                                                      : 'W',
                       task.chunk, task.microBatch});
  }
  return orders;
}

class Simulation {
public:
  explicit Simulation(const PipelineProblem &problem)
      : problem(problem), chunks(static_cast<int>(problem.chunks.size())),
        freeAt(static_cast<size_t>(problem.stages), 0) {
    size_t pairs = problem.chunks.size() * static_cast<size_t>(problem.microBatches);
    for (std::vector<double> *ready : {&forward, &backward, &weight})
      ready->assign(pairs, kNever);
    std::fill_n(forward.begin(), problem.microBatches, 0.0); // the data
  }

  double run(const std::vector<Order> &orders) {
    std::vector<size_t> next(orders.size(), 0);
    size_t done = 0, all = 0;
    for (const Order &order : orders)
      all += order.size();
    for (bool goesOn = true; goesOn;) {
      goesOn = false;
      for (size_t stage = 0; stage < orders.size(); ++stage)
        for (; next[stage] < orders[stage].size(); ++next[stage], ++done, goesOn = true)
          if (!start(orders[stage][next[stage]], freeAt[stage]))
            break;
    }
    size_t wanted = forward.size() * (isApart(problem.kind) ? 3 : 2);
    if (done < all || all != wanted)
      return std::numeric_limits<double>::quiet_NaN();
    return *std::max_element(freeAt.begin(), freeAt.end());
  }

private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  double &ready(std::vector<double> &of, int chunk, int microBatch) {
    return of[static_cast<size_t>(chunk) * static_cast<size_t>(problem.microBatches) +
              static_cast<size_t>(microBatch)];
  }

  // Starts a task. Returns false if an input is missing.
  bool start(const Task &task, double &free) {
    const ChunkTimes &times = problem.chunks[static_cast<size_t>(task.chunk)];
    double input = ready(task.kind == 'F'   ? forward
                         : task.kind == 'B' ? backward
                                            : weight,
                         task.chunk, task.microBatch);
    if (input == kNever)
      return false;
    double seconds = task.kind == 'F'   ? times.forward
                     : task.kind == 'W' ? times.backwardWeight
                                        : times.backwardInput;
    if (task.kind == 'B' && !isApart(problem.kind))
      seconds += times.backwardWeight;
    free = std::max(free, input) + seconds;
    if (task.kind == 'F' && task.chunk + 1 < chunks)
      ready(forward, task.chunk + 1, task.microBatch) = arrival(task, task.chunk + 1, free);
    else if (task.kind == 'F')
      ready(backward, task.chunk, task.microBatch) = free;
    if (task.kind == 'B')
      ready(weight, task.chunk, task.microBatch) = free;
    if (task.kind == 'B' && task.chunk > 0)
      ready(backward, task.chunk - 1, task.microBatch) = arrival(task, task.chunk - 1, free);
    return true;
  }

  // Returns the arrival of a message. Messages between two stages go one after another, activations
  // beside gradients.
  double arrival(const Task &task, int to, double end) {
    int from = stageOf(problem, task.chunk), other = stageOf(problem, to);
    if (from == other)
      return end;
    const ChunkTimes &times = problem.chunks[static_cast<size_t>(task.chunk)];
    double &channel = channels[{from, other, task.kind}];
    channel = std::max(channel, end) + (task.kind == 'F' ? times.sendForward : times.sendBackward);
    return channel;
  }

  const PipelineProblem &problem;
  int chunks;
  std::vector<double> freeAt;                    // indexed by stage
  std::vector<double> forward, backward, weight; // times at which inputs are there
  std::map<std::tuple<int, int, char>, double> channels;
};

} // namespace

double simulatedSeconds(const PipelineProblem &problem) {
  std::vector<Order> orders;
  if (isApart(problem.kind))
    orders = zeroBubbleOrders(problem);
  else
    for (int stage = 0; stage < problem.stages; ++stage)
      orders.push_back(orderOf(problem, stage));
  return Simulation(problem).run(orders);
}

void addSendSeconds(PipelineProblem &problem, double seconds,
                    const std::vector<double> &byBoundary) {
  for (size_t chunk = 0; chunk + 1 < problem.chunks.size(); ++chunk) {
    int from = stageOf(problem, static_cast<int>(chunk)),
        to = stageOf(problem, static_cast<int>(chunk) + 1);
    double slowest = byBoundary.empty() ? seconds : 0;
    if (!byBoundary.empty())
      for (int boundary = std::min(from, to); boundary < std::max(from, to); ++boundary)
        slowest = std::max(slowest, byBoundary[static_cast<size_t>(boundary)]);
    problem.chunks[chunk].sendForward = problem.chunks[chunk + 1].sendBackward = slowest;
  }
}

} // namespace dtc
