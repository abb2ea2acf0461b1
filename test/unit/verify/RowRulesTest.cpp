// Rules of rows of experts: each is broken alone in a step of two layers on one device, with one
// routing each.
#include "test/unit/verify/ExecText.h"

namespace dtc {
namespace {

// Four tokens of four columns go to one of two experts each, in both layers.
constexpr const char *kTwoLayers = R"(
exec.program @step mesh ["dp"] sizes [1] {
  %g0 = exec.buffer "g0" parameter f32 32 bytes persistent
  exec.parameter "g0" %g0 global [4, 2] stored [4, 2] local [4, 2] axes [[], []] init zeros
  %g1 = exec.buffer "g1" parameter f32 32 bytes persistent
  exec.parameter "g1" %g1 global [4, 2] stored [4, 2] local [4, 2] axes [[], []] init zeros
  %w0 = exec.buffer "w0" parameter f32 128 bytes persistent
  exec.parameter "w0" %w0 global [2, 16] stored [2, 16] local [2, 16] axes [[], []] init zeros
  %w1 = exec.buffer "w1" parameter f32 128 bytes persistent
  exec.parameter "w1" %w1 global [2, 16] stored [2, 16] local [2, 16] axes [[], []] init zeros
  %x = exec.buffer "x" input f32 64 bytes persistent
  exec.input "x" %x shape [1, 4, 4] axes [[], [], []]
  %lr = exec.buffer "lr" input f32 4 bytes persistent
  exec.scalar base_lr %lr
  %loss = exec.buffer "loss" output f32 4 bytes persistent
  exec.output loss %loss
  exec.kernel @choose buffers [32, 16, 16]
  exec.kernel @index buffers [16, 16, 8]
  exec.kernel @pack buffers [64, 16, 64]
  exec.kernel @unpack buffers [64, 16, 16, 64]
  exec.kernel @pointwise buffers [64, 64]
  exec.kernel @next buffers [16, 16]
  exec.kernel @scores buffers [32, 16, 64, 32]
  exec.kernel @router buffers [32, 64, 32]
  exec.kernel @sum buffers [64, 4]
  %l0 = exec.buffer "l0" activation f32 32 bytes
  %e0 = exec.buffer "e0" activation i32 16 bytes
  %s0 = exec.buffer "s0" activation f32 16 bytes
  %p0 = exec.buffer "p0" activation i32 16 bytes
  %n0 = exec.buffer "n0" activation i32 8 bytes
  %rows0 = exec.buffer "rows0" activation f32 64 bytes
  %y0 = exec.buffer "y0" activation f32 64 bytes
  %z0 = exec.buffer "z0" activation f32 64 bytes
  %l1 = exec.buffer "l1" activation f32 32 bytes
  %e1 = exec.buffer "e1" activation i32 16 bytes
  %s1 = exec.buffer "s1" activation f32 16 bytes
  %p1 = exec.buffer "p1" activation i32 16 bytes
  %n1 = exec.buffer "n1" activation i32 8 bytes
  %rows1 = exec.buffer "rows1" activation f32 64 bytes
  %y1 = exec.buffer "y1" activation f32 64 bytes
  %z1 = exec.buffer "z1" activation f32 64 bytes
  %dy1 = exec.buffer "dy1" temporary f32 64 bytes
  %dr1 = exec.buffer "dr1" temporary f32 64 bytes
  %dz0 = exec.buffer "dz0" temporary f32 64 bytes
  %dy0 = exec.buffer "dy0" temporary f32 64 bytes
  %dl1 = exec.buffer "dl1" temporary f32 32 bytes
  %dl0 = exec.buffer "dl0" temporary f32 32 bytes
  %t = exec.buffer "t" temporary f32 64 bytes
  %q = exec.buffer "q" temporary i32 16 bytes
  %dg0 = exec.buffer "grad g0" gradient f32 32 bytes
  exec.gradient "g0" %dg0 global [4, 2] stored [4, 2] local [4, 2] axes [[], []] init zeros
  %dg1 = exec.buffer "grad g1" gradient f32 32 bytes
  exec.gradient "g1" %dg1 global [4, 2] stored [4, 2] local [4, 2] axes [[], []] init zeros
  %dw0 = exec.buffer "grad w0" gradient f32 128 bytes
  exec.gradient "w0" %dw0 global [2, 16] stored [2, 16] local [2, 16] axes [[], []] init zeros
  %dw1 = exec.buffer "grad w1" gradient f32 128 bytes
  exec.gradient "w1" %dw1 global [2, 16] stored [2, 16] local [2, 16] axes [[], []] init zeros
  exec.task @step {
    exec.gemm %x, %g0 to %l0 sizes [4, 2, 4] strides [4, 2, 2]
    exec.launch @choose(%l0) to (%e0, %s0) range 1
    exec.launch @index(%e0) to (%p0, %n0) range 1
    exec.launch @pack(%x, %p0) to (%rows0) range 1
    exec.grouped_gemm %rows0, %w0 by %n0 to %y0 groups 2 samples 1 rows 4 k 4 n 4
    exec.launch @unpack(%y0, %p0, %s0) to (%z0) range 1
    exec.gemm %z0, %g1 to %l1 sizes [4, 2, 4] strides [4, 2, 2]
    exec.launch @choose(%l1) to (%e1, %s1) range 1
    exec.launch @index(%e1) to (%p1, %n1) range 1
    exec.launch @pack(%z0, %p1) to (%rows1) range 1
    exec.grouped_gemm %rows1, %w1 by %n1 to %y1 groups 2 samples 1 rows 4 k 4 n 4
    exec.launch @unpack(%y1, %p1, %s1) to (%z1) range 1
    exec.launch @sum(%z1) to (%loss) range 1
    exec.launch @pack(%z1, %p1) to (%dy1) range 1
    exec.grouped_gemm %rows1, %dy1 by %n1 to %dw1 groups 2 samples 1 rows 4 k 4 n 4 sums_rows
    exec.grouped_gemm %dy1, %w1 by %n1 to %dr1 groups 2 samples 1 rows 4 k 4 n 4
    exec.launch @unpack(%dr1, %p1, %s1) to (%dz0) range 1
    exec.launch @scores(%l1, %e1, %dz0) to (%dl1) range 1
    exec.launch @router(%dl1, %z0) to (%dg1) range 1
    exec.launch @pack(%dz0, %p0) to (%dy0) range 1
    exec.grouped_gemm %rows0, %dy0 by %n0 to %dw0 groups 2 samples 1 rows 4 k 4 n 4 sums_rows
    exec.launch @scores(%l0, %e0, %dz0) to (%dl0) range 1
    exec.launch @router(%dl0, %x) to (%dg0) range 1
  }
  exec.task @update {
    exec.gemm %dg0, %lr to %g0 sizes [8, 1, 1] strides [1, 1, 1] alpha -1.0 beta 1.0
    exec.gemm %dg1, %lr to %g1 sizes [8, 1, 1] strides [1, 1, 1] alpha -1.0 beta 1.0
    exec.gemm %dw0, %lr to %w0 sizes [32, 1, 1] strides [1, 1, 1] alpha -1.0 beta 1.0
    exec.gemm %dw1, %lr to %w1 sizes [32, 1, 1] strides [1, 1, 1] alpha -1.0 beta 1.0
  }
  exec.entry train order [@step, @update]
  exec.entry gradients order [@step]
}
)";

// Returns the begin of every message of the step.
std::string at(const std::string &rest) {
  return "rank 0, task 'step', micro-batch 0, instruction " + rest;
}

const std::string kUnpack = "exec.launch @unpack(%y1, %p1, %s1) to (%z1) range 1";
const std::string kProduct =
    "exec.grouped_gemm %rows1, %w1 by %n1 to %y1 groups 2 samples 1 rows 4 k 4 n 4";
const std::string kSum = "exec.grouped_gemm %rows1, %dy1 by %n1 to %dw1 groups 2 samples 1 rows 4 "
                         "k 4 n 4 sums_rows";
const std::string kPacked = "exec.launch @pack(%z1, %p1) to (%dy1) range 1";

// Makes the indices and numbers of the first layer by a kernel of two scalars, and puts rows back
// by indices that it makes with two others.
std::vector<test::Change> indicesOfScalars(const std::string &first, const std::string &second,
                                           const std::string &third, const std::string &fourth) {
  auto scalars = [](const std::string &a, const std::string &b) {
    return " range 1 scalars [#exec.rank_scalar<" + a + ">, #exec.rank_scalar<" + b + ">]";
  };
  return {{"  exec.kernel @pack",
           "  exec.kernel @shift buffers [16, 16, 8] scalars 2\n  exec.kernel @pack"},
          {"exec.launch @index(%e0) to (%p0, %n0) range 1",
           "exec.launch @shift(%e0) to (%p0, %n0)" + scalars(first, second)},
          {"exec.launch @unpack(%y0, %p0, %s0) to (%z0) range 1",
           "exec.launch @shift(%e0) to (%q, %n1)" + scalars(third, fourth) +
               "\nexec.launch @unpack(%y0, %q, %s0) to (%z0) range 1"}};
}

const test::Broken kBroken[] = {
    // The combination of the second layer has the permutation of the first one.
    {"IndicesOfAnotherRouting",
     kTwoLayers,
     {{kUnpack, "exec.launch @unpack(%y1, %p0, %s1) to (%z1) range 1"}},
     at("11, launch of 'unpack': moves 'y1' (buffer ")},
    // A product takes rows of the first expert for those of the second one.
    {"NumbersOfAnotherRouting",
     kTwoLayers,
     {{kProduct, "exec.grouped_gemm %rows1, %w1 by %n0 to %y1 groups 2 samples 1 rows 4 k 4 n 4"}},
     at("10, grouped_gemm: multiplies 'rows1' (buffer ")},
    {"RowsOfAnotherRouting",
     kTwoLayers,
     {{kSum, "exec.grouped_gemm %rows0, %dy1 by %n1 to %dw1 groups 2 samples 1 rows 4 k 4 n 4 "
             "sums_rows"}},
     at("14, grouped_gemm: multiplies 'rows0' (buffer ")},
    // Rows of one routing that were moved by other indices of it before.
    {"RowsInTwoOrders",
     kTwoLayers,
     {{kPacked, "exec.launch @next(%p1) to (%q) range 1\n"
                "exec.launch @pack(%z1, %q) to (%t) range 1\n"
                "exec.launch @pack(%t, %p1) to (%dy1) range 1"}},
     at("16, grouped_gemm: sums products of rows of 'rows1' (buffer ")},
    // The rows of a round come back by the indices of the next one.
    {"IndicesOfAnotherRound",
     kTwoLayers,
     {{"exec.launch @unpack(%y0, %p0, %s0) to (%z0) range 1",
       "exec.launch @next(%p0) to (%q) range 1\n"
       "exec.launch @unpack(%y0, %q, %s0) to (%z0) range 1"}},
     at("7, gemm: reads 'z0' (buffer ")},
    {"RowsForTokens",
     kTwoLayers,
     {{"exec.launch @unpack(%y0, %p0, %s0) to (%z0) range 1",
       "exec.launch @pointwise(%y0) to (%z0) range 1"}},
     at("6, gemm: reads 'z0' (buffer ")},
    {"FewerRows",
     kTwoLayers,
     {{kSum, "exec.grouped_gemm %rows1, %dy1 by %n1 to %dw1 groups 2 samples 1 rows 3 k 4 n 4 "
             "sums_rows"}},
     at("14, grouped_gemm: takes 48 bytes of the rows of 'rows1' (buffer ")},
    {"RowsTwice",
     kTwoLayers,
     {{kSum, kSum + "\n" + kSum + " accumulate"}},
     at("15, grouped_gemm: adds rows of 'rows1' (buffer ")},
    {"ScoresOfAnotherRouting",
     kTwoLayers,
     {{"exec.launch @scores(%l1, %e1, %dz0) to (%dl1) range 1",
       "exec.launch @scores(%l0, %e1, %dz0) to (%dl1) range 1"}},
     at("17, launch of 'scores': reads 'l0' (buffer ")},
    // Indices of one kernel with the scalars 0 and 31, and 1 and 0.
    {"IndicesOfOtherScalars", kTwoLayers, indicesOfScalars("0", "31", "1", "0"),
     at("7, gemm: reads 'z0' (buffer ")},
    {"IntegersForRows",
     kTwoLayers,
     {{"  %t = exec.buffer", "  %f = exec.view %p1 \"f\" f32 16 bytes at 0\n  %t = exec.buffer"},
      {kProduct, kProduct + "\nexec.grouped_gemm %f, %w1 by %n1 to %y1 groups 2 samples 1 rows 4 k "
                            "1 n 4"}},
     at("11, grouped_gemm: multiplies 'f' (buffer ")},
};

class RowRule : public testing::TestWithParam<test::Broken> {};

TEST_P(RowRule, IsNamedWithItsLocationWhereItIsBroken) { test::expectFault(GetParam()); }

INSTANTIATE_TEST_SUITE_P(OfExperts, RowRule, testing::ValuesIn(kBroken),
                         [](const auto &info) { return std::string(info.param.name); });

// Recomputation chooses again, in another task: the gradient of the second layer reads rows that
// were kept by numbers of a choice that is not followed.
constexpr const char *kSecondTask = R"(
    exec.launch @choose(%l1) to (%e2, %s2) range 1
    exec.launch @index(%e2) to (%p2, %n2) range 1
    exec.launch @pack(%z1, %p2) to (%dy1) range 1
    exec.grouped_gemm %rows1, %dy1 by %n2 to %dw1 groups 2 samples 1 rows 4 k 4 n 4 sums_rows
    exec.grouped_gemm %dy1, %w1 by %n2 to %dr1 groups 2 samples 1 rows 4 k 4 n 4
    exec.launch @unpack(%dr1, %p2, %s2) to (%dz0) range 1
  }
  exec.task @rest {)";

