// Checks that ranks of a collective do the same, and that all of them finish.
#include "compiler/prove/verify/CommunicationProof.h"

#include "compiler/build/emit/Emit.h"
#include "runtime/device/WorkRing.h"
#include "test/unit/verify/ExecText.h"

#include <algorithm>
#include <random>

namespace dtc {
namespace {

using test::changed;
using test::manifestOf;

std::string faultOf(const std::string &text, uint32_t ringSlots = kRingSlots,
                    const char *device = "cpu") {
  test::Packed packed =
      manifestOf(text, [&](format::ManifestT &manifest) { manifest.device = device; });
  std::vector<Steps> steps;
  for (uint32_t p = 0; p < (*packed).programs()->size(); ++p)
    steps.emplace_back(*packed, p, format::EntryKind::train);
  return test::textOf(CommunicationProof(*packed, steps, ringSlots).prove());
}

// Two stages of two ranks each: forward and back for each of two micro-batches, and a sum of all.
const char *kTwoStages = R"(
exec.program @first mesh ["pp", "dp"] sizes [2, 2] ranks [0, 1] micro_batches 2 {
  %y = exec.buffer "y" activation f32 64 bytes
  exec.task @forward per_micro_batch {
    exec.send %y over <"pairs", 2, [0, 2, 1, 3]> shift 1 "y" pipeline
  }
  exec.task @backward per_micro_batch {
    exec.receive %y over <"pairs", 2, [0, 2, 1, 3]> shift 1 "dy" pipeline
    exec.collective all_reduce sum %y to %y over <"all", 4, [0, 1, 2, 3]> count 16 "y" gradient last
  }
  exec.entry train order [@forward 0, @backward 0, @forward 1, @backward 1]
}
exec.program @second mesh ["pp", "dp"] sizes [2, 2] ranks [2, 3] micro_batches 2 {
  %z = exec.buffer "z" activation f32 64 bytes
  exec.task @both per_micro_batch {
    exec.receive %z over <"pairs", 2, [0, 2, 1, 3]> shift 1 "y" pipeline
    exec.send %z over <"pairs", 2, [0, 2, 1, 3]> shift 1 "dy" pipeline
    exec.collective all_reduce sum %z to %z over <"all", 4, [0, 1, 2, 3]> count 16 "y" gradient last
  }
  exec.entry train order [@both 0, @both 1]
}
)";

TEST(CommunicationProof, EndWhereEveryRankDoesWhatTheOthersWaitFor) {
  EXPECT_EQ(faultOf(kTwoStages), "");
}

TEST(CommunicationProof, FindARankThatSendsBeforeTheOtherReceives) {
  EXPECT_EQ(faultOf(changed(kTwoStages, {{"@forward 0, @backward 0, @forward 1, @backward 1",
                                          "@forward 0, @forward 1, @backward 0, @backward 1"}})),
            "rank 0, task 'forward', micro-batch 1, instruction 0, send of tensors of stages over "
            "pairs 'y': would wait forever on stream 0; rank 2 is in task 'both', micro-batch 0, "
            "instruction 1, send of tensors of stages over pairs 'dy'");
}

TEST(CommunicationProof, FindASendThatNothingReceives) {
  EXPECT_EQ(faultOf(changed(kTwoStages, {{"[@both 0, @both 1]", "[@both 0]"}})),
            "rank 0, task 'forward', micro-batch 1, instruction 0, send of tensors of stages over "
            "pairs 'y': has no counterpart in rank 2, which has 1 of this kind, not 2");
}

TEST(CommunicationProof, FindACollectiveThatOneSideLeavesOut) {
  std::string text = changed(
      kTwoStages, {{"    exec.collective all_reduce sum %z to %z over <\"all\", 4, [0, 1, 2, 3]> "
                    "count 16 \"y\" gradient last\n",
                    ""}});
  EXPECT_EQ(faultOf(text), "rank 0, task 'backward', micro-batch 1, instruction 1, all_reduce of "
                           "gradients over all 'y': has no counterpart in rank 2, which has 0 of "
                           "this kind, not 1");
}

TEST(CommunicationProof, FindTransfersOfDifferentTypes) {
  EXPECT_EQ(
      faultOf(changed(kTwoStages, {{"\"z\" activation f32", "\"z\" activation i32"}})),
      "rank 0, task 'forward', micro-batch 0, instruction 0, send of tensors of stages over "
      "pairs 'y': meets an instruction of rank 2 of another type; the other one: task 'both', "
      "micro-batch 0, instruction 0, receive of tensors of stages over pairs 'y'");
}

// Returns the collective of the second program, with the difference, and with buffers that fit its
// kind.
std::string reducesOf(const std::string &instruction, const char *dtype = "f32") {
  std::string text = R"(
exec.program @first mesh ["dp"] sizes [2] ranks [0] {
  %x = exec.buffer "x" activation f32 64 bytes
  exec.task @step {
    exec.collective all_reduce sum %x to %x axes [0] count 16 "x" gradient
  }
  exec.entry train order [@step]
}
exec.program @second mesh ["dp"] sizes [2] ranks [1] {
  %x = exec.buffer "x" activation TYPE 64 bytes
  %y = exec.buffer "y" activation TYPE 128 bytes
  exec.task @step {
    exec.collective INSTRUCTION
  }
  exec.entry train order [@step]
}
)";
  return faultOf(changed(text, {{"INSTRUCTION", instruction}, {"TYPE", dtype}}));
}

