// Tests the orders of pipeline schedules: those of the papers, dependences, messages, and memory
// caps.
#include "compiler/search/pipeline/BuildSchedule.h"
#include "compiler/search/pipeline/BuildingBlock.h"
#include "compiler/search/pipeline/ListScheduler.h"
#include "compiler/search/pipeline/Timing.h"
#include "test/unit/pipeline/PipelineTestSupport.h"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <map>
#include <set>

using namespace dtc;

namespace {

// Returns "F0 F1 B0" for the tasks of one stage, or with several chunks "F0.1": micro-batch 0,
// chunk 1.
std::string text(const std::vector<PipelineTask> &order, bool withChunk = false) {
  std::string result;
  for (const PipelineTask &task : order) {
    result += (result.empty() ? "" : " ") + toString(task.kind).str();
    result += std::to_string(task.microBatch);
    if (withChunk)
      result += "." + std::to_string(task.chunk);
  }
  return result;
}

// Runs the orders as processes would: messages of one pair of stages and one pass are received in
// the order in which they were sent, and a stage waits for the one that it expects. Returns the
// mistake, or "".
std::string runWithMessages(const PipelineSchedule &schedule, const PipelineProblem &problem) {
  struct Channel {
    int from, to;
    bool forward;
    bool operator<(const Channel &o) const {
      return std::tie(from, to, forward) < std::tie(o.from, o.to, o.forward);
    }
  };
  using Message = std::pair<int, int>; // chunk that receives it, micro-batch
  std::map<Channel, std::deque<Message>> channels;
  std::vector<size_t> next(problem.stages);
  int chunks = static_cast<int>(problem.chunks.size());
  auto stageOf = [&](int chunk) { return stageOfChunk(problem.kind, problem.stages, chunk); };
  for (bool moved = true; moved;) {
    moved = false;
    for (int stage = 0; stage < problem.stages; ++stage)
      for (; next[stage] < schedule.order[stage].size(); ++next[stage], moved = true) {
        const PipelineTask &task = schedule.order[stage][next[stage]];
        bool forward = task.kind == PipelineTaskKind::Forward;
        bool weight = task.kind == PipelineTaskKind::BackwardWeight;
        int source = task.chunk + (forward ? -1 : 1), target = task.chunk + (forward ? 1 : -1);
        if (!weight && source >= 0 && source < chunks && stageOf(source) != stage) {
          std::deque<Message> &queue = channels[{stageOf(source), stage, forward}];
          if (queue.empty())
            break;
          if (queue.front() != Message(task.chunk, task.microBatch))
            return "stage " + std::to_string(stage) + " expects another message";
          queue.pop_front();
        }
        if (!weight && target >= 0 && target < chunks && stageOf(target) != stage)
          channels[{stage, stageOf(target), forward}].emplace_back(target, task.microBatch);
      }
  }
  for (int stage = 0; stage < problem.stages; ++stage)
    if (next[stage] < schedule.order[stage].size())
      return "stage " + std::to_string(stage) + " waits for ever";
  return "";
}

// Start and end of every task, by kind, chunk and micro-batch.
using Times = std::map<std::tuple<char, int, int>, TaskTime>;

Times timesOf(const PipelineSchedule &schedule, const PipelineTiming &timing) {
  Times times;
  for (size_t stage = 0; stage < schedule.order.size(); ++stage)
    for (size_t i = 0; i < schedule.order[stage].size(); ++i) {
      const PipelineTask &task = schedule.order[stage][i];
      times[{toString(task.kind)[0], task.chunk, task.microBatch}] = timing.tasks[stage][i];
    }
  return times;
}

void expectDependencesKept(const PipelineProblem &problem, const PipelineSchedule &schedule,
                           const PipelineTiming &timing) {
  Times times = timesOf(schedule, timing);
  int chunks = static_cast<int>(problem.chunks.size());
  bool split = times.count({'W', 0, 0}) != 0;
  ASSERT_EQ(times.size(), size_t(chunks) * problem.microBatches * (split ? 3 : 2));
  auto remote = [&](int a, int b) {
    return stageOfChunk(problem.kind, problem.stages, a) !=
           stageOfChunk(problem.kind, problem.stages, b);
  };
  for (int chunk = 0; chunk < chunks; ++chunk)
    for (int m = 0; m < problem.microBatches; ++m) {
      const ChunkTimes &own = problem.chunks[chunk];
      TaskTime forward = times[{'F', chunk, m}], backward = times[{'B', chunk, m}];
      EXPECT_GE(backward.start, forward.end);
      if (split) {
        EXPECT_GE((times[{'W', chunk, m}].start), backward.end);
      }
      if (chunk + 1 == chunks)
        continue;
      bool sent = remote(chunk, chunk + 1);
      EXPECT_GE((times[{'F', chunk + 1, m}].start), forward.end + (sent ? own.sendForward : 0));
      double send = sent ? problem.chunks[chunk + 1].sendBackward : 0;
      EXPECT_GE(backward.start, (times[{'B', chunk + 1, m}].end) + send);
    }
  for (const auto &stage : timing.tasks)
    for (size_t i = 1; i < stage.size(); ++i)
      EXPECT_GE(stage[i].start, stage[i - 1].end);
}

} // namespace