std::string recomputed(const std::string &second) {
  std::string text = test::changed(
      kTwoLayers, {{"  %t = exec.buffer",
                    "  %e2 = exec.buffer \"e2\" activation i32 16 bytes\n"
                    "  %s2 = exec.buffer \"s2\" activation f32 16 bytes\n"
                    "  %p2 = exec.buffer \"p2\" activation i32 16 bytes\n"
                    "  %n2 = exec.buffer \"n2\" activation i32 8 bytes\n  %t = exec.buffer"},
                   {"[@step, @update]", "[@step, @again, @rest, @update]"},
                   {"order [@step]", "order [@step, @again, @rest]"}});
  size_t begin = text.find("    " + kPacked);
  size_t end = text.find("    exec.launch @scores(%l1");
  return text.substr(0, begin) + "  }\n  exec.task @again {" + second + text.substr(end - 1);
}

TEST(RowOrder, IsNotFollowedWhereAnotherTaskChoosesAgain) {
  test::Packed packed = test::manifestOf(recomputed(kSecondTask));
  EXPECT_EQ(format::verifyManifest(*packed, "m.dte").message(), "");
  EXPECT_EQ(test::textOf(verifyPrograms(*packed).fault), "");
}

std::string faultOf(const std::vector<test::Change> &changes, const test::Edit &edit = {}) {
  test::Packed packed = test::manifestOf(test::changed(kTwoLayers, changes), edit);
  EXPECT_EQ(format::verifyManifest(*packed, "m.dte").message(), "");
  return test::textOf(verifyPrograms(*packed).fault);
}