TEST(CommunicationProof, FindEachThingInWhichCollectivesThatMeetDiffer) {
  const std::string one = "rank 0, task 'step', micro-batch 0, instruction 0, all_reduce of "
                          "gradients over dp 'x': meets an instruction of rank 1 of another ";
  const std::string other = "; the other one: task 'step', micro-batch 0, instruction 0, ";
  EXPECT_EQ(reducesOf("all_reduce sum %x to %x axes [0] count 16 \"x\" gradient"), "");
  EXPECT_EQ(reducesOf("all_gather sum %x to %y axes [0] count 16 \"x\" gradient"),
            one + "kind" + other + "all_gather of gradients over dp 'x'");
  EXPECT_EQ(reducesOf("all_reduce max %x to %x axes [0] count 16 \"x\" gradient"),
            one + "reduction" + other + "all_reduce of gradients over dp 'x'");
  EXPECT_EQ(reducesOf("all_reduce sum %x to %x axes [0] count 16 \"x\" gradient", "i32"),
            one + "type" + other + "all_reduce of gradients over dp 'x'");
  EXPECT_EQ(reducesOf("all_reduce sum %y to %y axes [0] count 32 \"x\" gradient"),
            one + "number of elements" + other + "all_reduce of gradients over dp 'x'");
  EXPECT_EQ(reducesOf("all_reduce sum %x to %x axes [0] count 16 \"x\" activation"),
            one + "role" + other + "all_reduce of activations over dp 'x'");
}

TEST(CommunicationProof, FindTransfersOfDifferentSizes) {
  EXPECT_EQ(faultOf(changed(kTwoStages, {{"\"z\" activation f32 64", "\"z\" activation f32 128"},
                                         {"%z to %z over <\"all\", 4, [0, 1, 2, 3]> count 16",
                                          "%z to %z over <\"all\", 4, [0, 1, 2, 3]> count 32"}})),
            "rank 0, task 'forward', micro-batch 0, instruction 0, send of tensors of stages over "
            "pairs 'y': meets an instruction of rank 2 of another number of elements; the other "
            "one: task 'both', micro-batch 0, instruction 0, receive of tensors of stages over "
            "pairs 'y'");
}

TEST(CommunicationProof, FindAWaitForWhatNothingRecords) {
  EXPECT_EQ(faultOf(R"(
exec.program @step mesh ["dp"] sizes [1] streams 2 events 1 {
  exec.task @step {
    exec.wait 0 stream 1 loc("h.0")
    exec.record 0
  }
  exec.entry train order [@step]
}
)"),
            "rank 0, task 'step', micro-batch 0, instruction 0, wait (h.0): waits for event 0, "
            "which nothing before it records");
}

