// Tests where transfers are enqueued: plays the orders of all stages under the rules by which NCCL
// launches operations.
#include "compiler/search/pipeline/TransferOrder.h"
#include "compiler/search/pipeline/BuildSchedule.h"
#include "test/unit/pipeline/PipelineTestSupport.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

using namespace dtc;

namespace {

using Steps = std::vector<PipelineStep>;

bool isBackward(const PipelineTask &task) { return task.kind != PipelineTaskKind::Forward; }

// Names a step as "F0", "receive B1" or, with several chunks, "send F0.1".
std::string text(const Steps &steps, bool withChunk = false) {
  static const char *const kinds[] = {"", "receive ", "send "};
  std::string result;
  for (const PipelineStep &step : steps) {
    result += result.empty() ? "" : ", ";
    result += kinds[step.kind] + toString(step.task.kind).str();
    result += std::to_string(step.task.microBatch);
    if (withChunk)
      result += "." + std::to_string(step.task.chunk);
  }
  return result;
}

// The order of a program for devices that keep no order of launches: each transfer is next to the
// task that reads or makes its tensor.
std::vector<Steps> besideTasks(const PipelineSchedule &schedule, const PipelineProblem &problem) {
  std::vector<Steps> orders;
  for (const std::vector<PipelineTask> &tasks : schedule.order) {
    Steps &order = orders.emplace_back();
    for (const PipelineTask &task : tasks) {
      int stage = stageOfChunk(problem.kind, problem.stages, task.chunk);
      auto isElsewhere = [&](int chunk) {
        return task.kind != PipelineTaskKind::BackwardWeight && chunk >= 0 &&
               chunk < static_cast<int>(problem.chunks.size()) &&
               stageOfChunk(problem.kind, problem.stages, chunk) != stage;
      };
      int step = isBackward(task) ? -1 : 1;
      if (isElsewhere(task.chunk - step))
        order.push_back({PipelineStep::Receive, task});
      order.push_back({PipelineStep::Compute, task});
      if (isElsewhere(task.chunk + step))
        order.push_back({PipelineStep::Send, task});
    }
  }
  return orders;
}

// Plays the orders of all stages. Each transfer is of `tensors` tensors on the stream of its chunk
// and direction; each task has `collectives` operations among the ranks of its stage, which take
// part alike. An operation starts once its stream has come to it and all operations that its host
// has enqueued before it have started; it is over once both of its ends have started. With
// `isSerial` it starts once those before it are over.
class Player {
public:
  Player(const std::vector<Steps> &orders, int tensors, int collectives, bool isSerial)
      : isSerial(isSerial), stages(orders.size()) {
    for (size_t stage = 0; stage < orders.size(); ++stage)
      for (const PipelineStep &step : orders[stage])
        if (step.kind == PipelineStep::Receive)
          received.insert({static_cast<ptrdiff_t>(stage), readBy(step.task)});
    for (size_t stage = 0; stage < orders.size(); ++stage)
      for (const PipelineStep &step : orders[stage])
        add(stages[stage], step, tensors, collectives);
  }

  // True if all operations of all stages end.
  bool ends() {
    for (bool moved = true; moved;) {
      moved = false;
      for (Stage &stage : stages)
        for (auto &[name, stream] : stage.streams)
          while (!stream.empty() && passes(stage, stream.front())) {
            stream.pop_front();
            moved = true;
          }
    }
    for (const Stage &stage : stages)
      for (const auto &[name, stream] : stage.streams)
        if (!stream.empty())
          return false;
    return true;
  }

private:
  // Chunk, micro-batch and direction of what is moved or made, and the number of a tensor.
  using Value = std::tuple<int, int, bool, int>;
  struct Item {
    enum Kind { Wait, Done, Local, Transfer } kind;
    Value value;
    int launch = -1;
  };
  struct Stage {
    std::map<std::tuple<int, int, bool>, std::deque<Item>> streams;
    std::set<Value> done;        // tasks, and tensors received
    std::set<int> started, over; // operations
    int launches = 0;
  };

  // A tensor that a task reads is named after its sender.
  static Value readBy(const PipelineTask &task) {
    bool backward = isBackward(task);
    return {task.chunk + (backward ? 1 : -1), task.microBatch, backward, 0};
  }

