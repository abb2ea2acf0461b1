// Parts of sequences that ranks exchange for heads, or gather: what is made of them is summed over
// the tokens of all ranks.
#include "test/unit/verify/ExecText.h"

namespace dtc {
namespace {

// Two ranks have parts of each sequence, and one weight each of tokens and of what attention makes.
constexpr const char *kContext = R"(
exec.program @step mesh ["cp"] sizes [2] {
  %w = exec.buffer "w" parameter f32 64 bytes persistent
  exec.parameter "w" %w global [4, 4] stored [4, 4] local [4, 4] axes [[], []] init zeros
  %x = exec.buffer "x" input f32 64 bytes persistent
  exec.input "x" %x shape [1, 2, 2, 4] axes [[], [], [0], []]
  %lr = exec.buffer "lr" input f32 4 bytes persistent
  exec.scalar base_lr %lr
  exec.kernel @attend buffers [64, 64]
  exec.kernel @multiply buffers [64, 64, 64]
  exec.kernel @sum buffers [64, 4]
  %heads = exec.buffer "heads" activation f32 64 bytes
  %y = exec.buffer "y" activation f32 64 bytes
  %back = exec.buffer "back" activation f32 64 bytes
  %z = exec.buffer "z" activation f32 64 bytes
  %dw = exec.buffer "grad w" gradient f32 64 bytes
  exec.gradient "w" %dw global [4, 4] stored [4, 4] local [4, 4] axes [[], []] init zeros
  %loss = exec.buffer "loss" output f32 4 bytes persistent
  exec.output loss %loss
  exec.task @step {
    exec.collective all_to_all sum %x to %heads axes [0] count 8 "x" activation
    exec.launch @attend(%heads) to (%y) range 1
    exec.collective all_to_all sum %y to %back axes [0] count 8 "y" activation
    exec.launch @multiply(%back, %w) to (%z) range 1
    exec.launch @sum(%z) to (%loss) range 1 shares [1]
    exec.collective all_reduce sum %loss to %loss axes [0] count 1 "loss" control
    exec.launch @multiply(%back, %x) to (%dw) range 1 shares [1]
    exec.collective all_reduce sum %dw to %dw axes [0] count 16 "grad w" gradient
  }
  exec.task @update {
    exec.gemm %dw, %lr to %w sizes [16, 1, 1] strides [1, 1, 1] alpha -1.0 beta 1.0
  }
  exec.entry train order [@step, @update]
  exec.entry gradients order [@step]
}
)";

// Two replicas of two ranks, which pass keys round a ring: each query meets those of both ranks,
// and their gradients go home. The weight learns from the keys.
constexpr const char *kRing = R"(
exec.program @step mesh ["dp", "cp"] sizes [2, 2] streams 3 events 6 {
  %w = exec.buffer "w" parameter f32 64 bytes persistent
  exec.parameter "w" %w global [4, 4] stored [4, 4] local [4, 4] axes [[], []] init zeros
  %x = exec.buffer "x" input f32 64 bytes persistent
  exec.input "x" %x shape [1, 1, 4, 4] axes [[], [0], [1], []]
  %lr = exec.buffer "lr" input f32 4 bytes persistent
  exec.scalar base_lr %lr
  exec.kernel @multiply buffers [64, 64, 64]
  exec.kernel @merge buffers [64, 64, 16, 16, 64, 16]
  exec.kernel @add buffers [64, 64, 64]
  exec.kernel @sum buffers [64, 4]
  %q = exec.buffer "q" activation f32 64 bytes
  %k = exec.buffer "k" activation f32 64 bytes
  %next = exec.buffer "next" activation f32 64 bytes
  %o0 = exec.buffer "o0" activation f32 64 bytes
  %l0 = exec.buffer "l0" activation f32 16 bytes
  %o1 = exec.buffer "o1" activation f32 64 bytes
  %l1 = exec.buffer "l1" activation f32 16 bytes
  %o = exec.buffer "o" activation f32 64 bytes
  %l = exec.buffer "l" activation f32 16 bytes
  %z = exec.buffer "z" activation f32 64 bytes
  %s = exec.buffer "s" activation f32 16 bytes
  %dq = exec.buffer "dq" activation f32 64 bytes
  %dk = exec.buffer "dk" activation f32 64 bytes
  %dv = exec.buffer "dv" activation f32 64 bytes
  %home = exec.buffer "home" activation f32 64 bytes
  %all = exec.buffer "all" activation f32 64 bytes
  %dw = exec.buffer "grad w" gradient f32 64 bytes
  exec.gradient "w" %dw global [4, 4] stored [4, 4] local [4, 4] axes [[], []] init zeros
  %loss = exec.buffer "loss" output f32 4 bytes persistent
  exec.output loss %loss
  exec.task @step {
    exec.launch @multiply(%x, %w) to (%q) range 1
    exec.launch @multiply(%x, %w) to (%k) range 1
    exec.record 0
    exec.wait 0 stream 1
    exec.send %k over <"cp ring", 2, [0, 1, 2, 3]> shift 1 "k" activation stream 1
    exec.record 1 stream 1
    exec.wait 0 stream 2
    exec.receive %next over <"cp ring", 2, [0, 1, 2, 3]> shift 1 "k" activation stream 2
    exec.record 2 stream 2
    exec.attention %q, %k, %k to %o0, %l0 batch 1 queries 4 keys 4 heads 1 kv_heads 1 head_dim 4 causal scale 1.0
    exec.wait 2
    exec.attention %q, %next, %next to %o1, %l1 batch 1 queries 4 keys 4 heads 1 kv_heads 1 head_dim 4 scale 1.0
    exec.launch @merge(%o0, %o1, %l0, %l1) to (%o, %l) range 1
    exec.gemm %o, %w to %z sizes [4, 4, 4] strides [4, 4, 4]
    exec.launch @sum(%z) to (%loss) range 1 shares [3]
    exec.collective all_reduce sum %loss to %loss axes [0, 1] count 1 "loss" control
    exec.attention_grad %q, %next, %next, %o, %l, %z to %dq, %dk, %dv scratch %s batch 1 queries 4 keys 4 heads 1 kv_heads 1 head_dim 4 scale 1.0
    exec.record 3
    exec.wait 3 stream 1
    exec.send %dk over <"cp ring", 2, [0, 1, 2, 3]> shift 1 "dk" activation stream 1
    exec.record 4 stream 1
    exec.wait 3 stream 2
    exec.receive %home over <"cp ring", 2, [0, 1, 2, 3]> shift 1 "dk" activation stream 2
    exec.record 5 stream 2
    exec.wait 5
    exec.attention_grad %q, %k, %k, %o, %l, %z to %dq, %dv, %all scratch %s batch 1 queries 4 keys 4 heads 1 kv_heads 1 head_dim 4 causal scale 1.0
    exec.launch @add(%dv, %home) to (%all) range 1
    exec.gemm %x transposed, %all to %dw sizes [4, 4, 4] strides [4, 4, 4]
    exec.collective all_reduce sum %dw to %dw axes [0, 1] count 16 "grad w" gradient
    exec.wait 1
    exec.wait 4
  }
  exec.task @update {
    exec.gemm %dw, %lr to %w sizes [16, 1, 1] strides [1, 1, 1] alpha -1.0 beta 1.0
  }
  exec.entry train order [@step, @update]
  exec.entry gradients order [@step]
}
)";