// The first rank sends when it has what the second rank sends in return.
TEST(CommunicationProof, WaitForEventsOfOtherStreams) {
  EXPECT_EQ(
      faultOf(R"(
exec.program @first mesh ["pp"] sizes [2] ranks [0] streams 2 events 1 {
  %x = exec.buffer "x" activation f32 64 bytes
  %y = exec.buffer "y" activation f32 64 bytes
  exec.task @step {
    exec.receive %y over <"pp", 2, [0, 1]> shift 1 "y" pipeline stream 1
    exec.record 0 stream 1
    exec.wait 0
    exec.send %x over <"pp", 2, [0, 1]> shift 1 "x" pipeline
  }
  exec.entry train order [@step]
}
exec.program @second mesh ["pp"] sizes [2] ranks [1] {
  %x = exec.buffer "x" activation f32 64 bytes
  exec.task @step {
    exec.receive %x over <"pp", 2, [0, 1]> shift 1 "x" pipeline
    exec.send %x over <"pp", 2, [0, 1]> shift 1 "y" pipeline
  }
  exec.entry train order [@step]
}
)"),
      "rank 0, task 'step', micro-batch 0, instruction 0, receive of tensors of stages over pp "
      "'y': would wait forever on stream 1; rank 1 is in task 'step', micro-batch 0, "
      "instruction 0, receive of tensors of stages over pp 'x'");
}

// Each rank sends to the next one and receives from the one before, all in one program.
const char *kRing = R"(
exec.program @ring mesh ["cp"] sizes [3] streams 2 events 1 {
  %x = exec.buffer "x" activation f32 64 bytes
  %y = exec.buffer "y" activation f32 64 bytes
  exec.task @step {
    exec.record 0
    exec.wait 0 stream 1
    exec.send %x over <"cp", 3, [0, 1, 2]> shift 1 "x" activation stream 1
    exec.receive %y over <"cp", 3, [0, 1, 2]> shift 2 "x" activation
  }
  exec.entry train order [@step]
}
)";

TEST(CommunicationProof, LetStreamsOfARankRunSideBySide) {
  EXPECT_EQ(faultOf(kRing), "");
  EXPECT_EQ(faultOf(changed(kRing, {{"activation stream 1", "activation"}})),
            "rank 0, task 'step', micro-batch 0, instruction 2, send of activations over cp 'x': "
            "would wait forever on stream 0; rank 0 is in task 'step', micro-batch 0, instruction "
            "2, send of activations over cp 'x'");
}

// Rank 0 receives R, sends X after that and Y on its own; rank 1 receives Y, sends R after that and
// receives X. By streams alone both end. NCCL starts an operation after all that the host has
// enqueued before it have started, so that Y waits for X, X for R, and R for Y.
const char *kLaunchOrder = R"(
exec.program @first mesh ["pp"] sizes [2] ranks [0] streams 4 events 1 {
  %x = exec.buffer "x" activation f32 64 bytes
  %y = exec.buffer "y" activation f32 64 bytes
  %r = exec.buffer "r" activation f32 64 bytes
  exec.task @step {
    exec.receive %r over <"R", 2, [1, 0]> shift 1 "r" pipeline stream 1
    exec.record 0 stream 1
    exec.wait 0 stream 2
    exec.send %x over <"X", 2, [0, 1]> shift 1 "x" pipeline stream 2
    exec.send %y over <"Y", 2, [0, 1]> shift 1 "y" pipeline stream 3
  }
  exec.entry train order [@step]
}
exec.program @second mesh ["pp"] sizes [2] ranks [1] streams 4 events 1 {
  %x = exec.buffer "x" activation f32 64 bytes
  %y = exec.buffer "y" activation f32 64 bytes
  %r = exec.buffer "r" activation f32 64 bytes
  exec.task @step {
    exec.receive %y over <"Y", 2, [0, 1]> shift 1 "y" pipeline stream 1
    exec.record 0 stream 1
    exec.wait 0 stream 2
    exec.send %r over <"R", 2, [1, 0]> shift 1 "r" pipeline stream 2
    exec.receive %x over <"X", 2, [0, 1]> shift 1 "x" pipeline stream 3
  }
  exec.entry train order [@step]
}
)";

