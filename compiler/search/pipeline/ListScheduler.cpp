// The list scheduler: stages choose their next task in the order of time (Graham 1966), here with
// caps on what is in flight.
#include "compiler/search/pipeline/ListScheduler.h"

#include "compiler/search/pipeline/BuildingBlock.h"
#include "compiler/search/pipeline/WakeQueue.h"
#include "compiler/support/Units.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>

using namespace dtc;

namespace {

// The chunks of one stage as sequences of tasks, and how far each has come.
struct StageState {
  std::vector<int> chunks; // in model order
  std::vector<int64_t> nextForward, nextBackward;
  std::vector<PipelineTask> weights; // W in the order of their B
  size_t nextWeight = 0;
  std::vector<int> forwardsDone, backwardsLeft; // per micro-batch
  int oldest = 0;                               // first micro-batch with backwards left
  int firstUnfinished = 0;                      // first micro-batch with forwards left
  int firstUntouched = 0;                       // first micro-batch without any forward
  int64_t activations = 0, pending = 0;         // in flight, as in InFlight
  int64_t heldBytes = 0;            // bytes held by forwards whose backward is still to come
  int64_t bytes = 0;                // these and stashes
  std::vector<int64_t> bytesBefore; // bytes held by the forwards of the first i chunks
  double freeAt = 0;
  InFlight cap;
  int64_t byteCap = std::numeric_limits<int64_t>::max();
  BlockMoments block; // moments of the first micro-batch
};

// Returns the free memory that a forward needs to start, in bytes; a backward never waits for
// memory.
int64_t footprint(const ChunkTimes &chunk, bool split) {
  return split ? std::max(chunk.activationBytes, chunk.weightStashBytes) : chunk.activationBytes;
}

class ListScheduler {
public:
  ListScheduler(const PipelineProblem &problem, const SchedulePolicy &policy);
  std::optional<PipelineSchedule> run();

private:
  void runByCounts();
  void runByClock();
  std::optional<PipelineTask> chooseStrict(StageState &stage) const;
  std::optional<PipelineTask> chooseReady(StageState &stage, double now) const;
  std::optional<PipelineTask> chooseByBlock(StageState &stage, double now) const;
  int64_t momentOf(const StageState &stage, const PipelineTask &task) const;
  int64_t forwardsBefore(const StageState &stage, const PipelineTask &forward) const;
  bool comesFirst(const StageState &stage, const PipelineTask &task,
                  const PipelineTask &next) const;
  std::optional<PipelineTask> readyBackward(StageState &stage, double now) const;
  std::optional<PipelineTask> readyForward(StageState &stage, double now) const;
  std::optional<PipelineTask> readyWeight(const StageState &stage) const;
  bool isAwaited(StageState &stage, const PipelineTask &task, double now, double end) const;
  void take(StageState &stage, const PipelineTask &task);
  void count(StageState &stage, const PipelineTask &task);
  void start(int stage, const PipelineTask &task, double now);
  bool admits(const StageState &stage, const PipelineTask &forward) const;

  int64_t length(const StageState &stage) const;
  PipelineTask at(const StageState &stage, int sequence, int64_t position, bool forward) const;
  std::optional<PipelineTask> head(StageState &stage, int sequence, bool forward) const;
  // It is woken at the end of what it does.
  bool isBusy(const StageState &stage, double time) const { return stage.freeAt > time + slack; }
  bool ready(const PipelineTask &task, double now) const {
    return inputs.arrival(task) <= now + slack;
  }

