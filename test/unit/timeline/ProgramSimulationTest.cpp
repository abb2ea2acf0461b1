// Simulates programs made by hand with known seconds: compares pipelines with closed forms, and
// checks exposed, idle and used time and memory.
#include "compiler/show/timeline/ProgramSimulation.h"
#include "compiler/search/pipeline/BuildSchedule.h"
#include "compiler/search/pipeline/Makespan.h"
#include "compiler/search/pipeline/Schedule.h"
#include "compiler/search/pipeline/Timing.h"

#include <gtest/gtest.h>

#include <map>

using namespace dtc;

namespace {

// A manifest, with functions that add to it. Every rank has its own program, and an instruction
// takes as many seconds as its location gives.
struct Programs {
  explicit Programs(uint32_t ranks, uint32_t streams) {
    auto axis = std::make_unique<format::AxisT>();
    axis->name = "pp";
    axis->size = ranks;
    manifest.mesh.push_back(std::move(axis));
    manifest.num_micro_batches = 1;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      manifest.rank_program.push_back(rank);
      auto program = std::make_unique<format::ProgramT>();
      program->num_streams = streams;
      auto entry = std::make_unique<format::EntryT>();
      entry->kind = format::EntryKind::train;
      program->entries.push_back(std::move(entry));
      manifest.programs.push_back(std::move(program));
    }
  }

  uint32_t group() {
    auto made = std::make_unique<format::GroupT>();
    made->name = "pp";
    made->size = static_cast<uint32_t>(manifest.rank_program.size());
    made->ranks = manifest.rank_program;
    manifest.groups.push_back(std::move(made));
    return static_cast<uint32_t>(manifest.groups.size() - 1);
  }
  uint32_t buffer(uint32_t rank, uint64_t bytes, format::BufferKind kind) {
    auto made = std::make_unique<format::BufferT>();
    made->offset = manifest.programs[rank]->arena_bytes;
    made->bytes = bytes;
    made->kind = kind;
    made->storage = static_cast<uint32_t>(manifest.programs[rank]->buffers.size());
    manifest.programs[rank]->arena_bytes += bytes;
    manifest.programs[rank]->buffers.push_back(std::move(made));
    return static_cast<uint32_t>(manifest.programs[rank]->buffers.size() - 1);
  }
  // Adds a task that the step runs next. Later instructions go to its end.
  void task(uint32_t rank, uint32_t microBatch) {
    format::ProgramT &program = *manifest.programs[rank];
    auto made = std::make_unique<format::TaskT>();
    made->name = "task";
    program.entries[0]->order.emplace_back(static_cast<uint32_t>(program.tasks.size()), microBatch);
    program.tasks.push_back(std::move(made));
  }
  template <typename OpT> void add(uint32_t rank, OpT op, uint32_t seconds, uint8_t stream = 0) {
    auto made = std::make_unique<format::InstructionT>();
    made->op.Set(std::move(op));
    made->stream = stream;
    made->location = seconds;
    manifest.programs[rank]->tasks.back()->instructions.push_back(std::move(made));
  }
  void sync(uint32_t rank, uint8_t from, uint8_t to) {
    uint32_t event = manifest.programs[rank]->num_events++;
    format::RecordT record;
    record.event = event;
    add(rank, record, 0, from);
    format::WaitT wait;
    wait.event = event;
    add(rank, wait, 0, to);
  }
  format::TransferT transfer(format::TransferKind kind, uint32_t group, uint32_t from,
                             uint32_t to) {
    format::TransferT op;
    op.kind = kind;
    op.group = group;
    auto ranks = static_cast<uint32_t>(manifest.rank_program.size());
    op.shift = (to + ranks - from) % ranks;
    op.count = 1;
    return op;
  }

  ProgramSimulation simulate() {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(format::Manifest::Pack(builder, &manifest));
    Result<ProgramSimulation> result =
        simulateProgram(*flatbuffers::GetRoot<format::Manifest>(builder.GetBufferPointer()),
                        [](uint32_t, const format::Instruction &instruction) {
                          return InstructionTime{static_cast<double>(instruction.location()), 0, 0};
                        });
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().text());
    return result.ok() ? std::move(*result) : ProgramSimulation();
  }

  format::ManifestT manifest;
};

