// Pipeline problems for tests.
#pragma once

#include "compiler/search/pipeline/Schedule.h"

#include <random>

namespace dtc {

inline constexpr ScheduleKind allKinds[] = {
    ScheduleKind::GPipe,       ScheduleKind::OneForwardOneBackward,
    ScheduleKind::Interleaved, ScheduleKind::ZeroBubbleH1,
    ScheduleKind::ZeroBubbleV, ScheduleKind::ZeroBubble2P,
    ScheduleKind::VHalf,       ScheduleKind::VMin};

// Returns a problem with `times` for every chunk. Interleaved has the given virtual stages, and
// other kinds as many as they need.
inline PipelineProblem equalProblem(ScheduleKind kind, int stages, int virtualStages,
                                    int microBatches, const ChunkTimes &times) {
  PipelineProblem problem;
  problem.kind = kind;
  problem.stages = stages;
  problem.virtualStages = virtualStagesOf(kind).value_or(virtualStages);
  problem.microBatches = microBatches;
  problem.chunks.assign(static_cast<size_t>(stages) * problem.virtualStages, times);
  return problem;
}

// Returns chunks that differ by up to `spread` in time, with transfers of up to `send` seconds and
// some bytes.
inline PipelineProblem randomProblem(std::mt19937 &random, ScheduleKind kind, double spread = 1,
                                     double send = 0.5) {
  auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  auto real = [&](double high) { return std::uniform_real_distribution<double>(0, high)(random); };
  PipelineProblem problem = equalProblem(kind, pick(1, 7), pick(1, 4), pick(1, 30), {});
  for (ChunkTimes &chunk : problem.chunks)
    chunk = {1 + real(spread), 1 + real(spread), 1 + real(spread), real(send),
             real(send),       pick(1, 9),       pick(0, 12)};
  return problem;
}

} // namespace dtc