  const PipelineProblem &problem;
  const SchedulePolicy &policy;
  PipelineInputs inputs;
  bool split;
  double slack = 0; // seconds: sums in another order are the same moment
  std::vector<StageState> stages;
  WakeQueue wakes;
  PipelineSchedule result;
};

ListScheduler::ListScheduler(const PipelineProblem &problem, const SchedulePolicy &policy)
    : problem(problem), policy(policy), inputs(problem), split(splitsBackward(problem.kind)),
      wakes(problem.stages) {
  for (const ChunkTimes &chunk : problem.chunks)
    slack = std::max(slack,
                     1e-9 * std::max({chunk.forward, chunk.backwardInput, chunk.backwardWeight}));
  stages.resize(problem.stages);
  for (int chunk = 0; chunk < inputs.numChunks(); ++chunk)
    stages[inputs.stageOf(chunk)].chunks.push_back(chunk);
  result.order.resize(problem.stages);
  for (int index = 0; index < problem.stages; ++index) {
    StageState &stage = stages[index];
    size_t sequences = policy.merged ? 1 : stage.chunks.size();
    stage.nextForward.assign(sequences, 0);
    stage.nextBackward.assign(sequences, 0);
    stage.forwardsDone.assign(problem.microBatches, 0);
    stage.backwardsLeft.assign(problem.microBatches, static_cast<int>(stage.chunks.size()));
    stage.cap = policy.caps[index];
    if (policy.byBlock)
      stage.block = blockMoments(problem.kind, problem.stages, index);
    stage.bytesBefore.assign(1, 0);
    for (int chunk : stage.chunks)
      stage.bytesBefore.push_back(stage.bytesBefore.back() +
                                  footprint(problem.chunks[chunk], split));
    if (!problem.memoryCap.empty())
      stage.byteCap = problem.memoryCap[index];
    result.order[index].reserve(stage.chunks.size() * problem.microBatches * (split ? 3 : 2));
  }
}

// The last group may be short of micro-batches; a merged sequence counts them all the same, so that
// the order is the one of full groups with some tasks left out.
int64_t ListScheduler::length(const StageState &stage) const {
  if (!policy.merged)
    return problem.microBatches;
  int64_t groups = (problem.microBatches + int64_t(policy.group) - 1) / policy.group;
  return groups * policy.group * static_cast<int64_t>(stage.chunks.size());
}

PipelineTask ListScheduler::at(const StageState &stage, int sequence, int64_t position,
                               bool forward) const {
  PipelineTaskKind kind = forward ? PipelineTaskKind::Forward
                          : split ? PipelineTaskKind::BackwardInput
                                  : PipelineTaskKind::Backward;
  if (!policy.merged)
    return {kind, stage.chunks[sequence], static_cast<int>(position)};
  int64_t perGroup = int64_t(policy.group) * static_cast<int64_t>(stage.chunks.size());
  int64_t inGroup = position % perGroup;
  size_t turn = inGroup / policy.group;
  int chunk = stage.chunks[forward ? turn : stage.chunks.size() - 1 - turn];
  int64_t microBatch = position / perGroup * policy.group + inGroup % policy.group;
  return {kind, chunk, static_cast<int>(microBatch)};
}

// The next task of a sequence that exists.
std::optional<PipelineTask> ListScheduler::head(StageState &stage, int sequence,
                                                bool forward) const {
  int64_t &position = forward ? stage.nextForward[sequence] : stage.nextBackward[sequence];
  for (; position < length(stage); ++position)
    if (PipelineTask task = at(stage, sequence, position, forward);
        task.microBatch < problem.microBatches)
      return task;
  return std::nullopt;
}

// Counts alone, tasks that do not exist included; the order of 1F1B and its relatives.
std::optional<PipelineTask> ListScheduler::chooseStrict(StageState &stage) const {
  int64_t &forward = stage.nextForward[0], &backward = stage.nextBackward[0];
  int64_t end = length(stage);
  while (backward < end) {
    bool takesForward = forward < end && forward - backward < stage.cap.activations;
    PipelineTask task = at(stage, 0, takesForward ? forward : backward, takesForward);
    if (task.microBatch < problem.microBatches)
      return task;
    ++(takesForward ? forward : backward);
  }
  return std::nullopt;
}

// Room for the forward, and after it for all that is in flight to be completed in the order of
// micro-batches, each with the room of those before it (Dijkstra 1965, EWD 623: the banker). So the
// oldest micro-batch of all stages always goes on.
bool ListScheduler::admits(const StageState &stage, const PipelineTask &forward) const {
  int numChunks = static_cast<int>(stage.chunks.size());
  // Reserves this chunk and the remaining chunks of the first unfinished micro-batch, which would
  // otherwise wait for a whole backward.
  int64_t chunks = 1;
  int first = policy.keepsWay ? stage.firstUnfinished : stage.oldest;
  if (forward.microBatch != first)
    chunks += numChunks - stage.forwardsDone[first];
  if (policy.byBlock)
    chunks = std::max(chunks, 1 + forwardsBefore(stage, forward));
  int64_t bytes = footprint(problem.chunks[forward.chunk], split);
  if (stage.activations + 1 > stage.cap.activations || stage.pending + chunks > stage.cap.pending ||
      bytes > stage.byteCap - stage.bytes)
    return false;
  // Stashes are freed by W, which waits for no one.
  int64_t room = stage.byteCap - stage.heldBytes - bytes, all = stage.bytesBefore[numChunks];
  for (int microBatch = stage.oldest; room < all && microBatch < stage.firstUntouched;
       ++microBatch) {
    int done = stage.forwardsDone[microBatch] + (microBatch == forward.microBatch);
    if (all - stage.bytesBefore[done] > room)
      return false;
    room += stage.bytesBefore[std::min(done, stage.backwardsLeft[microBatch])];
  }
  return true;
}

std::optional<PipelineTask> ListScheduler::readyBackward(StageState &stage, double now) const {
  std::optional<PipelineTask> best;
  for (size_t sequence = stage.nextBackward.size(); sequence-- > 0;) {
    std::optional<PipelineTask> task = head(stage, static_cast<int>(sequence), false);
    if (!task || !ready(*task, now) || (best && best->microBatch <= task->microBatch))
      continue;
    best = task;
  }
  return best;
}

std::optional<PipelineTask> ListScheduler::readyForward(StageState &stage, double now) const {
  std::optional<PipelineTask> best;
  for (size_t sequence = 0; sequence < stage.nextForward.size(); ++sequence) {
    std::optional<PipelineTask> task = head(stage, static_cast<int>(sequence), true);
    if (task && ready(*task, now) && admits(stage, *task))
      best = task;
  }
  return best;
}

std::optional<PipelineTask> ListScheduler::readyWeight(const StageState &stage) const {
  if (stage.nextWeight == stage.weights.size())
    return std::nullopt;
  return stage.weights[stage.nextWeight];
}

// Returns true if `task` starts without waiting for `next`. A forward yields to forwards of later
// chunks and to backwards; by block, the earlier moment wins. W yields to everything.
bool ListScheduler::comesFirst(const StageState &stage, const PipelineTask &task,
                               const PipelineTask &next) const {
  if (task.kind == PipelineTaskKind::BackwardWeight)
    return false;
  if (policy.byBlock)
    return momentOf(stage, task) < momentOf(stage, next);
  return next.kind == PipelineTaskKind::Forward ? next.chunk <= task.chunk : policy.forwardFirst;
}

// Returns true if a preferred task arrives before `end` and would be delayed by `task`.
bool ListScheduler::isAwaited(StageState &stage, const PipelineTask &task, double now,
                              double end) const {
  for (size_t sequence = 0; sequence < stage.nextForward.size(); ++sequence)
    for (bool forward : {false, true}) {
      std::optional<PipelineTask> next = head(stage, static_cast<int>(sequence), forward);
      if (!next || inputs.arrival(*next) <= now + slack || inputs.arrival(*next) >= end - slack)
        continue;
      if (comesFirst(stage, task, *next))
        continue;
      if (!forward || admits(stage, *next))
        return true;
    }
  return false;
}

int64_t ListScheduler::momentOf(const StageState &stage, const PipelineTask &task) const {
  bool isFirst = task.chunk == stage.chunks.front(),
       isForward = task.kind == PipelineTaskKind::Forward;
  int start = isForward ? (isFirst ? stage.block.firstForward : stage.block.secondForward)
                        : (isFirst ? stage.block.firstBackward : stage.block.secondBackward);
  return start + int64_t(kBlockInterval) * task.microBatch;
}

// Forwards of the stage's other chunk that the block has before this one, and that are still to
// come: as if micro-batches went on for ever, so that those of the middle do not know of the end.
int64_t ListScheduler::forwardsBefore(const StageState &stage, const PipelineTask &forward) const {
  size_t other = forward.chunk == stage.chunks.front() ? 1 : 0;
  int64_t next = stage.nextForward[other];
  if (next == problem.microBatches)
    return 0;
  int64_t first =
      momentOf(stage, {PipelineTaskKind::Forward, stage.chunks[other], static_cast<int>(next)});
  int64_t moments = std::max<int64_t>(0, momentOf(stage, forward) - first);
  return llvm::divideCeil(moments, kBlockInterval);
}

// Returns the ready task with the earliest moment in the block, or W if none is ready.
std::optional<PipelineTask> ListScheduler::chooseByBlock(StageState &stage, double now) const {
  std::optional<PipelineTask> first;
  for (int sequence = 0; sequence < 2; ++sequence)
    for (bool forward : {true, false}) {
      std::optional<PipelineTask> task = head(stage, sequence, forward);
      if (task && ready(*task, now) && (!forward || admits(stage, *task)) &&
          (!first || momentOf(stage, *task) < momentOf(stage, *first)))
        first = task;
    }
  return first ? first : readyWeight(stage);
}

std::optional<PipelineTask> ListScheduler::chooseReady(StageState &stage, double now) const {
  std::optional<PipelineTask> task;
  if (policy.byBlock) {
    task = chooseByBlock(stage, now);
  } else {
    std::optional<PipelineTask> backward = readyBackward(stage, now);
    if (backward && !policy.forwardFirst)
      return backward;
    task = readyForward(stage, now);
    if (!task && backward)
      return backward;
    if (!task)
      task = readyWeight(stage);
  }
  if (task && policy.patience > 0 &&
      isAwaited(stage, *task, now, now + policy.patience * secondsOf(*task, problem)))
    return std::nullopt; // the stage is woken then
  return task;
}

// Removes the task from the head of its sequence.
void ListScheduler::take(StageState &stage, const PipelineTask &task) {
  if (task.kind == PipelineTaskKind::BackwardWeight) {
    ++stage.nextWeight;
    return;
  }
  size_t sequence = 0;
  if (!policy.merged)
    while (stage.chunks[sequence] != task.chunk)
      ++sequence;
  ++(task.kind == PipelineTaskKind::Forward ? stage.nextForward : stage.nextBackward)[sequence];
}

// Updates the memory and the activations of a stage for a task. As a stage runs one task at a time,
// this may be done when the task starts: nothing reads the counts in between.
void ListScheduler::count(StageState &stage, const PipelineTask &task) {
  const ChunkTimes &chunk = problem.chunks[task.chunk];
  switch (task.kind) {
  case PipelineTaskKind::Forward:
    ++stage.activations;
    ++stage.pending;
    ++stage.forwardsDone[task.microBatch];
    while (stage.firstUnfinished < problem.microBatches &&
           stage.forwardsDone[stage.firstUnfinished] == static_cast<int>(stage.chunks.size()))
      ++stage.firstUnfinished;
    stage.firstUntouched = std::max(stage.firstUntouched, task.microBatch + 1);
    stage.heldBytes += footprint(chunk, split);
    stage.bytes += footprint(chunk, split);
    return;
  case PipelineTaskKind::BackwardWeight:
    --stage.pending;
    stage.bytes -= chunk.weightStashBytes;
    return;
  case PipelineTaskKind::Backward:
    --stage.pending;
    stage.bytes -= chunk.activationBytes;
    break;
  case PipelineTaskKind::BackwardInput:
    stage.weights.push_back({PipelineTaskKind::BackwardWeight, task.chunk, task.microBatch});
    stage.bytes += chunk.weightStashBytes - footprint(chunk, split);
    break;
  }
  stage.heldBytes -= footprint(chunk, split);
  --stage.activations;
  --stage.backwardsLeft[task.microBatch];
  while (stage.oldest < problem.microBatches && stage.backwardsLeft[stage.oldest] == 0)
    ++stage.oldest;
}

void ListScheduler::start(int index, const PipelineTask &task, double now) {
  StageState &stage = stages[index];
  double begin = std::max({now, stage.freeAt, inputs.arrival(task)});
  stage.freeAt = begin + secondsOf(task, problem);
  take(stage, task);
  count(stage, task);
  result.order[index].push_back(task);
  wakes.push({stage.freeAt, index});
  if (std::optional<PipelineTask> next = inputs.finish(task, stage.freeAt))
    if (int receiver = inputs.stageOf(next->chunk); receiver != index)
      if (double arrival = inputs.arrival(*next); !isBusy(stages[receiver], arrival))
        wakes.push({arrival, receiver});
}

void ListScheduler::runByCounts() {
  for (int index = 0; index < problem.stages; ++index)
    while (std::optional<PipelineTask> task = chooseStrict(stages[index])) {
      result.order[index].push_back(*task);
      take(stages[index], *task);
    }
}

void ListScheduler::runByClock() {
  for (int index = 0; index < problem.stages; ++index)
    wakes.push({0, index});
  while (!wakes.empty()) {
    WakeQueue::Wake wake = wakes.pop();
    if (isBusy(stages[wake.stage], wake.time))
      continue;
    if (std::optional<PipelineTask> task = chooseReady(stages[wake.stage], wake.time))
      start(wake.stage, *task, wake.time);
  }
}

std::optional<PipelineSchedule> ListScheduler::run() {
  if (policy.strict)
    runByCounts();
  else
    runByClock();
  for (int index = 0; index < problem.stages; ++index)
    if (result.order[index].size() !=
        stages[index].chunks.size() * problem.microBatches * (split ? 3 : 2))
      return std::nullopt;
  return std::move(result);
}

} // namespace

