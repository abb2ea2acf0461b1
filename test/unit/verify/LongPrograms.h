// Correct programs of many micro-batches, for tests of what may be skipped.
#pragma once

#include "test/unit/verify/ExecText.h"

namespace dtc::test {

// Returns one run of a task for a micro-batch, as text.
inline std::string run(const std::string &task, uint32_t microBatch) {
  return "@" + task + " " + std::to_string(microBatch) + ", ";
}

// Returns runs of so many micro-batches from `first` on, in turn, with forward `ahead` of backward.
inline std::string orderOf(uint32_t microBatches, uint32_t ahead, uint32_t first = 0) {
  std::string order;
  for (uint32_t m = 0; m < microBatches + ahead; ++m) {
    if (m < microBatches)
      order += run("forward", (first + m) % microBatches);
    if (m >= ahead)
      order += run("backward", (first + m - ahead) % microBatches);
  }
  return order;
}

// Returns two stages of two ranks each, one micro-batch after another. The second stage runs these
// tasks, @both or @end. In it tp splits the sum in dy = c v: both tasks finish it, by collectives
// "dy" and "last dy".
inline std::string stagesOf(const std::vector<std::string> &tasks) {
  std::string first, second, count = std::to_string(tasks.size());
  for (uint32_t m = 0; m < tasks.size(); ++m) {
    first += run("forward", m) + run("backward", m);
    second += run(tasks[m], m);
  }
  std::string both = R"(
    exec.receive %y over <"pairs", 2, [0, 2, 1, 3]> shift 1 "y" pipeline
    exec.gemm %c, %v to %dy sizes [4, 4, 2] strides [2, 4, 4]
    exec.collective all_reduce sum %dy to %dy axes [1] count 16 "NAME" activation
    exec.copy %y to %t sizes [16] from [1] at <0> into [1] at <0>
    exec.send %dy over <"pairs", 2, [0, 2, 1, 3]> shift 1 "dy" pipeline
  }
)";
  return changed(
      R"(
exec.program @first mesh ["pp", "tp"] sizes [2, 2] ranks [0, 1] micro_batches COUNT {
  %w = exec.buffer "w" parameter f32 64 bytes persistent
  exec.parameter "w" %w global [4, 4] stored [4, 4] local [4, 4] axes [[], []] init zeros
  %y = exec.buffer "y" activation f32 64 bytes
  %dy = exec.buffer "dy" activation f32 64 bytes
  %g = exec.buffer "grad w" gradient f32 64 bytes carried
  %lr = exec.buffer "lr" input f32 4 bytes persistent
  exec.scalar base_lr %lr
  exec.task @forward per_micro_batch {
    exec.gemm %w, %w to %y sizes [4, 4, 4] strides [4, 4, 4]
    exec.send %y over <"pairs", 2, [0, 2, 1, 3]> shift 1 "y" pipeline
  }
  exec.task @backward per_micro_batch {
    exec.receive %dy over <"pairs", 2, [0, 2, 1, 3]> shift 1 "dy" pipeline
    exec.gemm %y, %dy to %g sizes [4, 4, 4] strides [4, 4, 4] beta 1.0 starts_sum
  }
  exec.task @update {
    exec.gemm %g, %lr to %w sizes [16, 1, 1] strides [1, 1, 1] alpha -1.0 beta 1.0
  }
  exec.entry train order [FIRST @update]
}
exec.program @second mesh ["pp", "tp"] sizes [2, 2] ranks [2, 3] micro_batches COUNT {
  %c = exec.buffer "c" parameter f32 32 bytes persistent
  exec.parameter "c" %c global [4, 4] stored [4, 4] local [4, 2] axes [[], [1]] init zeros
  %v = exec.buffer "v" parameter f32 32 bytes persistent
  exec.parameter "v" %v global [4, 4] stored [4, 4] local [2, 4] axes [[1], []] init zeros
  %y = exec.buffer "y" activation f32 64 bytes
  %dy = exec.buffer "dy" activation f32 64 bytes
  %t = exec.buffer "t" temporary f32 64 bytes
  exec.task @both per_micro_batch {)" +
          changed(both, {{"NAME", "dy"}}) + R"(
  exec.task @end per_micro_batch {)" +
          changed(both, {{"NAME", "last dy"}}) + R"(
  exec.entry train order [SECOND]
}
)",
      {{"COUNT", count}, {"FIRST", first}, {"SECOND", second.substr(0, second.size() - 2)}});
}

} // namespace dtc::test