TEST(ScheduleKind, HasANameBothWays) {
  for (ScheduleKind kind : allKinds)
    EXPECT_EQ(*scheduleKindFromString(toString(kind)), kind);
  EXPECT_EQ(scheduleKindFromString("1f2b").error().text(),
            "error: the schedule is '1f2b', wanted gpipe, 1f1b, interleaved, zero-bubble, zb-v, "
            "zb-2p, v-half, v-min\n"
            "note: did you mean '1f1b'");
}

TEST(BuildSchedule, OneForwardOneBackwardByHand) {
  auto problem = equalProblem(ScheduleKind::OneForwardOneBackward, 2, 1, 3, {1, 1, 1});
  PipelineSchedule schedule = *buildSchedule(problem);
  EXPECT_EQ(text(schedule.order[0]), "F0 F1 B0 F2 B1 B2");
  EXPECT_EQ(text(schedule.order[1]), "F0 B0 F1 B1 F2 B2");
}

TEST(BuildSchedule, GPipeByHand) {
  auto problem = equalProblem(ScheduleKind::GPipe, 2, 1, 3, {1, 1, 1});
  PipelineSchedule schedule = *buildSchedule(problem);
  EXPECT_EQ(text(schedule.order[0]), "F0 F1 F2 B0 B1 B2");
  EXPECT_EQ(text(schedule.order[1]), "F0 F1 F2 B0 B1 B2");
}

// The warm-up has 2 (p - i - 1) + (v - 1) p tasks as in Megatron-LM, which is 4 and 2, and its
// order of chunks.
TEST(BuildSchedule, InterleavedByHand) {
  auto problem = equalProblem(ScheduleKind::Interleaved, 2, 2, 4, {1, 1, 1});
  PipelineSchedule schedule = *buildSchedule(problem);
  EXPECT_EQ(text(schedule.order[0], true),
            "F0.0 F1.0 F0.2 F1.2 F2.0 B0.2 F3.0 B1.2 F2.2 B0.0 F3.2 B1.0 B2.2 B3.2 B2.0 B3.0");
  EXPECT_EQ(text(schedule.order[1], true),
            "F0.1 F1.1 F0.3 B0.3 F1.3 B1.3 F2.1 B0.1 F3.1 B1.1 F2.3 B2.3 F3.3 B3.3 B2.1 B3.1");
}

// Figure 3 (left) of Qi et al.: the last stage delays its W, and the first does it at once.
TEST(BuildSchedule, ZeroBubbleH1ByHand) {
  auto problem = equalProblem(ScheduleKind::ZeroBubbleH1, 2, 1, 3, {1, 1, 1});
  PipelineSchedule schedule = *buildSchedule(problem);
  EXPECT_EQ(text(schedule.order[0]), "F0 F1 B0 W0 F2 B1 W1 B2 W2");
  EXPECT_EQ(text(schedule.order[1]), "F0 B0 F1 B1 W0 F2 B2 W1 W2");
}

// The first stage has three micro-batches alive, and H1 has two, so that the second stage never
// waits.
TEST(BuildSchedule, ZeroBubble2PByHand) {
  auto problem = equalProblem(ScheduleKind::ZeroBubble2P, 2, 1, 3, {1, 1, 1});
  PipelineSchedule schedule = *buildSchedule(problem);
  EXPECT_EQ(text(schedule.order[0]), "F0 F1 F2 B0 W0 B1 W1 B2 W2");
  EXPECT_EQ(text(schedule.order[1]), "F0 B0 F1 B1 F2 B2 W0 W1 W2");
}