  void add(Stage &stage, const PipelineStep &step, int tensors, int collectives) {
    const PipelineTask &task = step.task;
    bool backward = isBackward(task);
    Value made{task.chunk, task.microBatch, backward, -1};
    Value read = readBy(task);
    auto &stream = stage.streams[{step.kind, step.kind == PipelineStep::Compute ? 0 : task.chunk,
                                  step.kind != PipelineStep::Compute && backward}];
    if (step.kind == PipelineStep::Compute) {
      if (received.count({&stage - stages.data(), read}))
        for (std::get<3>(read) = 0; std::get<3>(read) < tensors; ++std::get<3>(read))
          stream.push_back({Item::Wait, read});
      for (int i = 0; i < collectives; ++i)
        stream.push_back({Item::Local, {}, stage.launches++});
      stream.push_back({Item::Done, made});
      return;
    }
    Value moved = made;
    if (step.kind == PipelineStep::Receive)
      moved = read;
    else
      stream.push_back({Item::Wait, made});
    for (int i = 0; i < tensors; ++i) {
      std::get<3>(moved) = i;
      stream.push_back({Item::Transfer, moved, stage.launches++});
      if (step.kind == PipelineStep::Receive)
        stream.push_back({Item::Done, moved});
    }
  }

  bool passes(Stage &stage, const Item &item) {
    if (item.kind == Item::Wait)
      return stage.done.count(item.value) > 0;
    if (item.kind == Item::Done) {
      stage.done.insert(item.value);
      return true;
    }
    const std::set<int> &before = isSerial ? stage.over : stage.started;
    if (!stage.started.count(item.launch) && static_cast<int>(before.size()) < item.launch)
      return false;
    if (stage.started.insert(item.launch).second && item.kind == Item::Transfer)
      ++arrived[item.value];
    if (item.kind == Item::Transfer && arrived[item.value] < 2)
      return false;
    stage.over.insert(item.launch);
    return true;
  }

  bool isSerial;
  std::vector<Stage> stages;
  std::set<std::pair<ptrdiff_t, Value>> received; // what each stage receives
  std::map<Value, int> arrived;                   // number of ranks that have come to a transfer
};

bool ends(const std::vector<Steps> &orders, int tensors, int collectives, bool isSerial = false) {
  return Player(orders, tensors, collectives, isSerial).ends();
}

TEST(TransferOrder, Example) {
  PipelineProblem problem =
      equalProblem(ScheduleKind::OneForwardOneBackward, 2, 1, 2, {1, 1, 1, 0.1, 0.1, 1, 0});
  std::vector<Steps> orders = orderTransfers(*buildSchedule(problem), problem);
  EXPECT_EQ(text(orders[0]), "F0, send F0, F1, send F1, receive B0, B0, receive B1, B1");
  EXPECT_EQ(text(orders[1]), "receive F0, F0, receive F1, B0, send B0, F1, B1, send B1");
}

// Two tensors between stages: beside tasks, the second of each waits for the first of the other.
TEST(TransferOrder, TwoTensorsBesideTheirTasksHang) {
  PipelineProblem problem =
      equalProblem(ScheduleKind::OneForwardOneBackward, 2, 1, 4, {1, 1, 1, 0.1, 0.1, 1, 0});
  PipelineSchedule schedule = *buildSchedule(problem);
  std::vector<Steps> beside = besideTasks(schedule, problem);
  EXPECT_TRUE(ends(beside, 1, 0));
  EXPECT_FALSE(ends(beside, 2, 0));
  EXPECT_TRUE(ends(orderTransfers(schedule, problem), 2, 0));
}

TEST(TransferOrder, AllSchedulesEnd) {
  std::mt19937 random(5);
  int hang = 0;
  for (int round = 0; round < 400; ++round) {
    PipelineProblem problem = randomProblem(random, allKinds[round % 8]);
    if (round % 3 == 0) // times that are alike, or none
      problem.chunks.assign(problem.chunks.size(),
                            round % 2 ? ChunkTimes{} : ChunkTimes{1, 1, 1, 0.25, 0.25, 1, 1});
    PipelineSchedule schedule = *buildSchedule(problem);
    std::vector<Steps> orders = orderTransfers(schedule, problem);
    std::vector<Steps> beside = besideTasks(schedule, problem);
    ASSERT_EQ(orders.size(), beside.size());
    for (size_t stage = 0; stage < orders.size(); ++stage) {
      std::vector<PipelineTask> tasks;
      for (const PipelineStep &step : orders[stage])
        if (step.kind == PipelineStep::Compute)
          tasks.push_back(step.task);
      EXPECT_EQ(tasks, schedule.order[stage]);
      EXPECT_TRUE(std::is_permutation(orders[stage].begin(), orders[stage].end(),
                                      beside[stage].begin(), beside[stage].end()));
    }
    int tensors = 1 + static_cast<int>(random() % 3), collectives = static_cast<int>(random() % 3);
    for (bool isSerial : {false, true})
      ASSERT_TRUE(ends(orders, tensors, collectives, isSerial))
          << toString(problem.kind).str() << " of " << problem.stages << " stages, "
          << problem.microBatches << " micro-batches, " << tensors << " tensors, " << collectives
          << " collectives: " << text(orders[0], true);
    hang += !ends(beside, tensors, collectives);
  }
  EXPECT_GT(hang, 50);
}

} // namespace