TEST(CommunicationProof, LaunchesInTheOrderOfTheHost) {
  EXPECT_EQ(faultOf(kLaunchOrder), ""); // CPUs keep no such order
  EXPECT_EQ(faultOf(kLaunchOrder, kRingSlots, "cuda"),
            "rank 0, task 'step', micro-batch 0, instruction 0, receive of tensors of stages over "
            "R 'r': would wait forever on stream 1; rank 1 is in task 'step', micro-batch 0, "
            "instruction 0, receive of tensors of stages over Y 'y'");
  const char *last = "    exec.send %y over <\"Y\", 2, [0, 1]> shift 1 \"y\" pipeline stream 3\n";
  const char *first =
      "    exec.receive %r over <\"R\", 2, [1, 0]> shift 1 \"r\" pipeline stream 1\n";
  EXPECT_EQ(faultOf(changed(kLaunchOrder, {{last, ""}, {first, std::string(last) + first}}),
                    kRingSlots, "cuda"),
            "");
}

// Two sums on streams of their own. Both ranks run both at once, but where NCCL registers buffers
// in a capture, each host waits in its first one for the other host.
TEST(CommunicationProof, FindsHostsThatEnqueueCollectivesInOtherOrders) {
  const std::string both = R"(
exec.program @first mesh ["dp"] sizes [2] ranks [0] streams 2 {
  %x = exec.buffer "x" activation f32 64 bytes
  %y = exec.buffer "y" activation f32 64 bytes
  exec.task @step {
    exec.collective all_reduce sum %x to %x axes [0] count 16 "x" gradient
    exec.collective all_reduce sum %y to %y axes [0] count 16 "y" gradient async stream 1
  }
  exec.entry train order [@step]
}
exec.program @second mesh ["dp"] sizes [2] ranks [1] streams 2 {
  %x = exec.buffer "x" activation f32 64 bytes
  %y = exec.buffer "y" activation f32 64 bytes
  exec.task @step {
    exec.collective all_reduce sum %A to %A axes [0] count 16 "A" gradient STREAM_A
    exec.collective all_reduce sum %B to %B axes [0] count 16 "B" gradient STREAM_B
  }
  exec.entry train order [@step]
}
)";
  auto ordered = [&](const char *a, const char *streamA, const char *b, const char *streamB) {
    return changed(both, {{"%A to %A", std::string("%") + a + " to %" + a},
                          {"\"A\"", std::string("\"") + a + "\""},
                          {"STREAM_A", streamA},
                          {"%B to %B", std::string("%") + b + " to %" + b},
                          {"\"B\"", std::string("\"") + b + "\""},
                          {"STREAM_B", streamB}});
  };
  EXPECT_EQ(faultOf(ordered("x", "", "y", "async stream 1"), kRingSlots, "cuda"), "");
  EXPECT_EQ(faultOf(ordered("y", "async stream 1", "x", "")), "");
  EXPECT_EQ(faultOf(ordered("y", "async stream 1", "x", ""), kRingSlots, "cuda"),
            "rank 0, task 'step', micro-batch 0, instruction 0, all_reduce of gradients over dp "
            "'x': hosts enqueue their collectives in orders that wait for each other; rank 1 "
            "enqueues task 'step', micro-batch 0, instruction 0, all_reduce of gradients over dp "
            "'y' before it");
}

// Stream 1 of the first rank waits for the second rank. That waits for what the first rank sends on
// stream 0, behind `between` instructions of stream 1. These must fit into its ring, but those
// `behind` need not.
std::string ringOf(uint32_t between, uint32_t behind = 0) {
  auto zerosOf = [](uint32_t count) {
    std::string zeros;
    for (uint32_t i = 0; i < count; ++i)
      zeros += "    exec.zero %t stream 1\n";
    return zeros;
  };
  return R"(
exec.program @first mesh ["pp"] sizes [2] ranks [0] streams 2 {
  %x = exec.buffer "x" activation f32 64 bytes
  %y = exec.buffer "y" activation f32 64 bytes
  %t = exec.buffer "t" activation f32 64 bytes
  exec.task @step {
    exec.receive %y over <"pp", 2, [0, 1]> shift 1 "y" pipeline stream 1
)" + zerosOf(between) +
         R"(    exec.send %x over <"pp", 2, [0, 1]> shift 1 "x" pipeline
)" + zerosOf(behind) +
         R"(  }
  exec.entry train order [@step]
}
exec.program @second mesh ["pp"] sizes [2] ranks [1] {
  %x = exec.buffer "x" activation f32 64 bytes
  exec.task @step {
    exec.receive %x over <"pp", 2, [0, 1]> shift 1 "x" pipeline
    exec.send %x over <"pp", 2, [0, 1]> shift 1 "y" pipeline
  }
  exec.entry train order [@step]
}
)";
}