// The moments of the block are F at 0 and 4 and B at 8 and 13 on stage 0, and 2 and 3, 10 and 12 on
// stage 1.
TEST(BuildSchedule, VHalfByHand) {
  auto problem = equalProblem(ScheduleKind::VHalf, 2, 2, 2, {1, 1, 1});
  PipelineSchedule schedule = *buildSchedule(problem);
  EXPECT_EQ(text(schedule.order[0], true),
            "F0.0 F1.0 F0.3 B0.3 F1.3 B1.3 B0.0 W0.3 B1.0 W1.3 W0.0 W1.0");
  EXPECT_EQ(text(schedule.order[1], true),
            "F0.1 F0.2 F1.1 F1.2 B0.2 B0.1 B1.2 B1.1 W0.2 W0.1 W1.2 W1.1");
  EXPECT_EQ(timeSchedule(schedule, problem)->makespan, 2 * 6 + 1);
}

namespace {

std::array<int, 4> momentsOf(ScheduleKind kind, int stages, int stage) {
  BlockMoments block = blockMoments(kind, stages, stage);
  return {block.firstForward, block.secondForward, block.secondBackward, block.firstBackward};
}

// Returns the most chunks alive while blocks follow one another, with W at the first free moment.
int countedPeak(ScheduleKind kind, int stages, int stage) {
  std::array<int, 4> moments = momentsOf(kind, stages, stage);
  int alive = 0, peak = 0, weights = 0;
  for (int moment = 0; moment < 20 * stages + 100; ++moment) {
    bool isFree = true;
    for (size_t task = 0; task < 4; ++task)
      if (moment >= moments[task] && moment % 6 == moments[task] % 6) {
        isFree = false;
        ++(task < 2 ? alive : weights);
      }
    peak = std::max(peak, alive);
    if (isFree && weights > 0) {
      --weights;
      --alive;
    }
  }
  return peak;
}

} // namespace

// F and B of a stage take four of any six moments, and each follows the one that it needs.
TEST(BuildingBlock, HasAMomentForEachTask) {
  for (ScheduleKind kind : {ScheduleKind::VHalf, ScheduleKind::VMin})
    for (int stages = 1; stages <= 40; ++stages)
      for (int stage = 0; stage < stages; ++stage) {
        SCOPED_TRACE(toString(kind).str() + " " + std::to_string(stages));
        std::array<int, 4> own = momentsOf(kind, stages, stage);
        std::set<int> inTurn;
        for (size_t task = 0; task < 4; ++task) {
          inTurn.insert(own[task] % kBlockInterval);
          bool isDown = task % 2 == 0;
          int before = isDown ? stage - 1 : stage + 1;
          if (before >= 0 && before < stages)
            EXPECT_GT(own[task], momentsOf(kind, stages, before)[task]);
          else if (task > 0)
            EXPECT_GT(own[task], own[task - 1]);
        }
        EXPECT_EQ(inTurn.size(), 4u);
      }
}

TEST(BuildingBlock, KeepsAHalfAndAThirdOf1F1B) {
  for (ScheduleKind kind : {ScheduleKind::VHalf, ScheduleKind::VMin})
    for (int stages = 1; stages <= 40; ++stages) {
      int peak = 0;
      for (int stage = 0; stage < stages; ++stage)
        peak = std::max(peak, countedPeak(kind, stages, stage));
      EXPECT_EQ(blockPeak(kind, stages), peak) << toString(kind).str() << " " << stages;
      double share = kind == ScheduleKind::VHalf ? 0.5 : 1 / 3.0;
      EXPECT_LE(peak, share * 2 * stages + 3) << toString(kind).str() << " " << stages;
    }
}

TEST(BuildSchedule, PlacesAVDownAndUpAgain) {
  EXPECT_EQ(stageOfChunk(ScheduleKind::ZeroBubbleV, 4, 5), 2);
  EXPECT_EQ(stageOfChunk(ScheduleKind::Interleaved, 4, 5), 1);
  for (ScheduleKind kind : {ScheduleKind::Interleaved, ScheduleKind::VMin})
    for (int chunk = 0; chunk < 8; ++chunk)
      EXPECT_EQ(chunkOfStage(kind, 4, stageOfChunk(kind, 4, chunk), chunk / 4), chunk);
  auto problem = equalProblem(ScheduleKind::ZeroBubbleV, 1, 2, 1, {1, 1, 1});
  EXPECT_EQ(text(buildSchedule(problem)->order[0], true), "F0.0 F0.1 B0.1 B0.0 W0.1 W0.0");
}

