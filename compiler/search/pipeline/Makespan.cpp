// Makespans without the whole schedule: closed forms, and steady states that repeat.
#include "compiler/search/pipeline/Makespan.h"

#include "compiler/search/pipeline/ListScheduler.h"
#include "compiler/search/pipeline/Policies.h"
#include "compiler/search/pipeline/Timing.h"

#include <algorithm>
#include <cmath>

using namespace dtc;

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

namespace {

// A schedule as tracks: the times of one kind of task on one chunk, by micro-batch.
struct Track {
  std::vector<double> starts, ready; // ready: when the input is there
  int before = 0;                    // micro-batches that started before the cut
};

// All that stages do next is a function of their state: how far each track has come, when inputs
// arrive and when stages are free. So once a state is that of some micro-batches earlier plus some
// seconds, all that follows repeats itself until the forwards of the first chunk run out.
class Tracks {
public:
  Tracks(const PipelineSchedule &schedule, const PipelineProblem &problem);

  // Looks at the state of this moment (that of starts that are equal but for rounding included).
  void cutAt(double seconds);

  // Returns true if the state at the cut equals the one `distance` micro-batches before it. The
  // starts and inputs of the last `window` micro-batches have to agree; older ones are no longer in
  // flight.
  bool repeats(int distance, int window) const;
  // Seconds that these take.
  double shift(int distance) const {
    const Track &first = tracks.front();
    return first.starts[first.before - 1] - first.starts[first.before - 1 - distance];
  }

  double firstForward(int microBatch) const { return tracks.front().starts[microBatch]; }
  // The first start of these tracks that is not before the cut of the others.
  double firstAfter(const Tracks &others) const;
  // Returns the micro-batches by which the others' cut is later than this one, at most over all
  // tracks.
  int behind(const Tracks &others) const;

  double makespan = 0;

private:
  const Track *senderOf(size_t track) const;
  bool agrees(const std::vector<double> &times, int begin, int end, int distance) const;

  size_t numChunks;
  std::vector<Track> tracks; // indexed by kind, then chunk
  double slack = 0, cut = 0; // seconds
};

Tracks::Tracks(const PipelineSchedule &schedule, const PipelineProblem &problem)
    : numChunks(problem.chunks.size()), tracks(numChunks * 4) {
  PipelineTiming timing = *timeSchedule(schedule, problem);
  makespan = timing.makespan;
  for (int stage = 0; stage < problem.stages; ++stage)
    for (size_t i = 0; i < schedule.order[stage].size(); ++i) {
      const PipelineTask &task = schedule.order[stage][i];
      Track &track = tracks[static_cast<size_t>(task.kind) * numChunks + task.chunk];
      track.starts.push_back(timing.tasks[stage][i].start);
      track.ready.push_back(timing.tasks[stage][i].ready);
    }
  for (const ChunkTimes &chunk : problem.chunks)
    slack = std::max(slack,
                     1e-9 * std::max({chunk.forward, chunk.backwardInput, chunk.backwardWeight}));
}

void Tracks::cutAt(double seconds) {
  cut = seconds - slack;
  for (Track &track : tracks)
    track.before = static_cast<int>(
        std::lower_bound(track.starts.begin(), track.starts.end(), cut) - track.starts.begin());
}

// The track whose start makes the input of a task known; none for the first forward.
const Track *Tracks::senderOf(size_t track) const {
  size_t chunk = track % numChunks;
  switch (static_cast<PipelineTaskKind>(track / numChunks)) {
  case PipelineTaskKind::Forward:
    return chunk == 0 ? nullptr : &tracks[track - 1];
  case PipelineTaskKind::BackwardWeight:
    return &tracks[track - numChunks]; // its BackwardInput
  default:
    return chunk + 1 == numChunks ? &tracks[chunk] : &tracks[track + 1];
  }
}

bool Tracks::agrees(const std::vector<double> &times, int begin, int end, int distance) const {
  for (int microBatch = begin; microBatch < end; ++microBatch)
    if (std::abs(times[microBatch] - times[microBatch - distance] - shift(distance)) > 1e-12 * cut)
      return false;
  return true;
}

bool Tracks::repeats(int distance, int window) const {
  if (tracks.front().before < window + distance)
    return false;
  for (size_t index = 0; index < tracks.size(); ++index) {
    const Track &track = tracks[index];
    if (track.starts.empty())
      continue;
    int end = track.before;
    if (end < window + distance ||
        track.starts[end - distance] < cut - shift(distance) - slack / 2 ||
        !agrees(track.starts, end - window, end, distance))
      return false;
    if (const Track *sender = senderOf(index))
      if (!agrees(track.ready, end - window, sender->before, distance))
        return false;
  }
  return true;
}

double Tracks::firstAfter(const Tracks &others) const {
  double first = makespan;
  for (size_t index = 0; index < tracks.size(); ++index)
    if (size_t next = others.tracks[index].before; next < tracks[index].starts.size())
      first = std::min(first, tracks[index].starts[next]);
  return first;
}

int Tracks::behind(const Tracks &others) const {
  int most = 0;
  for (size_t index = 0; index < tracks.size(); ++index)
    most = std::max(most, others.tracks[index].before - tracks[index].before);
  return most;
}

// The makespan of a policy's schedule by that of fewer micro-batches, cut where its forwards run
// out, and the repetitions that it lacks.
class SteadyState {
public:
  SteadyState(const PipelineProblem &problem, const SchedulePolicy &policy)
      : problem(problem), policy(policy), group(policy.merged ? policy.group : 1),
        window(2 * problem.stages + 2) {}