TEST(CommunicationProof, HoldUpTheHostWhereARingIsFull) {
  EXPECT_EQ(faultOf(ringOf(3), 4), "");
  EXPECT_EQ(faultOf(ringOf(3, 8), 4), "");
  EXPECT_EQ(faultOf(ringOf(4), 4),
            "rank 0, task 'step', micro-batch 0, instruction 5, send of tensors of stages over pp "
            "'x': would wait forever on stream 0; the host cannot enqueue it: more than 4 "
            "instructions of a stream lie behind one that waits");
}

// Files are proved with a ring that is not larger than dtrun's.
TEST(CommunicationProof, AreProvedWithRingsThatDtrunHas) {
  static_assert(kRingSlots <= rt::WorkRing::kSlots);
  EXPECT_EQ(faultOf(ringOf(kRingSlots - 1)), "");
  EXPECT_NE(faultOf(ringOf(kRingSlots)).find("the host cannot enqueue it"), std::string::npos);
}

// Simulates every rank by itself, with rings that never fill. Tells whether all of them end.
class EveryRank {
public:
  struct Step {
    uint32_t group;
    int32_t
        shift; // 0: a collective; s > 0: sends so many positions further; -s: receives from there
  };
  EveryRank(std::vector<std::vector<uint32_t>> groups, uint32_t size)
      : groups(std::move(groups)), size(size) {}

  bool end(const std::vector<std::vector<Step>> &programs, const std::vector<uint32_t> &programOf) {
    size_t ranks = programOf.size();
    std::vector<size_t> at(ranks, 0);
    // A collective ends when all of its members have arrived.
    for (bool moved = true; moved;) {
      moved = false;
      for (uint32_t rank = 0; rank < ranks && !moved; ++rank) {
        auto stepOf = [&](uint32_t of) -> const Step * {
          const std::vector<Step> &all = programs[programOf[of]];
          return at[of] < all.size() ? &all[at[of]] : nullptr;
        };
        const Step *mine = stepOf(rank);
        if (!mine)
          continue;
        std::vector<uint32_t> with = mine->shift == 0
                                         ? listOf(mine->group, rank)
                                         : std::vector<uint32_t>{rank, peerOf(*mine, rank)};
        bool ready = std::all_of(with.begin(), with.end(), [&](uint32_t other) {
          const Step *theirs = stepOf(other);
          if (other == rank)
            return true;
          return theirs && theirs->group == mine->group &&
                 (mine->shift == 0
                      ? theirs->shift == 0
                      : (theirs->shift < 0) != (mine->shift < 0) && peerOf(*theirs, other) == rank);
        });
        if (!ready)
          continue;
        for (uint32_t other : with)
          ++at[other];
        moved = true;
      }
    }
    for (uint32_t rank = 0; rank < ranks; ++rank)
      if (at[rank] < programs[programOf[rank]].size())
        return false;
    return true;
  }

private:
  std::vector<uint32_t> listOf(uint32_t group, uint32_t rank) const {
    auto position = static_cast<size_t>(
        std::find(groups[group].begin(), groups[group].end(), rank) - groups[group].begin());
    auto first = groups[group].begin() + static_cast<std::ptrdiff_t>(position / size * size);
    return {first, first + size};
  }
  uint32_t peerOf(const Step &step, uint32_t rank) const {
    std::vector<uint32_t> list = listOf(step.group, rank);
    auto position = static_cast<uint32_t>(std::find(list.begin(), list.end(), rank) - list.begin());
    return list[(position + static_cast<uint32_t>(std::abs(step.shift))) % size];
  }

  std::vector<std::vector<uint32_t>> groups;
  uint32_t size;
};