TEST(RowOrder, IsTheSameWhereAKernelHasTheSameScalars) {
  EXPECT_EQ(faultOf(indicesOfScalars("0", "31", "0", "31")), "");
  EXPECT_EQ(faultOf(indicesOfScalars("281474976710656", "1", "281474976710656", "1")), "");
}

// Kernels that choose, and that read what was chosen, have an operand of no bytes.
TEST(RowOrder, IsFollowedBesideBuffersOfNoBytes) {
  auto changes = [](const std::string &scores) {
    return std::vector<test::Change>{
        {"exec.kernel @choose buffers [32, 16, 16]", "exec.kernel @choose buffers [4, 32, 16, 16]"},
        {"exec.kernel @scores buffers [32, 16, 64, 32]",
         "exec.kernel @scores buffers [4, 32, 16, 64, 32]"},
        {"exec.kernel @unpack buffers [64, 16, 16, 64]",
         "exec.kernel @unpack buffers [64, 16, 16, 4, 64]"},
        {"  %t = exec.buffer", "  %no = exec.buffer \"no\" temporary f32 4 bytes\n"
                               "  %t = exec.buffer"},
        {"@choose(", "@choose(%no, "},
        {", %s0) to", ", %s0, %no) to"},
        {", %s1) to", ", %s1, %no) to"},
        {"@scores(%l0, ", "@scores(%no, %l0, "},
        {"@scores(%l1, ", "@scores(%no, " + scores + ", "}};
  };
  test::Edit noBytes = [](format::ManifestT &manifest) {
    test::bufferOf(manifest, "no").bytes = 0;
    for (auto &kernel : manifest.kernels)
      for (uint64_t &bytes : kernel->min_bytes)
        bytes = bytes == 4 && kernel->min_bytes.size() > 2 ? 0 : bytes;
  };
  EXPECT_EQ(faultOf(changes("%l1"), noBytes), "");
  std::string wanted = at("17, launch of 'scores': reads 'l0' (buffer ");
  EXPECT_EQ(faultOf(changes("%l0"), noBytes).substr(0, wanted.size()), wanted);
}

// Indices that are made a second time are the same, so that recomputed rows fit those that were
// kept.
TEST(RowOrder, IsTheSameWhereIndicesAreRecomputed) {
  std::vector<test::Change> changes = {
      {kPacked, "exec.launch @index(%e1) to (%q, %n0) range 1\n"
                "exec.launch @pack(%z1, %q) to (%dy1) range 1"},
      {"exec.grouped_gemm %rows0, %dy0 by %n0",
       "exec.launch @index(%e0) to (%p0, %n0) range 1\nexec.grouped_gemm %rows0, %dy0 by %n0"}};
  test::Packed packed = test::manifestOf(test::changed(kTwoLayers, changes));
  EXPECT_EQ(format::verifyManifest(*packed, "m.dte").message(), "");
  EXPECT_EQ(test::textOf(verifyPrograms(*packed).fault), "");
}

} // namespace
} // namespace dtc
