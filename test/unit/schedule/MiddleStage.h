// A pipeline stage between two others, as text, with any number of micro-batches.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace dtc::test {

// The middle one of three stages: x comes in, y goes out, the gradient of y comes back, and that of
// x goes on. It has slots for two micro-batches.
inline constexpr const char *kBody = R"(
  %x = exec.buffer "x" activation f32 64 bytes slots 3
  %h = exec.buffer "h" activation f32 64 bytes
  %k = exec.buffer "k" activation f32 64 bytes
  %y = exec.buffer "y" activation f32 64 bytes slots 2
  %dy = exec.buffer "dy" activation f32 64 bytes slots 2
  %dx = exec.buffer "dx" activation f32 64 bytes slots 2
  %g = exec.buffer "g" gradient f32 64 bytes carried
  exec.task @receive_forward per_micro_batch {
    exec.receive %x over <"0 to 1", 2, [0, 1]> shift 1 "x" pipeline {exec.channel = 0 : i64}
  }
  exec.task @forward per_micro_batch {
    exec.copy %x to %h sizes [16] from [1] at <0> into [1] at <0>
    exec.copy %x to %k sizes [16] from [1] at <0> into [1] at <0>
    exec.copy %h to %y sizes [16] from [1] at <0> into [1] at <0>
  }
  exec.task @send_forward per_micro_batch {
    exec.send %y over <"1 to 2", 2, [1, 2]> shift 1 "y" pipeline {exec.channel = 1 : i64}
  }
  exec.task @receive_backward per_micro_batch {
    exec.receive %dy over <"2 to 1", 2, [2, 1]> shift 1 "dy" pipeline {exec.channel = 2 : i64}
  }
  exec.task @backward per_micro_batch {
    exec.copy %dy to %g sizes [16] from [1] at <0> into [1] at <0> accumulate starts_sum
    exec.copy %k to %dx sizes [16] from [1] at <0> into [1] at <0>
    exec.gemm %x, %h transposed to %dx sizes [4, 4, 4] strides [4, 4, 4]
  }
  exec.task @send_backward per_micro_batch {
    exec.send %dx over <"1 to 0", 2, [1, 0]> shift 1 "dx" pipeline {exec.channel = 3 : i64}
  }
  exec.task @update {
    exec.zero %g
  }
)";

using Runs = std::vector<std::pair<std::string, int>>;

// Adds the runs of a pass for one micro-batch: its receive, its task and its send.
inline void addRuns(Runs &runs, const std::string &pass, int microBatch) {
  for (const std::string &task : {"receive_" + pass, pass, "send_" + pass})
    runs.emplace_back(task, microBatch);
}

// Returns an order with forwards two micro-batches ahead of backwards.
inline Runs trainOrder(int microBatches) {
  Runs runs;
  for (int i = 0; i < microBatches + 2; ++i) {
    if (i >= 2)
      addRuns(runs, "backward", i - 2);
    if (i < microBatches)
      addRuns(runs, "forward", i);
  }
  return runs;
}

// Returns the text of an entry with these runs, which ends in `end`.
inline std::string entryText(const std::string &kind, const Runs &runs, const std::string &end) {
  std::string text = "  exec.entry " + kind + " order [";
  for (const auto &[task, microBatch] : runs)
    text += (&task == &runs.front().first ? "@" : ", @") + task + " " + std::to_string(microBatch);
  return text + end + "]\n";
}

// Returns the text of the stage, with the order of its training entry.
inline std::string stageText(int microBatches, const Runs &train) {
  Runs evaluate;
  for (int i = 0; i < microBatches; ++i)
    addRuns(evaluate, "forward", i);
  return "exec.program @stage_1 mesh [\"pp\"] sizes [3] ranks [1] micro_batches " +
         std::to_string(microBatches) + " {" + kBody + entryText("train", train, ", @update") +
         entryText("evaluate", evaluate, "") + "}\n";
}

} // namespace dtc::test