// One rank represents all ranks with equal communication. The result must be that of simulating
// each of them: two programs of three ranks each, with some steps over lists of three.
TEST(CommunicationProof, OfKindsOfRanksEndWhereThoseOfAllRanksDo) {
  std::mt19937 random(7);
  uint32_t ended = 0, hung = 0;
  for (int round = 0; round < 1500; ++round) {
    std::vector<uint32_t> ranks{0, 1, 2, 3, 4, 5};
    std::vector<std::vector<uint32_t>> groups;
    for (int i = 0; i < 2; ++i) {
      std::shuffle(ranks.begin(), ranks.end(), random);
      groups.push_back(ranks);
    }
    // Each message of a rank is received by another one, in this order or nearly.
    std::vector<std::vector<EveryRank::Step>> programs(2);
    std::vector<uint32_t> programOf{0, 0, 0, 1, 1, 1};
    for (int i = 0; i < 3; ++i) {
      uint32_t group = static_cast<uint32_t>(random() % 2);
      auto shift = static_cast<int32_t>(random() % 3);
      for (std::vector<EveryRank::Step> &program : programs) {
        program.push_back({group, shift});
        if (shift != 0)
          program.push_back({group, shift - 3}); // receives from as many positions before
        if (random() % 2 && program.size() > 1)
          std::swap(program[program.size() - 1], program[program.size() - 2]);
      }
    }
    std::string text;
    for (uint32_t p = 0; p < 2; ++p) {
      text += "exec.program @p" + std::to_string(p) + " mesh [\"r\"] sizes [6] ranks [" +
              (p ? "3, 4, 5" : "0, 1, 2") +
              "] {\n%x = exec.buffer \"x\" activation f32 64 bytes\nexec.task @step {\n";
      for (const EveryRank::Step &step : programs[p]) {
        std::string over = "over <\"g" + std::to_string(step.group) + "\", 3, [";
        for (uint32_t i = 0; i < 6; ++i)
          over += (i ? ", " : "") + std::to_string(groups[step.group][i]);
        over += "]> ";
        if (step.shift == 0)
          text += "exec.collective all_reduce sum %x to %x " + over + "count 16 \"x\" gradient\n";
        else
          text += std::string(step.shift > 0 ? "exec.send" : "exec.receive") + " %x " + over +
                  "shift " + std::to_string(std::abs(step.shift)) + " \"x\" activation\n";
      }
      text += "}\nexec.entry train order [@step]\n}\n";
    }
    bool ends = EveryRank(groups, 3).end(programs, programOf);
    ASSERT_EQ(faultOf(text).empty(), ends) << faultOf(text) << text;
    ++(ends ? ended : hung);
  }
  EXPECT_GT(ended, 100u);
  EXPECT_GT(hung, 100u);
}

// Programs that no file can contain are refused when it is written.
TEST(Emit, WritesProgramsOfOneJobAlone) {
  auto write = [](const std::string &text) {
    mlir::MLIRContext context;
    context.loadDialect<exec::ExecDialect>();
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context));
    EXPECT_TRUE(module);
    auto programs = llvm::to_vector(module->getOps<exec::ProgramOp>());
    EmitInfo info;
    info.modelName = "m";
    Result<std::vector<uint8_t>> file = emitExecutable(programs, {}, info);
    return file ? "" : file.error().text();
  };
  const std::string first =
      "exec.program @first mesh [\"dp\"] sizes [2] ranks [0] arena 0 bytes {\n"
      "  exec.entry train order []\n}\n";
  auto second = [](const std::string &where) {
    return "exec.program @second " + where + " arena 0 bytes {\n  exec.entry train order []\n}\n";
  };
  EXPECT_EQ(write(first + second("mesh [\"dp\"] sizes [2] ranks [1]")), "");
  EXPECT_EQ(write(first), "error: writing 'm': none of 1 programs is for rank 1");
  EXPECT_EQ(write(first + second("mesh [\"dp\"] sizes [2]")),
            "error: writing 'm': program 'second' is for rank 0, which runs 'first'");
  for (const char *other :
       {"mesh [\"tp\"] sizes [2] ranks [1]", "mesh [\"dp\"] sizes [4] ranks [3]",
        "mesh [\"dp\"] sizes [2] ranks [1] micro_batches 2"})
    EXPECT_EQ(write(first + second(other)), "error: writing 'm': program 'second' has another mesh "
                                            "or other micro-batches than 'first'");
}

} // namespace
} // namespace dtc