// Two ranks gather keys, of which each of their queries sees those of a window: attention knows the
// positions of the rank's queries.
constexpr const char *kPlaced = R"(
exec.program @step mesh ["cp"] sizes [2] {
  %w = exec.buffer "w" parameter f32 64 bytes persistent
  exec.parameter "w" %w global [4, 4] stored [4, 4] local [4, 4] axes [[], []] init zeros
  %x = exec.buffer "x" input f32 64 bytes persistent
  exec.input "x" %x shape [1, 1, 4, 4] axes [[], [], [0], []]
  %lr = exec.buffer "lr" input f32 4 bytes persistent
  exec.scalar base_lr %lr
  exec.kernel @starts buffers [8] scalars 1
  exec.kernel @multiply buffers [64, 64, 64]
  exec.kernel @sum buffers [64, 4]
  %starts = exec.buffer "starts" temporary i32 8 bytes
  %q = exec.buffer "q" activation f32 64 bytes
  %k = exec.buffer "k" activation f32 64 bytes
  %all = exec.buffer "all" activation f32 128 bytes
  %o = exec.buffer "o" activation f32 64 bytes
  %l = exec.buffer "l" activation f32 16 bytes
  %z = exec.buffer "z" activation f32 64 bytes
  %s = exec.buffer "s" activation f32 16 bytes
  %dq = exec.buffer "dq" activation f32 64 bytes
  %dk = exec.buffer "dk" activation f32 128 bytes
  %dv = exec.buffer "dv" activation f32 128 bytes
  %own = exec.buffer "own" activation f32 64 bytes
  %dw = exec.buffer "grad w" gradient f32 64 bytes
  exec.gradient "w" %dw global [4, 4] stored [4, 4] local [4, 4] axes [[], []] init zeros
  %loss = exec.buffer "loss" output f32 4 bytes persistent
  exec.output loss %loss
  exec.task @step {
    exec.launch @multiply(%x, %w) to (%q) range 1
    exec.launch @multiply(%x, %w) to (%k) range 1
    exec.collective all_gather sum %k to %all axes [0] count 16 "k" activation
    exec.launch @starts() to (%starts) range 1 scalars [#exec.rank_scalar<0 + 4 * axis 0>]
    exec.attention %q, %all, %all starts %starts to %o, %l batch 1 queries 4 keys 8 heads 1 kv_heads 1 head_dim 4 causal window 3 scale 1.0
    exec.gemm %o, %w to %z sizes [4, 4, 4] strides [4, 4, 4]
    exec.launch @sum(%z) to (%loss) range 1 shares [1]
    exec.collective all_reduce sum %loss to %loss axes [0] count 1 "loss" control
    exec.attention_grad %q, %all, %all, %o, %l, %z starts %starts to %dq, %dk, %dv scratch %s batch 1 queries 4 keys 8 heads 1 kv_heads 1 head_dim 4 causal window 3 scale 1.0
    exec.collective reduce_scatter sum %dk to %own axes [0] count 16 "dk" activation
    exec.gemm %x transposed, %own to %dw sizes [4, 4, 4] strides [4, 4, 4]
    exec.collective all_reduce sum %dw to %dw axes [0] count 16 "grad w" gradient
  }
  exec.task @update {
    exec.gemm %dw, %lr to %w sizes [16, 1, 1] strides [1, 1, 1] alpha -1.0 beta 1.0
  }
  exec.entry train order [@step, @update]
  exec.entry gradients order [@step]
}
)";