std::optional<PipelineSchedule> dtc::listSchedule(const PipelineProblem &problem,
                                                  const SchedulePolicy &policy) {
  PipelineProblem seen = seenBy(policy, problem);
  return ListScheduler(seen, policy).run();
}

PipelineProblem dtc::seenBy(const SchedulePolicy &policy, const PipelineProblem &problem) {
  PipelineProblem seen = problem;
  if (policy.uniform)
    for (ChunkTimes &chunk : seen.chunks)
      chunk = {1, 1, 1, 0, 0, chunk.activationBytes, chunk.weightStashBytes};
  return seen;
}

int64_t dtc::leastBytes(const PipelineProblem &problem, int stage) {
  int64_t bytes = 0;
  for (size_t chunk = 0; chunk < problem.chunks.size(); ++chunk)
    if (stageOfChunk(problem.kind, problem.stages, static_cast<int>(chunk)) == stage)
      bytes += footprint(problem.chunks[chunk], splitsBackward(problem.kind));
  return bytes;
}

Status dtc::checkSchedulable(const PipelineProblem &problem) {
  if (Status checked = checkProblem(problem); !checked)
    return checked;
  for (size_t stage = 0; stage < problem.memoryCap.size(); ++stage) {
    int64_t least = leastBytes(problem, static_cast<int>(stage));
    if (problem.memoryCap[stage] < least)
      return UserError(("scheduling a '" + toString(problem.kind) + "' pipeline: stage " +
                        llvm::Twine(stage) + " has " + llvm::Twine(problem.memoryCap[stage]) +
                        " bytes for activations, wanted at least " + llvm::Twine(least) + " (" +
                        printRounded(static_cast<double>(least), Quantity::Bytes) +
                        ") for one micro-batch")
                           .str(),
                       "recompute more, shard more or cut the stage");
  }
  return {};
}