// Interleaved runs with any number of micro-batches, although Megatron-LM requires a multiple of
// the stages.
TEST(BuildSchedule, RunsWithMessagesWhateverTheDurations) {
  std::mt19937 random(1);
  for (ScheduleKind kind : allKinds)
    for (int round = 0; round < 150; ++round) {
      PipelineProblem problem = randomProblem(random, kind);
      SCOPED_TRACE(toString(kind).str() + " case " + std::to_string(round));
      Result<PipelineSchedule> schedule = buildSchedule(problem);
      ASSERT_TRUE(schedule.ok()) << schedule.error().text();
      EXPECT_EQ(runWithMessages(*schedule, problem), "");
      Result<PipelineTiming> timing = timeSchedule(*schedule, problem);
      ASSERT_TRUE(timing.ok()) << timing.error().text();
      expectDependencesKept(problem, *schedule, *timing);
    }
}

TEST(BuildSchedule, InterleavesEverySmallShape) {
  for (int stages = 1; stages <= 6; ++stages)
    for (int virtualStages = 1; virtualStages <= 5; ++virtualStages)
      for (int microBatches = 1; microBatches <= 14; ++microBatches) {
        auto problem =
            equalProblem(ScheduleKind::Interleaved, stages, virtualStages, microBatches, {1, 1, 1});
        Result<PipelineSchedule> schedule = buildSchedule(problem);
        ASSERT_TRUE(schedule.ok());
        ASSERT_EQ(runWithMessages(*schedule, problem), "")
            << stages << " " << virtualStages << " " << microBatches;
      }
}

// The schedules have as many micro-batches in flight as the closed forms.
TEST(InFlight, IsWhatSchedulesKeep) {
  for (ScheduleKind kind : allKinds)
    for (int stages : {1, 2, 3, 4, 8})
      for (int microBatches : {1, 2, 3, 4, 8, 12, 16, 24, 31}) {
        auto problem = equalProblem(kind, stages, 3, microBatches, {1, 1, 1});
        PipelineTiming timing = *timeSchedule(*buildSchedule(problem), problem);
        bool exact = isV(kind)                           ? microBatches >= 2 * stages
                     : kind == ScheduleKind::Interleaved ? microBatches % stages == 0
                                                         : true;
        for (int stage = 0; stage < stages; ++stage) {
          InFlight most = inFlight(kind, stages, problem.virtualStages, microBatches, stage);
          EXPECT_LE(timing.stages[stage].peakActivations, most.activations);
          EXPECT_LE(timing.stages[stage].peakPending, most.pending);
          if (exact) {
            // A block does not distinguish its W tasks.
            if (kind != ScheduleKind::VHalf && kind != ScheduleKind::VMin)
              EXPECT_EQ(timing.stages[stage].peakActivations, most.activations)
                  << toString(kind).str() << " " << stages << " " << microBatches << " " << stage;
            EXPECT_EQ(timing.stages[stage].peakPending, most.pending)
                << toString(kind).str() << " " << stages << " " << microBatches << " " << stage;
          }
        }
      }
  // Megatron-LM's memory factor of interleaving is 1 + (p - 1) / (p v) of p micro-batches.
  EXPECT_EQ(inFlight(ScheduleKind::Interleaved, 8, 2, 64, 0).activations, 8 * 2 + 8 - 1);
}

TEST(InFlight, IsNeverExceededWhateverTheDurations) {
  std::mt19937 random(2);
  for (ScheduleKind kind : allKinds)
    for (int round = 0; round < 60; ++round) {
      PipelineProblem problem = randomProblem(random, kind, 4);
      PipelineTiming timing = *timeSchedule(*buildSchedule(problem), problem);
      for (int stage = 0; stage < problem.stages; ++stage) {
        InFlight most =
            inFlight(kind, problem.stages, problem.virtualStages, problem.microBatches, stage);
        EXPECT_LE(timing.stages[stage].peakActivations, most.activations);
        EXPECT_LE(timing.stages[stage].peakPending, most.pending);
      }
    }
}

