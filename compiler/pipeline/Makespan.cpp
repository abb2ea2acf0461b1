// Makespans without the whole schedule: closed forms, and steady states that repeat.
#include "compiler/pipeline/Geometry.h"

#include <algorithm>
#include <cmath>

using namespace dtc;

//===-- Closed forms
//-----------------------------------------------------------------------------===//

namespace {

// Machines in a row, each with the same seconds for every job: a job waits for nobody but the job
// before, so the slowest machine sets the pace (Johnson 1954). Transfers are machines too.
struct FlowShop {
  double sum = 0, slowest = 0;
  void add(double seconds) {
    sum += seconds;
    slowest = std::max(slowest, seconds);
  }
  double makespan(int jobs) const { return sum + (jobs - 1) * slowest; }
};

} // namespace

// The backwards of the last stage start when its forwards are done, and no other stage is later
// with its forwards than the first gradient is with it.
static double gpipeMakespan(const PipelineProblem &problem) {
  FlowShop forward, backward;
  for (int stage = 0; stage < problem.stages; ++stage) {
    const ChunkTimes &chunk = problem.chunks[stage];
    forward.add(chunk.forward);
    backward.add(chunk.backwardInput + chunk.backwardWeight);
    if (stage + 1 < problem.stages)
      forward.add(chunk.sendForward);
    if (stage > 0)
      backward.add(chunk.sendBackward);
  }
  return forward.makespan(problem.microBatches) + backward.makespan(problem.microBatches);
}

static bool hasEqualChunks(const PipelineProblem &problem) {
  const ChunkTimes &first = problem.chunks.front();
  return std::all_of(problem.chunks.begin(), problem.chunks.end(), [&](const ChunkTimes &chunk) {
    return chunk.forward == first.forward &&
           chunk.backwardInput + chunk.backwardWeight == first.backwardInput + first.backwardWeight;
  });
}

static bool hasFreeTransfers(const PipelineProblem &problem) {
  return problem.stages == 1 ||
         std::all_of(problem.chunks.begin(), problem.chunks.end(), [](const ChunkTimes &chunk) {
           return chunk.sendForward == 0 && chunk.sendBackward == 0;
         });
}

std::optional<double> dtc::closedFormMakespan(const PipelineProblem &problem) {
  if (!checkProblem(problem) || !problem.memoryCap.empty())
    return std::nullopt;
  if (problem.kind == ScheduleKind::GPipe)
    return gpipeMakespan(problem);
  bool fullGroups = problem.kind == ScheduleKind::OneForwardOneBackward ||
                    (problem.kind == ScheduleKind::Interleaved &&
                     (problem.virtualStages == 1 || problem.microBatches % problem.stages == 0));
  if (!fullGroups || !hasEqualChunks(problem) || !hasFreeTransfers(problem))
    return std::nullopt;
  const ChunkTimes &chunk = problem.chunks.front();
  double turns = double(problem.microBatches) * problem.virtualStages + problem.stages - 1;
  return turns * (chunk.forward + chunk.backwardInput + chunk.backwardWeight);
}

//===-- Steady states
//----------------------------------------------------------------------------===//

namespace {

// After its warm-up a stage of 1F1B and Interleaved does pairs of a backward and a forward. The
// pairs of one group of micro-batches (1 for one chunk per stage, else as many as there are stages)
// are a period: starts are a max-plus linear function of those one period before. So once all
// starts of some pairs are those of `periods` periods earlier plus the same seconds, they stay so
// until the forwards run out, if no channel carries more than that per period (a queue that grows
// would show only later).
//
// Pair k of stage i has number k - i: with this skew no task needs one of a later number.
class SteadyState {
public:
  explicit SteadyState(const PipelineProblem &problem) : problem(problem) {
    group = problem.virtualStages > 1 ? problem.stages : 1;
    pairsPerPeriod = int64_t(group) * problem.virtualStages;
    window = pairsPerPeriod + 2 * problem.stages;
  }

  std::optional<double> makespan();

private:
  // Fewer micro-batches by whole groups, at least `least`; none if that does not halve them.
  std::optional<int> shortened(int64_t least) const;
  bool findRepetition(const PipelineTiming &timing, int microBatches);
  bool repeats(const PipelineTiming &timing, int64_t last, int64_t periods);
  bool carriesChannels() const;
  int64_t firstPair(int stage) const { // its position
    return inFlight(problem.kind, problem.stages, problem.virtualStages, problem.microBatches,
                    stage)
        .activations;
  }