const std::string kReturn =
    "exec.collective all_to_all sum %y to %back axes [0] count 8 \"y\" activation";
const std::string kSum =
    "exec.collective all_reduce sum %dw to %dw axes [0] count 16 \"grad w\" gradient";

const test::Broken kBroken[] = {
    // Heads of the whole sequence meet the rank's own tokens.
    {"NotSentBack",
     kContext,
     {{kReturn, "exec.copy %y to %back sizes [16] from [1] at <0> into [1] at <0>"}},
     "rank 0, task 'step', micro-batch 0, instruction 6, launch of 'multiply': reads samples of "
     "the rank's own beside samples that ranks have exchanged along cp"},
    {"SentTwice",
     kContext,
     {{"exec.launch @attend(%heads) to (%y) range 1",
       "exec.collective all_to_all sum %heads to %y axes [0] count 8 \"x\" activation"}},
     "rank 0, task 'step', micro-batch 0, instruction 6, launch of 'multiply': reads samples of "
     "the rank's own beside samples that ranks have exchanged along cp"},
    // A rank learns from its own tokens alone.
    {"NotSummed",
     kContext,
     {{"exec.launch @multiply(%back, %x) to (%dw) range 1 shares [1]",
       "exec.launch @multiply(%back, %x) to (%dw) range 1"},
      {kSum, ""}},
     "rank 0, task 'update', micro-batch 0, instruction 0, gemm: updates 'w' with 'grad w' "
     "(buffer "},
    {"SummedTwice",
     kContext,
     {{kSum, kSum + "\n" + kSum}},
     "rank 0, task 'step', micro-batch 0, instruction 8, all_reduce of gradients over cp "
     "'grad w': combines 'grad w'"},
};

