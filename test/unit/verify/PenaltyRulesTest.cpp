// A gradient that does not depend on samples, such as that of a penalty, need not be summed over
// ranks with samples of their own. Everything else still must be.
#include "test/unit/verify/ExecText.h"

namespace dtc {
namespace {

// Two ranks have samples of their own and one half of w each, which they gather before use. The
// gradient is x' y, summed over both. Each half has the same half of 'pen', a product of w alone,
// added to it.
constexpr const char *kPenalty = R"(
exec.program @step mesh ["dp"] sizes [2] {
  %w = exec.buffer "w" parameter f32 32 bytes persistent
  exec.parameter "w" %w global [4, 4] stored [4, 4] local [2, 4] axes [[0], []] init zeros
  %x = exec.buffer "x" input f32 64 bytes persistent
  exec.input "x" %x shape [1, 4, 4] axes [[], [0], []]
  %lr = exec.buffer "lr" input f32 4 bytes persistent
  exec.scalar base_lr %lr
  exec.kernel @shorten buffers [64, 32]
  %use = exec.buffer "w in use" temporary f32 64 bytes
  %y = exec.buffer "y" activation f32 64 bytes
  %all = exec.buffer "grad w whole" gradient f32 64 bytes
  %half = exec.buffer "half" temporary f32 32 bytes
  %twice = exec.buffer "twice" temporary f32 64 bytes
  %pen = exec.buffer "pen" temporary f32 64 bytes
  %g = exec.buffer "grad w" gradient f32 32 bytes
  exec.gradient "w" %g global [4, 4] stored [4, 4] local [2, 4] axes [[0], []] init zeros
  %loss = exec.buffer "loss" output f32 4 bytes persistent
  exec.output loss %loss
  exec.task @step {
    exec.collective all_gather sum %w to %use axes [0] count 8 "w" parameter
    exec.gemm %x, %use to %y sizes [4, 4, 4] strides [4, 4, 4]
    exec.gemm %y, %y to %loss sizes [1, 1, 16] strides [16, 1, 1]
    exec.collective all_reduce sum %loss to %loss axes [0] count 1 "loss" control
    exec.gemm %x transposed, %y to %all sizes [4, 4, 4] strides [4, 4, 4]
    exec.collective reduce_scatter sum %all to %g axes [0] count 8 "grad w" gradient
    exec.gemm %use, %use to %pen sizes [4, 4, 4] strides [4, 4, 4]
    exec.copy %pen to %g sizes [8] from [1] at <0 + 8 * axis 0> into [1] at <0> accumulate
  }
  exec.task @update {
    exec.gemm %g, %lr to %w sizes [8, 1, 1] strides [1, 1, 1] alpha -1.0 beta 1.0
  }
  exec.entry train order [@step, @update]
  exec.entry gradients order [@step]
}
)";

const std::string kProduct = "exec.gemm %use, %use to %pen sizes [4, 4, 4] strides [4, 4, 4]";
const std::string kAdd =
    "exec.copy %pen to %g sizes [8] from [1] at <0 + 8 * axis 0> into [1] at <0> accumulate";
const std::string kNotSummed =
    "rank 0, task 'update', micro-batch 0, instruction 0, gemm: updates 'w' with 'grad w' (buffer "
    "9), which was not summed along dp, where ranks have samples of their own";

const test::Broken kPenalties[] = {
    {"MadeOfSamples",
     kPenalty,
     {{kProduct, "exec.gemm %x, %use to %pen sizes [4, 4, 4] strides [4, 4, 4]"}},
     kNotSummed},
    {"MadeOfSamplesBeforeOtherThings",
     kPenalty,
     {{kProduct, "exec.gemm %x, %use to %twice sizes [4, 4, 4] strides [4, 4, 4]\n"
                 "exec.copy %twice to %pen sizes [16] from [1] at <0> into [1] at <0>"}},
     kNotSummed},
    // All ranks have the same value, and none has the sum.
    {"GatheredSamples",
     kPenalty,
     {{kProduct, "exec.copy %y to %half sizes [8] from [1] at <0> into [1] at <0>\n"
                 "exec.collective all_gather sum %half to %twice axes [0] count 8 \"y\" gradient"},
      {kAdd, "exec.launch @shorten(%twice) to (%half) range 1\n"
             "exec.copy %half to %g sizes [8] from [1] at <0> into [1] at <0> accumulate"}},
     kNotSummed},
    {"SummedThoughTheSame",
     kPenalty,
     {{kProduct,
       kProduct +
           "\nexec.collective all_reduce sum %pen to %pen axes [0] count 16 \"pen\" gradient"}},
     "rank 0, task 'step', micro-batch 0, instruction 7, all_reduce of gradients over dp 'pen': "
     "combines 'pen' (buffer 8) over dp, but it is already replicated there"},
    {"HalvesSummed",
     kPenalty,
     {{kAdd, "exec.copy %pen to %half sizes [8] from [1] at <0 + 8 * axis 0> into [1] at <0>\n"
             "exec.collective all_reduce sum %half to %half axes [0] count 8 \"pen\" gradient\n"
             "exec.copy %half to %g sizes [8] from [1] at <0> into [1] at <0> accumulate"}},
     "rank 0, task 'step', micro-batch 0, instruction 8, all_reduce of gradients over dp 'pen': "
     "reduces 'half' (buffer 6) along dp a second time"},
    {"OtherPartNotSummed",
     kPenalty,
     {{"exec.collective reduce_scatter sum %all to %g axes [0] count 8 \"grad w\" gradient",
       "exec.copy %all to %g sizes [8] from [1] at <0 + 8 * axis 0> into [1] at <0>"}},
     kNotSummed},
};

class PenaltyRule : public testing::TestWithParam<test::Broken> {};

TEST_P(PenaltyRule, IsNamedWithItsLocationWhereItIsBroken) { test::expectFault(GetParam()); }

INSTANTIATE_TEST_SUITE_P(OfData, PenaltyRule, testing::ValuesIn(kPenalties),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace dtc
