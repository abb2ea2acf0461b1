// Checks that random programs, correct and wrong, get the same answer whether known periods are
// skipped or followed.
#include "test/unit/verify/LongPrograms.h"

#include <random>

namespace dtc {
namespace {

using Random = std::mt19937_64;

uint32_t below(Random &random, size_t limit) { return static_cast<uint32_t>(random() % limit); }
template <typename T> T &pick(Random &random, std::vector<T> &all) {
  return all[below(random, all.size())];
}

std::string gemm(const std::string &operands, const std::string &rest = "") {
  return "    exec.gemm " + operands + " sizes [4, 4, 4] strides [4, 4, 4]" + rest + "\n";
}

std::string loss(const std::string &operand, const std::string &rest) {
  return "    exec.gemm " + operand +
         ", %x to %sum sizes [1, 1, 16] strides [16, 1, 1] beta 1.0 starts_sum" + rest + "\n";
}

// Tasks in a chain. Each runs some rounds behind the one before, and some run on a stream of their
// own, with events of several slots. A round is one micro-batch or two. Some chains keep too few
// slots or wait too late.
class Chain {
public:
  explicit Chain(Random &random)
      : tasks(1 + below(random, 3)), group(1 + below(random, 2)), rounds(10 + below(random, 16)) {
    for (size_t t = 0; t < tasks.size(); ++t) {
      tasks[t].lag = t == 0 ? 0 : tasks[t - 1].lag + below(random, 3);
      tasks[t].isApart = below(random, 2);
      tasks[t].waitsLate = t + 1 < tasks.size() && below(random, 4) == 0;
      tasks[t].readsTwice = t > 0 && below(random, 2);
      tasks[t].writesRows = below(random, 2);
      tasks[t].eventSlots = 1 + below(random, 3);
      tasks[t].event = events;
      events += tasks[t].isApart ? 2 * tasks[t].eventSlots : 0;
    }
    for (size_t t = 0; t < tasks.size(); ++t) {
      uint32_t behind = t + 1 < tasks.size() ? tasks[t + 1].lag - tasks[t].lag : 0;
      uint32_t wanted = (behind + 1) * group;
      uint32_t odd = below(random, 8);
      tasks[t].slots = odd == 0 && wanted > 1 ? wanted - 1 : wanted + (odd < 3);
    }
  }

  std::string text() const {
    std::string count = std::to_string(rounds * group), buffers, bodies, finish;
    for (size_t t = 0; t < tasks.size(); ++t) {
      std::string n = std::to_string(t), y = "%y" + n + " = exec.buffer \"y" + n, g = "%g" + n;
      buffers += "  " + y + "\" activation f32 64 bytes slots " + std::to_string(tasks[t].slots) +
                 "\n  %left" + n + " = exec.view %y" + n + " \"left\" f32 56 bytes at 0\n  %right" +
                 n + " = exec.view %y" + n + " \"right\" f32 56 bytes at 8\n  " + g +
                 " = exec.buffer \"grad " + n + "\" gradient f32 64 bytes carried\n";
      bodies += "  exec.task @task" + n + " per_micro_batch {\n" + bodyOf(t) + "  }\n";
      finish += "    exec.collective all_reduce sum " + g + " to " + g +
                " axes [0] count 16 \"grad\" gradient\n    exec.gemm " + g +
                ", %lr to %w sizes [16, 1, 1] strides [1, 1, 1] alpha -1.0 beta 1.0\n";
    }
    return test::changed(kStep, {{"COUNT", count},
                                 {"EVENTS", std::to_string(events)},
                                 {"BYTES", std::to_string(64 * rounds * group)},
                                 {"BUFFERS", buffers},
                                 {"TASKS", bodies},
                                 {"FINISH", finish},
                                 {"ORDER", order()}});
  }

private:
  struct Task {
    uint32_t lag = 0, slots = 1, event = 0, eventSlots = 1;
    bool isApart = false, waitsLate = false, readsTwice = false, writesRows = false;
    std::string of(const char *op, uint32_t which) const {
      return std::string("    exec.") + op + " " + std::to_string(event + which * eventSlots) +
             " slots " + std::to_string(eventSlots);
    }
  };
  static constexpr const char *kStep = R"(
exec.program @step mesh ["dp"] sizes [2] micro_batches COUNT streams 2 events EVENTS {
  %w = exec.buffer "w" parameter f32 64 bytes persistent
  exec.parameter "w" %w global [4, 4] stored [4, 4] local [4, 4] axes [[], []] init zeros
  %all = exec.buffer "x" input f32 BYTES bytes persistent
  exec.input "x" %all shape [COUNT, 4, 4] axes [[], [0], []]
  %x = exec.view %all "x.m" f32 64 bytes at 0 + 64 * micro_batch
  %lr = exec.buffer "lr" input f32 4 bytes persistent
  exec.scalar base_lr %lr
  %sum = exec.buffer "loss sum" temporary f32 4 bytes carried
  %loss = exec.buffer "loss" output f32 4 bytes persistent
  exec.output loss %loss
BUFFERSTASKS  exec.task @finish {
    exec.collective all_reduce sum %sum to %sum axes [0] count 1 "loss" control
    exec.copy %sum to %loss sizes [1] from [1] at <0> into [1] at <0>
FINISH  }
  exec.entry train order [ORDER@finish]
}
)";

