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

TEST(PartsOfSequences, AreExchangedForHeads) {
  test::Packed packed = test::manifestOf(kContext);
  EXPECT_EQ(format::verifyManifest(*packed, "m.dte").message(), "");
  EXPECT_EQ(test::textOf(verifyPrograms(*packed).fault), "");
}

class ContextRule : public testing::TestWithParam<test::Broken> {};

TEST_P(ContextRule, IsNamedWithItsLocationWhereItIsBroken) { test::expectFault(GetParam()); }

INSTANTIATE_TEST_SUITE_P(OfSequences, ContextRule, testing::ValuesIn(kBroken),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace dtc