const std::string kSecond = "exec.attention %q, %next, %next to %o1, %l1";
const std::string kSendKeys =
    "exec.send %k over <\"cp ring\", 2, [0, 1, 2, 3]> shift 1 \"k\" activation stream 1";
const std::string kReceiveKeys =
    "exec.receive %next over <\"cp ring\", 2, [0, 1, 2, 3]> shift 1 \"k\" activation stream 2";
const std::string kSendGradients =
    "exec.send %dk over <\"cp ring\", 2, [0, 1, 2, 3]> shift 1 \"dk\" activation stream 1";
const std::string kReceiveGradients =
    "exec.receive %home over <\"cp ring\", 2, [0, 1, 2, 3]> shift 1 \"dk\" activation stream 2";

const test::Broken kBrokenRing[] = {
    // The neighbour has other samples.
    {"KeysOfAnotherReplica",
     kRing,
     {{kSendKeys,
       "exec.send %k over <\"other\", 2, [0, 2, 1, 3]> shift 1 \"k\" activation stream 1"},
      {kReceiveKeys,
       "exec.receive %next over <\"other\", 2, [0, 2, 1, 3]> shift 1 \"k\" activation stream 2"}},
     "rank 0, task 'step', micro-batch 0, instruction 4, send of activations over other 'k': "
     "passes "
     "'k' (buffer 4) on along dp, where ranks have no parts of the same sequences"},
    {"RingOutOfOrder",
     kRing,
     {{"[0, 1, 2, 3]", "[1, 0, 3, 2]"}},
     "rank 0, task 'step', micro-batch 0, instruction 4, send of activations over cp ring 'k': "
     "passes "
     "'k' (buffer 4) on over 'cp ring', whose ranks are not in the order of their tokens"},
    // The round of the other rank's keys is missing from the merged result.
    {"MissingRound",
     kRing,
     {{"exec.launch @merge(%o0, %o1, %l0, %l1)", "exec.launch @merge(%o0, %o0, %l0, %l0)"}},
     "rank 0, task 'step', micro-batch 0, instruction 13, gemm: reads 'o' (buffer 10), which has "
     "not met the tokens of all ranks along cp"},
    {"OwnKeysTwice",
     kRing,
     {{kSecond, "exec.attention %q, %k, %k to %o1, %l1"}},
     "rank 0, task 'step', micro-batch 0, instruction 13, gemm: reads 'o' (buffer 10), which has "
     "not met the tokens of all ranks along cp"},
    // A merge knows neither the maximum of the passed keys nor their sum of exponentials.
    {"MergeWithoutTheMaximum",
     kRing,
     {{"exec.launch @merge(%o0, %o1, %l0, %l1)", "exec.launch @merge(%o0, %o1, %l0, %l0)"}},
     "rank 0, task 'step', micro-batch 0, instruction 13, gemm: reads 'o' (buffer 10), which has "
     "results of attention that were merged without their sums of exponentials along cp"},
    {"KeysOfOneRankAndValuesOfAnother",
     kRing,
     {{kSecond, "exec.attention %q, %next, %k to %o1, %l1"}},
     "rank 0, task 'step', micro-batch 0, instruction 11, attention: reads keys and values of "
     "several ranks along cp as if they were of one"},
    {"QueriesPassedOn",
     kRing,
     {{kSecond, "exec.attention %next, %k, %k to %o1, %l1"}},
     "rank 0, task 'step', micro-batch 0, instruction 11, attention: has queries of another rank "
     "along cp"},
    // Gradients of the other rank's keys are taken for those of the own ones.
    {"GradientsNotSentHome",
     kRing,
     {{"exec.launch @add(%dv, %home)", "exec.launch @add(%dv, %dk)"}},
     "rank 0, task 'step', micro-batch 0, instruction 26, launch of 'add': reads tokens of several "
     "ranks along cp beside each other, some of which have passed on"},
    {"GradientsOverAnotherGroup",
     kRing,
     {{kSendGradients,
       "exec.send %dk over <\"other\", 2, [0, 2, 1, 3]> shift 1 \"dk\" activation stream 1"},
      {kReceiveGradients,
       "exec.receive %home over <\"other\", 2, [0, 2, 1, 3]> shift 1 \"dk\" activation stream 2"}},
     "rank 0, task 'step', micro-batch 0, instruction 19, send of activations over other 'dk': "
     "passes "
     "'dk' (buffer 15) on along dp, where ranks have no parts of the same sequences"},
    {"GradientsOfTheOwnKeysLeftOut",
     kRing,
     {{"exec.launch @add(%dv, %home)", "exec.launch @add(%home, %home)"}},
     "rank 0, task 'step', micro-batch 0, instruction 27, gemm: reads 'all' (buffer 18), which has "
     "not met the tokens of all ranks along cp"},
    {"SavedBeforeTheMerge",
     kRing,
     {{"exec.attention_grad %q, %next, %next, %o, %l",
       "exec.attention_grad %q, %next, %next, %o, %l0"}},
     "rank 0, task 'step', micro-batch 0, instruction 16, attention_grad: reads 'l0' (buffer 7), "
     "which has not met the tokens of all ranks along cp"},
    {"KeysAddedUp",
     kRing,
     {{"exec.launch @add(%dv, %home) to (%all)",
       "exec.collective all_reduce sum %next to %next axes [1] count 16 \"k\" activation\n"
       "exec.launch @add(%dv, %home) to (%all)"}},
     "rank 0, task 'step', micro-batch 0, instruction 26, all_reduce of activations over cp 'k': "
     "mixes activations along cp, where ranks have tokens of their own"},
};