PipelineProblem problemOf(ScheduleKind kind, int stages, int virtualStages, int microBatches) {
  PipelineProblem problem;
  problem.kind = kind;
  problem.stages = stages;
  problem.virtualStages = virtualStages;
  problem.microBatches = microBatches;
  ChunkTimes times;
  times.forward = times.backwardInput = times.backwardWeight = 1;
  problem.chunks.assign(static_cast<size_t>(stages * virtualStages), times);
  return problem;
}

// Makes a pipeline as programs: each part receives on its own stream, computes, and sends on
// another.
Programs pipelineOf(const PipelineProblem &problem, const PipelineSchedule &schedule) {
  int chunks = problem.stages * problem.virtualStages;
  Programs programs(static_cast<uint32_t>(problem.stages), static_cast<uint8_t>(1 + 4 * chunks));
  std::map<std::pair<int, bool>, uint32_t>
      groups; // keyed by the chunk that sends, and true for forward
  for (int chunk = 0; chunk < chunks; ++chunk)
    for (bool forward : {true, false})
      groups[{chunk, forward}] = programs.group();
  auto stageOf = [&](int chunk) {
    return static_cast<uint32_t>(stageOfChunk(problem.kind, problem.stages, chunk));
  };
  for (uint32_t stage = 0; stage < schedule.order.size(); ++stage) {
    uint32_t bytes = programs.buffer(stage, 4, format::BufferKind::activation);
    for (const PipelineTask &task : schedule.order[stage]) {
      bool forward = task.kind == PipelineTaskKind::Forward;
      bool moves = task.kind != PipelineTaskKind::BackwardWeight;
      int from = forward ? task.chunk - 1 : task.chunk + 1,
          to = forward ? task.chunk + 1 : task.chunk - 1;
      auto stream = static_cast<uint8_t>(1 + 4 * task.chunk + (forward ? 0 : 2));
      programs.task(stage, static_cast<uint32_t>(task.microBatch));
      if (moves && from >= 0 && from < chunks && stageOf(from) != stage) {
        programs.add(stage,
                     programs.transfer(format::TransferKind::receive, groups[{from, forward}],
                                       stage, stageOf(from)),
                     0, stream);
        programs.sync(stage, stream, 0);
      }
      format::ZeroT work;
      work.dst = bytes;
      programs.add(stage, work, task.kind == PipelineTaskKind::Backward ? 2 : 1);
      if (moves && to >= 0 && to < chunks && stageOf(to) != stage) {
        programs.sync(stage, 0, static_cast<uint8_t>(stream + 1));
        programs.add(stage,
                     programs.transfer(format::TransferKind::send, groups[{task.chunk, forward}],
                                       stage, stageOf(to)),
                     0, static_cast<uint8_t>(stream + 1));
      }
    }
  }
  return programs;
}

} // namespace

// The bubble is (p - 1) / (m + p - 1) for GPipe and 1F1B, and (p - 1) / (v m + p - 1) for v
// interleaved chunks.
TEST(ProgramSimulation, HasTheBubblesOfClosedForms) {
  struct Case {
    ScheduleKind kind;
    int stages, virtualStages, microBatches;
  };
  for (const Case &each :
       {Case{ScheduleKind::GPipe, 4, 1, 8}, Case{ScheduleKind::GPipe, 3, 1, 5},
        Case{ScheduleKind::OneForwardOneBackward, 4, 1, 8},
        Case{ScheduleKind::OneForwardOneBackward, 6, 1, 7},
        Case{ScheduleKind::Interleaved, 4, 2, 8}, Case{ScheduleKind::Interleaved, 2, 3, 6}}) {
    PipelineProblem problem =
        problemOf(each.kind, each.stages, each.virtualStages, each.microBatches);
    Result<PipelineSchedule> schedule = buildSchedule(problem);
    ASSERT_TRUE(schedule.ok());
    ProgramSimulation simulation = pipelineOf(problem, *schedule).simulate();
    double p = each.stages, m = each.microBatches, v = each.virtualStages;
    EXPECT_NEAR(simulation.bubbleFraction, (p - 1) / (v * m + p - 1), 1e-12)
        << toString(each.kind).str() << " " << each.stages << " x " << each.virtualStages;
    EXPECT_NEAR(simulation.result.makespan, *closedFormMakespan(problem), 1e-9);
    EXPECT_EQ(simulation.exposedFraction, 0);
  }
}