// The caps range from the least that works to more than is needed.
TEST(BuildSchedule, KeepsToTheMemoryCap) {
  std::mt19937 random(3);
  for (ScheduleKind kind : allKinds)
    for (int round = 0; round < 80; ++round) {
      PipelineProblem problem = randomProblem(random, kind);
      for (int stage = 0; stage < problem.stages; ++stage)
        problem.memoryCap.push_back(leastBytes(problem, stage) +
                                    std::uniform_int_distribution<int>(0, 60)(random));
      Result<PipelineSchedule> schedule = buildSchedule(problem);
      ASSERT_TRUE(schedule.ok()) << schedule.error().text();
      EXPECT_EQ(runWithMessages(*schedule, problem), "");
      PipelineTiming timing = *timeSchedule(*schedule, problem);
      for (int stage = 0; stage < problem.stages; ++stage)
        EXPECT_LE(timing.stages[stage].peakBytes, problem.memoryCap[stage]);
    }
}

// The least cap is one micro-batch at a time. Without a cap the order is that of 1F1B.
TEST(BuildSchedule, TradesMemoryForTime) {
  auto problem = equalProblem(ScheduleKind::OneForwardOneBackward, 4, 1, 8, {1, 1, 1, 0, 0, 10});
  std::vector<double> makespans;
  for (int64_t cap : {10, 20, 30, 40}) {
    problem.memoryCap.assign(4, cap);
    makespans.push_back(timeSchedule(*buildSchedule(problem), problem)->makespan);
  }
  EXPECT_EQ(makespans.front(), 8 * 4 * 3);
  EXPECT_TRUE(std::is_sorted(makespans.rbegin(), makespans.rend()));
  EXPECT_EQ(makespans.back(), (8 + 3) * 3);
}

TEST(BuildSchedule, NamesTheStageWhoseCapIsTooSmall) {
  auto problem = equalProblem(ScheduleKind::ZeroBubbleV, 3, 2, 8, {1, 1, 1, 0, 0, 3072, 4096});
  problem.memoryCap = {8192, 8191, 8192};
  EXPECT_EQ(buildSchedule(problem).error().message,
            "scheduling a 'zb-v' pipeline: stage 1 has 8191 bytes for activations, wanted at least "
            "8192 (8 KiB) for one micro-batch");
}

TEST(BuildSchedule, RefusesMalformedProblems) {
  auto good = equalProblem(ScheduleKind::OneForwardOneBackward, 2, 1, 3, {1, 1, 1});
  PipelineProblem bad = good;
  bad.virtualStages = 2;
  EXPECT_EQ(buildSchedule(bad).error().message,
            "scheduling a '1f1b' pipeline: there are 2 virtual stages per stage, wanted 1");
  bad = good;
  bad.chunks.pop_back();
  EXPECT_EQ(buildSchedule(bad).error().message,
            "scheduling a '1f1b' pipeline: there are the times of 1 chunks, wanted 2, stages times "
            "virtual stages");
  bad = good;
  bad.microBatches = 0;
  EXPECT_FALSE(buildSchedule(bad).ok());
  bad = good;
  bad.kind = ScheduleKind::ZeroBubbleV;
  EXPECT_FALSE(buildSchedule(bad).ok());
  bad = good;
  bad.chunks[1].forward = -1;
  EXPECT_FALSE(buildSchedule(bad).ok());
  bad.chunks[1].forward = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(buildSchedule(bad).ok());
  bad = good;
  bad.chunks[0].activationBytes = -1;
  EXPECT_FALSE(buildSchedule(bad).ok());
  bad = good;
  bad.memoryCap = {1};
  EXPECT_FALSE(buildSchedule(bad).ok());
  bad = good;
  bad.microBatches = 1 << 30;
  EXPECT_FALSE(buildSchedule(bad).ok());
}

TEST(BuildSchedule, TakesNoTime) {
  auto problem = equalProblem(ScheduleKind::Interleaved, 4, 2, 8, {0, 0, 0});
  EXPECT_EQ(timeSchedule(*buildSchedule(problem), problem)->makespan, 0);
  problem = equalProblem(ScheduleKind::ZeroBubbleH1, 4, 1, 8, {0, 0, 0});
  EXPECT_EQ(timeSchedule(*buildSchedule(problem), problem)->bubbleFraction, 0);
}