const std::string kPlacedAttention =
    "exec.attention %q, %all, %all starts %starts to %o, %l batch 1 queries 4 keys 8";
const std::string kPositions = "scalars [#exec.rank_scalar<0 + 4 * axis 0>]";

const test::Broken kBrokenGathered[] = {
    // Each rank takes its queries for the first ones.
    {"PositionsOfTheFirstRank",
     kPlaced,
     {{kPositions, "scalars [#exec.rank_scalar<0>]"}},
     "rank 0, task 'step', micro-batch 0, instruction 4, attention: takes queries that differ "
     "along cp for ones at the same positions"},
    // The positions are those of gathered keys, and no keys pass by.
    {"KeysOfTheRankAlone",
     kPlaced,
     {{kPlacedAttention,
       "exec.attention %q, %k, %k starts %starts to %o, %l batch 1 queries 4 keys 4"}},
     "rank 0, task 'step', micro-batch 0, instruction 5, gemm: reads 'o' (buffer 7), which has not "
     "met the tokens of all ranks along cp"},
};

TEST(PartsOfSequences, MeetGatheredKeysByTheirPositions) {
  test::Packed packed = test::manifestOf(kPlaced);
  EXPECT_EQ(format::verifyManifest(*packed, "m.dte").message(), "");
  EXPECT_EQ(test::textOf(verifyPrograms(*packed).fault), "");
}

TEST(PartsOfSequences, PassRoundARing) {
  test::Packed packed = test::manifestOf(kRing);
  EXPECT_EQ(format::verifyManifest(*packed, "m.dte").message(), "");
  EXPECT_EQ(test::textOf(verifyPrograms(*packed).fault), "");
}

TEST(PartsOfSequences, AreExchangedForHeads) {
  test::Packed packed = test::manifestOf(kContext);
  EXPECT_EQ(format::verifyManifest(*packed, "m.dte").message(), "");
  EXPECT_EQ(test::textOf(verifyPrograms(*packed).fault), "");
}

class ContextRule : public testing::TestWithParam<test::Broken> {};

TEST_P(ContextRule, IsNamedWithItsLocationWhereItIsBroken) { test::expectFault(GetParam()); }

INSTANTIATE_TEST_SUITE_P(OfSequences, ContextRule, testing::ValuesIn(kBroken),
                         [](const auto &info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(OfPlaces, ContextRule, testing::ValuesIn(kBrokenGathered),
                         [](const auto &info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(OfRings, ContextRule, testing::ValuesIn(kBrokenRing),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace dtc
