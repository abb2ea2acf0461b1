// Checks that micro-batches are followed until their effect is known, and that a fault of any of
// them is found.
#include "compiler/prove/verify/Board.h"
#include "test/unit/verify/LongPrograms.h"
#include "test/unit/verify/SmallPrograms.h"

namespace dtc {
namespace {

using test::bufferOf;
using test::Change;
using test::kDataParallel;
using test::orderOf;

// Returns data parallelism of so many micro-batches, of which `ahead` + 1 are in progress, with a
// slot each.
std::string textOf(uint32_t microBatches, uint32_t ahead, const std::vector<Change> &changes = {}) {
  std::string count = std::to_string(microBatches), slots = std::to_string(ahead + 1);
  std::string text = test::changed(
      kDataParallel,
      {{"micro_batches 3", "micro_batches " + count},
       {"\"x\" input f32 192 bytes",
        "\"x\" input f32 " + std::to_string(64 * microBatches) + " bytes"},
       {"shape [3, 4, 4]", "shape [" + count + ", 4, 4]"},
       {"\"y\" activation f32 64 bytes", "\"y\" activation f32 64 bytes slots " + slots},
       {"@forward 0, @backward 0, @forward 1, @backward 1, @forward 2, @backward 2,",
        orderOf(microBatches, ahead)}});
  return test::changed(text, changes);
}

VerifyReport verify(const std::string &text, bool skips = true, const test::Edit &edit = {}) {
  return verifyPrograms(*test::manifestOf(text, edit), skips);
}

// Expects the same fault whether known micro-batches are skipped or not.
void expectFault(const std::string &text, const std::string &wanted, const test::Edit &edit = {}) {
  EXPECT_EQ(test::textOf(verify(text, false, edit).fault).substr(0, wanted.size()), wanted);
  EXPECT_EQ(test::textOf(verify(text, true, edit).fault).substr(0, wanted.size()), wanted);
}

TEST(SkipPeriods, MoreMicroBatchesTakeNoMore) {
  for (uint32_t ahead : {0u, 1u, 3u}) {
    VerifyReport some = verify(textOf(32, ahead)), many = verify(textOf(256, ahead)),
                 all = verify(textOf(256, ahead), false);
    EXPECT_EQ(test::textOf(some.fault), "");
    EXPECT_EQ(test::textOf(many.fault), "");
    EXPECT_EQ(many.followed, some.followed);
    EXPECT_EQ(many.instructions, all.instructions);
    EXPECT_EQ(all.followed, all.instructions);
    EXPECT_LT(many.followed, all.instructions / 8);
  }
}

TEST(SkipPeriods, FollowsWhereSlotsAreTooFew) {
  expectFault(textOf(64, 3, {{"bytes slots 4", "bytes slots 3"}}),
              "rank 0, task 'backward', micro-batch 0, instruction 0, gemm: reads 'y' (buffer 4), "
              "which holds what belongs to micro-batch 3");
}

TEST(SkipPeriods, FindsWhatIsOutOfOrderInTheMiddle) {
  expectFault(textOf(64, 0, {{"@forward 31, @backward 31", "@backward 31, @forward 31"}}),
              "rank 0, task 'backward', micro-batch 31, instruction 0, gemm: reads 'y' (buffer 4), "
              "which holds what belongs to micro-batch 30");
}

TEST(SkipPeriods, FindsWhatIsOutOfOrderInTheEnd) {
  expectFault(textOf(64, 0, {{"@forward 63, @backward 63", "@backward 63, @forward 63"}}),
              "rank 0, task 'backward', micro-batch 63, instruction 0, gemm: reads 'y' (buffer 4), "
              "which holds what belongs to micro-batch 62");
}

TEST(SkipPeriods, CountsAddendsOfAllMicroBatches) {
  for (const char *left : {"@backward 31, ", "@backward 63, "})
    expectFault(textOf(64, 0, {{left, ""}}),
                "rank 0, task 'gradients', micro-batch 0, instruction 0, all_reduce of gradients "
                "over dp 'grad w': reads the sum in 'grad w' (buffer 6), to which 63 addends were "
                "added, wanted as many of each of 64 micro-batches");
}

// Each period begins the sum again and leaves six addends. The runs before the first period left
// three. Three more per period would give as many as there are micro-batches.
TEST(SkipPeriods, CountsAddendsOfSumsThatPeriodsBegin) {
  std::string add = "    exec.gemm %w, %w to %s sizes [4, 4, 4] strides [4, 4, 4]", order;
  for (uint32_t m = 3; m < 63; m += 3)
    order += test::run("start", m) + test::run("add", m + 2) + test::run("more", m + 1);
  expectFault(
      R"(
exec.program @step mesh ["dp"] sizes [2] micro_batches 63 {
  %w = exec.buffer "w" parameter f32 64 bytes persistent
  exec.parameter "w" %w global [4, 4] stored [4, 4] local [4, 4] axes [[], []] init zeros
  %s = exec.buffer "s" temporary f32 64 bytes carried
  %t = exec.buffer "t" temporary f32 64 bytes
  exec.task @start per_micro_batch {
)" + add + "\n  }\n  exec.task @add per_micro_batch {\n" +
          add + " beta 1.0 starts_sum\n" + add + " beta 1.0\n" + add +
          " beta 1.0\n  }\n  exec.task @more per_micro_batch {\n" + add + " beta 1.0\n" + add +
          R"( beta 1.0
  }
  exec.task @read {
    exec.gemm %s, %w to %t sizes [4, 4, 4] strides [4, 4, 4]
  }
  exec.entry train order [@add 2, @start 0, @more 1, )" +
          order + "@read, @start 1, @add 0, @more 0]\n}\n",
      "rank 0, task 'read', micro-batch 0, instruction 0, gemm: reads the sum in 's' (buffer 1), "
      "to "
      "which 6 addends were added, wanted as many of each of 63 micro-batches");
}

// Inputs are at 64 to 4160, micro-batch by micro-batch, and lr is behind them.
TEST(SkipPeriods, LooksAtTheInputsOfAllMicroBatches) {
  for (uint32_t past : {1u, 20u})
    expectFault(textOf(64, 0),
                "rank 0, task 'forward', micro-batch " + std::to_string(64 - past) +
                    ", instruction 0, gemm (h.0): reads bytes 4160 to 4164 of the arena, part of "
                    "'x.m' (buffer 2), which something else has overwritten while it was in use",
                [&](format::ManifestT &m) { bufferOf(m, "x.m").offset += 64 * past; });
}

// The two that run after the last micro-batch are correct.
TEST(SkipPeriods, LooksAtTheInputsThatItSkips) {
  std::string order = orderOf(64, 0), text = textOf(64, 0, {{order, orderOf(64, 0, 2)}});
  EXPECT_EQ(test::textOf(verify(text).fault), "");
  EXPECT_LT(verify(text).followed, 100u);
  expectFault(text,
              "rank 0, task 'forward', micro-batch 63, instruction 0, gemm (h.0): reads bytes",
              [&](format::ManifestT &m) { bufferOf(m, "x.m").offset += 64; });
}

// The last run of a task is also one if others before it were skipped.
TEST(SkipPeriods, LeavesLastRunsToTheEnd) {
  std::string reduce =
      "exec.collective all_reduce sum %g to %g axes [0] count 16 \"grad w\" gradient";
  std::string text =
      textOf(64, 0,
             {{reduce, "exec.zero %t"},
              {"beta 1.0 starts_sum\n  }\n  exec.task @report",
               "beta 1.0 starts_sum\n    " + reduce + " last\n  }\n  exec.task @report"}});
  EXPECT_EQ(test::textOf(verify(text).fault), "");
  EXPECT_LT(verify(text).followed, 100u);
}

TEST(SkipPeriods, FindsAnInputThatEachPeriodOverwrites) {
  for (uint32_t over : {40u, 63u})
    expectFault(textOf(64, 0),
                "rank 0, task 'forward', micro-batch " + std::to_string(over) +
                    ", instruction 0, gemm (h.0): reads bytes " + std::to_string(64 + 64 * over),
                [&](format::ManifestT &m) { bufferOf(m, "y").offset = 64 + 64 * over; });
}

// Gradients are on a stream of their own, which waits for its own micro-batch, or for none.
TEST(SkipPeriods, TellsEventsOfSlotsApart) {
  std::vector<Change> apart = {
      {"streams 2 events 1", "streams 2 events 4"},
      {"exec.gemm %y, %y to %sum", "exec.record 0 slots 2\n    exec.gemm %y, %y to %sum"},
      {"exec.gemm %x transposed, %y to %g",
       "exec.wait 0 slots 2 stream 1\n    exec.gemm %x transposed, %y to %g"},
      {"strides [4, 4, 4] beta 1.0 starts_sum",
       "strides [4, 4, 4] beta 1.0 starts_sum stream 1\n"
       "    exec.record 2 slots 2 stream 1\n    exec.wait 2 slots 2"}};
  VerifyReport some = verify(textOf(32, 1, apart)), many = verify(textOf(256, 1, apart));
  EXPECT_EQ(test::textOf(some.fault), "");
  EXPECT_EQ(test::textOf(many.fault), "");
  EXPECT_EQ(many.followed, some.followed);
  apart[2].second = "exec.gemm %x transposed, %y to %g";
  expectFault(
      textOf(256, 1, apart),
      "rank 0, task 'backward', micro-batch 0, instruction 0, gemm: reads 'y' (buffer 4) on "
      "stream 1, which waits for no event after stream 0 has written it");
}

// @use is on a stream for which @write waits once, in @sync, which otherwise looks like the @mark
// of every period. Because of it the first period is in order, and leaves the streams as it found
// them. The next one is not in order. @again waits for the last.
TEST(SkipPeriods, TellsWhatStreamsWaitedForOnlyOnce) {
  std::string product = " sizes [4, 4, 4] strides [4, 4, 4]", order;
  for (uint32_t m = 1; m < 40; ++m)
    for (const char *task : {"write", "use", "mark", "end"})
      order += (m == 39 && task == std::string("write") ? "@again, " : "") + test::run(task, m);
  for (auto [use, what] : {std::pair("exec.gemm %u, %w to %q" + product, "read"),
                           std::pair(std::string("exec.zero %u"), "write")})
    expectFault(R"(
exec.program @step mesh ["dp"] sizes [2] micro_batches 40 streams 2 events 3 {
  %w = exec.buffer "w" parameter f32 64 bytes persistent
  exec.parameter "w" %w global [4, 4] stored [4, 4] local [4, 4] axes [[], []] init zeros
  %u = exec.buffer "u" temporary f32 64 bytes
  %q = exec.buffer "q" temporary f32 64 bytes
  exec.task @write per_micro_batch {
    exec.gemm %w, %w to %u)" +
                    product + R"(
  }
  exec.task @use per_micro_batch {
    exec.record 0
    exec.wait 0 stream 1
    )" + use + R"( stream 1
  }
  exec.task @mark per_micro_batch {
    exec.record 1 stream 1
    exec.record 2
  }
  exec.task @sync {
    exec.record 1 stream 1
    exec.wait 1
    exec.record 0
    exec.wait 0 stream 1
    exec.record 1 stream 1
    exec.record 2
  }
  exec.task @again {
    exec.record 1 stream 1
    exec.wait 1
  }
  exec.task @end per_micro_batch {
    exec.zero %q stream 1
  }
  exec.entry train order [@mark 0, @write 0, @use 0, @sync, @end 0, )" +
                    order.substr(0, order.size() - 2) + "]\n}\n",
                std::string("rank 0, task 'write', micro-batch 2, instruction 0, gemm: writes 'u' "
                            "(buffer 1) on stream 0, while stream 1 may still ") +
                    what);
}

// Returns two stages, one micro-batch after another, of which the last one belongs to task @end.
std::string stagesOf(uint32_t microBatches) {
  std::vector<std::string> second(microBatches, "both");
  second.back() = "end";
  return test::stagesOf(second);
}

TEST(SkipPeriods, SkipsWhatStagesSendEachOther) {
  VerifyReport some = verify(stagesOf(32)), many = verify(stagesOf(256)),
               all = verify(stagesOf(256), false);
  EXPECT_EQ(test::textOf(some.fault), "");
  EXPECT_EQ(test::textOf(many.fault), "");
  EXPECT_EQ(many.followed, some.followed);
  EXPECT_EQ(many.instructions, all.instructions);
}

// An instruction behind the repetition reads what was sent for it.
TEST(SkipPeriods, ReadsWhatWasSentBehindWhatItSkips) {
  std::string finish =
      "exec.collective all_reduce sum %dy to %dy axes [1] count 16 \"last dy\" activation";
  expectFault(test::changed(stagesOf(64), {{finish, ""}}),
              "rank 0, task 'backward', micro-batch 63, instruction 1, gemm: reads 'dy' (buffer 2) "
              "for a product, which is still a partial sum along tp");
}

// The expected repetition is compared with what is sent in the end.
TEST(Board, TellsWhetherTheCollectivesAreAsExpected) {
  Board board;
  Board::Key key{0, 1, 2};
  for (AxisSet axes : {AxisSet(1), AxisSet(2), AxisSet(3), AxisSet(2), AxisSet(3)})
    board.post(key, {axes, 0});
  board.expect(key, /*from=*/1, /*length=*/2, /*count=*/2);
  EXPECT_TRUE(board.isAsExpected());
  board.repeat({{key, 3}}, {{key, 5}}, /*times=*/2);
  EXPECT_EQ(board.counts(0).at(key), 9u);
  EXPECT_TRUE(board.counts(1).empty());
  board.expect(key, 3, 2, 4);
  EXPECT_TRUE(board.isAsExpected());
  board.expect(key, 3, 2, 5); // the last one of them is missing
  EXPECT_FALSE(board.isAsExpected());
  board.post(key, {2, 0});
  EXPECT_TRUE(board.isAsExpected());
  board.expect(key, 0, 2, 1); // 1 is not 3
  EXPECT_FALSE(board.isAsExpected());
}

} // namespace
} // namespace dtc
