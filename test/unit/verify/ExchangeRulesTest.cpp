// Rows of experts that ranks exchange: what is made of them is summed over the samples of all, and
// nothing else is.
#include "test/unit/verify/ExecText.h"

namespace dtc {
namespace {

// Two ranks have samples of their own, one expert each, and a table that both hold. Rows go to the
// experts, and their products back.
constexpr const char *kExperts = R"(
exec.program @step mesh ["ep"] sizes [2] {
  %w = exec.buffer "w" parameter f32 64 bytes persistent
  exec.parameter "w" %w global [8, 4] stored [8, 4] local [4, 4] axes [[0], []] init zeros
  %v = exec.buffer "v" parameter f32 64 bytes persistent
  exec.parameter "v" %v global [4, 4] stored [4, 4] local [4, 4] axes [[], []] init zeros
  %x = exec.buffer "x" input f32 64 bytes persistent
  exec.input "x" %x shape [1, 4, 4] axes [[], [0], []]
  %lr = exec.buffer "lr" input f32 4 bytes persistent
  exec.scalar base_lr %lr
  exec.kernel @grouped buffers [64, 64, 64]
  exec.kernel @sum buffers [64, 4]
  %rows = exec.buffer "rows" activation f32 64 bytes
  %y = exec.buffer "y" activation f32 64 bytes
  %back = exec.buffer "back" activation f32 64 bytes
  %z = exec.buffer "z" activation f32 64 bytes
  %dy = exec.buffer "dy" temporary f32 64 bytes
  %dw = exec.buffer "grad w" gradient f32 64 bytes
  exec.gradient "w" %dw global [8, 4] stored [8, 4] local [4, 4] axes [[0], []] init zeros
  %dv = exec.buffer "grad v" gradient f32 64 bytes
  exec.gradient "v" %dv global [4, 4] stored [4, 4] local [4, 4] axes [[], []] init zeros
  %loss = exec.buffer "loss" output f32 4 bytes persistent
  exec.output loss %loss
  exec.task @step {
    exec.collective all_to_all sum %x to %rows axes [0] count 8 "x" expert
    exec.launch @grouped(%rows, %w) to (%y) range 1
    exec.collective all_to_all sum %y to %back axes [0] count 8 "y" expert
    exec.launch @grouped(%back, %v) to (%z) range 1
    exec.launch @sum(%z) to (%loss) range 1 shares [1]
    exec.collective all_reduce sum %loss to %loss axes [0] count 1 "loss" control
    exec.collective all_to_all sum %back to %dy axes [0] count 8 "dy" expert
    exec.launch @grouped(%rows, %dy) to (%dw) range 1
    exec.launch @grouped(%back, %x) to (%dv) range 1 shares [1]
    exec.collective all_reduce sum %dv to %dv axes [0] count 16 "grad v" gradient
  }
  exec.task @update {
    exec.gemm %dw, %lr to %w sizes [16, 1, 1] strides [1, 1, 1] alpha -1.0 beta 1.0
    exec.gemm %dv, %lr to %v sizes [16, 1, 1] strides [1, 1, 1] alpha -1.0 beta 1.0
  }
  exec.entry train order [@step, @update]
  exec.entry gradients order [@step]
}
)";

const std::string kReturn =
    "exec.collective all_to_all sum %y to %back axes [0] count 8 \"y\" expert";
const std::string kGradient = "exec.launch @grouped(%rows, %dy) to (%dw) range 1";

const test::Broken kBroken[] = {
    // The rank's own samples meet its experts' rows.
    {"NotExchanged",
     kExperts,
     {{"exec.launch @grouped(%rows, %w) to (%y) range 1",
       "exec.launch @grouped(%rows, %x) to (%y) range 1"}},
     "rank 0, task 'step', micro-batch 0, instruction 1, launch of 'grouped': reads samples of the "
     "rank's own beside samples that ranks have exchanged along ep"},
    {"NotSentBack",
     kExperts,
     {{kReturn, "exec.copy %y to %back sizes [16] from [1] at <0> into [1] at <0>"}},
     "rank 0, task 'step', micro-batch 0, instruction 7, launch of 'grouped': reads samples of the "
     "rank's own beside samples that ranks have exchanged along ep"},
    {"GatheredInstead",
     kExperts,
     {{kReturn, "exec.collective all_reduce sum %y to %back axes [0] count 16 \"y\" expert"}},
     "rank 0, task 'step', micro-batch 0, instruction 2, all_reduce of tokens of experts over ep "
     "'y': is no "
     "exchange of rows of experts along ep, as its role says"},
    // An expert learns from its own rank's samples alone.
    {"OfOwnSamples",
     kExperts,
     {{kGradient, "exec.launch @grouped(%x, %back) to (%dw) range 1"}},
     "rank 0, task 'update', micro-batch 0, instruction 0, gemm: updates 'w' with 'grad w' "
     "(buffer "},
    // Experts are averaged over ranks that have others.
    {"SummedOverExperts",
     kExperts,
     {{kGradient, kGradient + "\nexec.collective all_reduce sum %dw to %dw axes [0] count 16 "
                              "\"grad w\" gradient"}},
     "rank 0, task 'update', micro-batch 0, instruction 0, gemm: updates 'w', which is sharded "
     "along ep, with 'grad w' (buffer "},
    // A parameter that all ranks hold learns from the rows of a rank's experts.
    {"OfExchangedRows",
     kExperts,
     {{"exec.launch @grouped(%back, %x) to (%dv) range 1 shares [1]",
       "exec.launch @grouped(%rows, %dy) to (%dv) range 1"},
      {"exec.collective all_reduce sum %dv to %dv axes [0] count 16 \"grad v\" gradient", ""}},
     "rank 0, task 'update', micro-batch 0, instruction 1, gemm: updates 'v' with 'grad v' "
     "(buffer "},
};

// Replaces the kernels of experts by products of groups of rows, as the compiler lowers them.
std::string faultWithGroups(const std::string &gradient) {
  std::vector<test::Change> changes = {
      {"  %rows = exec.buffer",
       "  %n = exec.buffer \"n\" temporary i32 4 bytes\n  %rows = exec.buffer"},
      {"exec.launch @grouped(%rows, %w) to (%y) range 1",
       "exec.zero %n\nexec.grouped_gemm %rows, %w by %n to %y groups 1 samples 1 rows 4 k 4 n 4"},
      {kGradient, gradient + " groups 1 samples 1 rows 4 k 4 n 4 sums_rows"}};
  test::Packed packed = test::manifestOf(test::changed(kExperts, changes));
  EXPECT_EQ(format::verifyManifest(*packed, "m.dte").message(), "");
  return test::textOf(verifyPrograms(*packed).fault);
}

TEST(ExchangeOfGroups, NeedsNoSumAlongTheAxisOfExperts) {
  EXPECT_EQ(faultWithGroups("exec.grouped_gemm %rows, %dy by %n to %dw"), "");
}

TEST(ExchangeOfGroups, IsOfExchangedRows) {
  std::string fault = faultWithGroups("exec.grouped_gemm %x, %back by %n to %dw");
  EXPECT_NE(fault.find("updates 'w' with 'grad w'"), std::string::npos) << fault;
}

class ExchangeRule : public testing::TestWithParam<test::Broken> {};

TEST_P(ExchangeRule, IsNamedWithItsLocationWhereItIsBroken) { test::expectFault(GetParam()); }

INSTANTIATE_TEST_SUITE_P(OfExperts, ExchangeRule, testing::ValuesIn(kBroken),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace dtc