  // None if the policy's stages come to a stop.
  std::optional<double> seconds();

private:
  std::optional<PipelineSchedule> scheduleOf(int microBatches) {
    problem.microBatches = microBatches;
    return listSchedule(problem, policy);
  }
  int findDistance(const PipelineSchedule &schedule, Tracks &tracks) const;

  PipelineProblem problem;
  const SchedulePolicy &policy;
  int group, window; // micro-batches
};

// Micro-batches after which states repeat; 0 if they do not.
int SteadyState::findDistance(const PipelineSchedule &schedule, Tracks &tracks) const {
  int lastGroup = (problem.microBatches - 1) / group * group; // it may not be full
  tracks.cutAt(tracks.firstForward(lastGroup));
  std::optional<Tracks> seen; // tracks as the policy saw them, if its times differ
  if (policy.uniform) {
    seen.emplace(schedule, seenBy(policy, problem));
    seen->cutAt(seen->firstForward(lastGroup));
    // Decisions after the policy's own cut may depend on the end of the batch.
    tracks.cutAt(std::min(tracks.firstForward(lastGroup), tracks.firstAfter(*seen)));
    if (tracks.behind(*seen) > window)
      return 0;
  }
  for (int groups = 1; groups <= problem.stages; ++groups)
    if (int distance = groups * group;
        tracks.repeats(distance, window) && (!seen || seen->repeats(distance, window)))
      return distance;
  return 0;
}

std::optional<double> SteadyState::seconds() {
  int all = problem.microBatches;
  for (int64_t least = 3 * int64_t(window) + group;; least *= 2) {
    int dropped = static_cast<int>((all - least) / group * group);
    if (dropped < all / 2)
      break;
    std::optional<PipelineSchedule> schedule = scheduleOf(all - dropped);
    if (!schedule)
      return std::nullopt;
    Tracks tracks(*schedule, problem);
    int distance = findDistance(*schedule, tracks);
    if (distance == 0)
      continue;
    int repetitions = dropped / distance;
    double skipped = repetitions * tracks.shift(distance);
    if (dropped % distance == 0)
      return tracks.makespan + skipped;
    schedule = scheduleOf(all - repetitions * distance); // its states up to here are the same
    return timeSchedule(*schedule, problem)->makespan + skipped;
  }
  std::optional<PipelineSchedule> schedule = scheduleOf(all);
  return schedule ? std::optional<double>(timeSchedule(*schedule, problem)->makespan)
                  : std::nullopt;
}

} // namespace

Result<double> dtc::pipelineMakespan(const PipelineProblem &problem) {
  if (Status checked = checkSchedulable(problem); !checked)
    return checked.error();
  std::vector<SchedulePolicy> policies = policiesOf(problem);
  if (policies.front().strict) { // the cap changes nothing
    PipelineProblem free = problem;
    free.memoryCap.clear();
    if (std::optional<double> seconds = closedFormMakespan(free))
      return *seconds;
  }
  std::optional<double> best;
  for (const SchedulePolicy &policy : policies)
    if (std::optional<double> seconds = SteadyState(problem, policy).seconds())
      best = std::min(best.value_or(*seconds), *seconds);
  assert(best && "groups of one micro-batch, and sequences per chunk, never come to a stop");
  return *best;
}