  const PipelineProblem &problem;
  int group;
  int64_t pairsPerPeriod, window;
  int64_t periods = 0; // after which the starts repeat
  double shift = 0;    // seconds that these periods take
};

std::optional<int> SteadyState::shortened(int64_t least) const {
  int64_t dropped = (problem.microBatches - least) / group * group;
  if (dropped < problem.microBatches / 2)
    return std::nullopt;
  return static_cast<int>(problem.microBatches - dropped);
}

bool SteadyState::repeats(const PipelineTiming &timing, int64_t last, int64_t periods) {
  int64_t back = 2 * periods * pairsPerPeriod;
  auto startOf = [&](int stage, int64_t position) { return timing.tasks[stage][position].start; };
  int64_t reference = firstPair(0) + 2 * last;
  double seconds = startOf(0, reference) - startOf(0, reference - back);
  double tolerance = 1e-12 * startOf(0, reference);
  for (int stage = 0; stage < problem.stages; ++stage) {
    int64_t end = firstPair(stage) + 2 * (last + stage + 1);
    for (int64_t position = end - 2 * window; position < end; ++position)
      if (std::abs(startOf(stage, position) - startOf(stage, position - back) - seconds) >
          tolerance)
        return false;
  }
  this->periods = periods;
  shift = seconds;
  return carriesChannels();
}

bool SteadyState::carriesChannels() const {
  for (int stage = 0; stage < problem.stages; ++stage) {
    double forward = 0, backward = 0;
    for (int chunk = stage; chunk < static_cast<int>(problem.chunks.size());
         chunk += problem.stages) {
      if (chunk + 1 < static_cast<int>(problem.chunks.size()))
        forward += problem.chunks[chunk].sendForward;
      if (chunk > 0)
        backward += problem.chunks[chunk].sendBackward;
    }
    if (double(group * periods) * std::max(forward, backward) > shift * (1 + 1e-12))
      return false;
  }
  return true;
}

bool SteadyState::findRepetition(const PipelineTiming &timing, int microBatches) {
  // The last group, which may not be full, is not part of the steady state.
  int64_t pairs = int64_t(microBatches - group) * problem.virtualStages - firstPair(0);
  for (int64_t periods = 1; periods <= problem.stages; ++periods) {
    if (periods * pairsPerPeriod + window > pairs)
      return false;
    if (repeats(timing, pairs - 1, periods))
      return true;
  }
  return false;
}

std::optional<double> SteadyState::makespan() {
  int64_t least = group + (firstPair(0) + 2 * window) / problem.virtualStages + 1;
  for (;; least *= 2) {
    std::optional<int> microBatches = shortened(least);
    if (!microBatches)
      return std::nullopt;
    PipelineProblem part = problem;
    part.microBatches = *microBatches;
    Result<PipelineTiming> timing = timeSchedule(*buildSchedule(part), part);
    if (!findRepetition(*timing, *microBatches))
      continue;
    int64_t dropped = (problem.microBatches - *microBatches) / group;
    if (int64_t rest = dropped % periods) { // the starts up to here stay what they are
      dropped -= rest;
      part.microBatches += static_cast<int>(rest) * group;
      timing = timeSchedule(*buildSchedule(part), part);
    }
    int64_t skipped = dropped / periods;
    return timing->makespan + static_cast<double>(skipped) * shift;
  }
}

} // namespace

// Whether the order without a cap fits, judged by the largest chunk of each stage.
static bool surelyFits(const PipelineProblem &problem) {
  if (problem.memoryCap.empty())
    return true;
  for (int chunk = 0; chunk < static_cast<int>(problem.chunks.size()); ++chunk) {
    int stage = stageOfChunk(problem.kind, problem.stages, chunk);
    InFlight most =
        inFlight(problem.kind, problem.stages, problem.virtualStages, problem.microBatches, stage);
    if (problem.chunks[chunk].activationBytes > problem.memoryCap[stage] / most.activations)
      return false;
  }
  return true;
}

Result<double> dtc::pipelineMakespan(const PipelineProblem &problem) {
  if (Outcome checked = checkProblem(problem); !checked)
    return checked.error();
  if (!splitsBackward(problem.kind) && surelyFits(problem)) {
    PipelineProblem free = problem;
    free.memoryCap.clear();
    if (std::optional<double> seconds = closedFormMakespan(free))
      return *seconds;
    if (std::optional<double> seconds = SteadyState(free).makespan())
      return *seconds;
  }
  Result<PipelineSchedule> schedule = buildSchedule(problem);
  if (!schedule)
    return schedule.error();
  Result<PipelineTiming> timing = timeSchedule(*schedule, problem);
  if (!timing)
    return timing.error();
  return timing->makespan;
}