  std::string bodyOf(size_t t) const {
    const Task &task = tasks[t];
    std::string on = task.isApart ? " stream 1" : "", n = std::to_string(t), body;
    std::string before = t > 0 ? "%y" + std::to_string(t - 1) : "%x";
    if (t > 0 && tasks[t - 1].isApart && tasks[t - 1].waitsLate)
      body += tasks[t - 1].of("wait", 1) + "\n";
    if (task.isApart)
      body += task.of("record", 0) + "\n" + task.of("wait", 0) + on + "\n";
    for (const std::string part : {"left", "right"})
      if (task.writesRows) // two columns each
        body += "    exec.gemm " + before + ", %w to %" + part + n +
                " sizes [4, 2, 4] strides [4, 4, 4]" + on + "\n";
    if (!task.writesRows)
      body += gemm(before + ", %w to %y" + n, on);
    body += gemm("%x transposed, %y" + n + " to %g" + n, " beta 1.0 starts_sum" + on);
    if (task.readsTwice)
      body += gemm("%x transposed, " + before + " to %g" + n, " beta 1.0" + on);
    if (t + 1 == tasks.size())
      body += loss("%y" + n, on);
    if (task.isApart)
      body += task.of("record", 1) + on + "\n";
    if (task.isApart && !task.waitsLate)
      body += task.of("wait", 1) + "\n";
    return body;
  }

  std::string order() const {
    std::string all;
    for (uint32_t round = 0; round < rounds + tasks.back().lag; ++round)
      for (size_t t = 0; t < tasks.size(); ++t)
        for (uint32_t i = 0; i < group; ++i)
          if (round >= tasks[t].lag && round - tasks[t].lag < rounds)
            all += test::run("task" + std::to_string(t), (round - tasks[t].lag) * group + i);
    return all;
  }

  std::vector<Task> tasks;
  uint32_t group, rounds, events = 0;
};

// Returns two stages, of which the second one leaves out a sum in some micro-batches.
std::string stagesOf(Random &random) {
  std::vector<std::string> tasks(12 + below(random, 20), "both");
  for (uint32_t ends = below(random, 4); ends > 0; --ends)
    pick(random, tasks) = "end";
  std::string finish =
      "exec.collective all_reduce sum %dy to %dy axes [1] count 16 \"last dy\" activation";
  return test::changed(test::stagesOf(tasks), {{finish, below(random, 2) ? finish + " " : ""}});
}

// Makes one of the mistakes that a compiler could make, at a random place.
void breakSome(format::ManifestT &manifest, Random &random) {
  format::ProgramT &program = *pick(random, manifest.programs);
  std::vector<format::Run> &order = program.entries[0]->order;
  format::TaskT &task = *pick(random, program.tasks);
  format::BufferT &buffer = *pick(random, program.buffers);
  if (task.instructions.empty() || order.size() < 2)
    return; // broken enough
  uint32_t at = below(random, task.instructions.size());
  format::InstructionT &instruction = *task.instructions[at];
  format::Run &one = pick(random, order), &other = pick(random, order);
  switch (below(random, 11)) {
  case 0:
    return std::swap(one, other);
  case 1:
    order.erase(order.begin() + (&one - order.data()));
    return;
  case 2: // twice
    order.insert(order.begin() + (&one - order.data()), format::Run(other));
    return;
  case 3:
    one = format::Run(one.task(), other.micro_batch());
    return;
  case 4:
    one = format::Run(other.task(), one.micro_batch());
    return;
  case 5:
    buffer.offset = pick(random, program.buffers)->offset + 64 * below(random, 12);
    return;
  case 6:
    buffer.slots = 1 + below(random, buffer.slots + 1);
    return;
  case 7:
    buffer.micro_batch_stride *= 2;
    return;
  case 8:
    task.instructions.erase(task.instructions.begin() + at);
    return;
  case 9:
    instruction.stream = !instruction.stream;
    return;
  default:
    instruction.starts_sum = !instruction.starts_sum;
  }
}

TEST(SkipRandom, ProgramsGetTheSameAnswerAsIfAllWereFollowed) {
  constexpr uint64_t kPrograms = 4000;
  uint64_t skipped = 0, late = 0;
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    Random random(seed);
    std::string text = below(random, 4) ? Chain(random).text() : stagesOf(random);
    uint32_t breaks = below(random, 4);
    test::Packed packed = test::manifestOf(text, [&](format::ManifestT &manifest) {
      for (uint32_t i = 0; i < breaks; ++i)
        breakSome(manifest, random);
    });
    if (!format::verifyManifest(*packed, "m.dte").ok())
      continue;
    VerifyReport all = verifyPrograms(*packed, false), some = verifyPrograms(*packed);
    ASSERT_EQ(test::textOf(some.fault), test::textOf(all.fault)) << "seed " << seed << text;
    ASSERT_EQ(some.instructions, all.instructions) << "seed " << seed;
    skipped += !all.fault && some.followed < some.instructions;
    late += all.fault && 2 * all.fault->microBatch >= (*packed).num_micro_batches();
  }
  // Otherwise the test would show nothing.
  EXPECT_GT(skipped, kPrograms / 10);
  EXPECT_GT(late, kPrograms / 40);
}

} // namespace
} // namespace dtc