// A schedule without a closed form takes as long as the plan's own simulation of the same order.
TEST(ProgramSimulation, TakesAsLongAsTheOrderOfAZeroBubbleSchedule) {
  for (auto [kind, chunks] :
       {std::pair(ScheduleKind::ZeroBubbleH1, 1), std::pair(ScheduleKind::ZeroBubbleV, 2),
        std::pair(ScheduleKind::ZeroBubble2P, 1), std::pair(ScheduleKind::VHalf, 2)}) {
    PipelineProblem problem = problemOf(kind, 4, chunks, 8);
    Result<PipelineSchedule> schedule = buildSchedule(problem);
    ASSERT_TRUE(schedule.ok());
    Result<PipelineTiming> timing = timeSchedule(*schedule, problem);
    ASSERT_TRUE(timing.ok());
    ProgramSimulation simulation = pipelineOf(problem, *schedule).simulate();
    EXPECT_NEAR(simulation.result.makespan, timing->makespan, 1e-9) << toString(kind).str();
    EXPECT_NEAR(simulation.bubbleFraction, timing->bubbleFraction, 1e-9);
  }
}

// One of 3 seconds beside 2 of computing is exposed. Time of the compute stream itself is all
// exposed.
TEST(ProgramSimulation, CountsAsExposedWhatComputeStandsStillFor) {
  Programs programs(2, 2);
  uint32_t group = programs.group();
  for (uint32_t rank : {0u, 1u}) {
    uint32_t bytes = programs.buffer(rank, 4, format::BufferKind::gradient);
    programs.task(rank, 0);
    format::CollectiveT reduce;
    reduce.group = group;
    reduce.src = reduce.dst = bytes;
    reduce.count = 1;
    format::ZeroT work;
    work.dst = bytes;
    programs.add(rank, reduce, 3, 1);
    programs.add(rank, work, 2);
    programs.sync(rank, 1, 0);
    programs.add(rank, reduce, 1);
    programs.add(rank, work, rank == 0 ? 1 : 2);
  }
  ProgramSimulation simulation = programs.simulate();
  EXPECT_NEAR(simulation.result.makespan, 6, 1e-9);
  EXPECT_NEAR(simulation.classes[0].exposedSeconds, 2, 1e-9);
  EXPECT_NEAR(simulation.classes[0].computeSeconds, 3, 1e-9);
  EXPECT_NEAR(simulation.classes[0].idleSeconds, 1, 1e-9);
  EXPECT_NEAR(simulation.classes[1].idleSeconds, 0, 1e-9);
}

// An activation is in use from its first use to its last, and parameters always.
TEST(ProgramSimulation, FollowsWhatIsInUse) {
  Programs programs(1, 1);
  programs.buffer(0, 1000, format::BufferKind::parameter);
  format::ZeroT first, second;
  first.dst = programs.buffer(0, 100, format::BufferKind::activation);
  second.dst = programs.buffer(0, 30, format::BufferKind::temporary);
  programs.task(0, 0);
  programs.add(0, first, 1);
  programs.add(0, second, 1);
  programs.add(0, first, 1);
  programs.add(0, second, 1);
  ProgramSimulation simulation = programs.simulate();
  EXPECT_EQ(simulation.classes[0].peakLiveBytes, 1130);
  std::vector<std::pair<double, int64_t>> samples;
  for (const TraceCounter::Sample &sample : simulation.memory[0].samples)
    samples.emplace_back(sample.seconds, sample.value);
  EXPECT_EQ(samples, (std::vector<std::pair<double, int64_t>>{
                         {0, 1000}, {0, 1100}, {1, 1130}, {3, 1030}, {4, 1000}}));
}
