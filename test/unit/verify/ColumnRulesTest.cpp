// Every column that is read of rows was written.
#include "test/unit/verify/ExecText.h"

namespace dtc {
namespace {

using test::Broken;
using test::bufferOf;

class ColumnRule : public testing::TestWithParam<Broken> {};

TEST_P(ColumnRule, IsNamedWithItsLocationWhereItIsBroken) { test::expectFault(GetParam()); }

std::string program(const std::string &buffers, const std::string &instructions) {
  return "exec.program @step mesh [\"dp\"] sizes [2] {\n" + buffers + "  exec.task @step {\n" +
         instructions + "  }\n  exec.entry train order [@step]\n}\n";
}

// Three parts of 8 bytes of four rows of 24.
const std::string kBuffers = R"(
  %a = exec.buffer "a" temporary f32 32 bytes
  %all = exec.buffer "all" temporary f32 96 bytes
  %left = exec.view %all "left" f32 80 bytes at 0
  %mid = exec.view %all "mid" f32 80 bytes at 8
  %right = exec.view %all "right" f32 80 bytes at 16
  %spare = exec.buffer "spare" temporary f32 96 bytes
  %to = exec.buffer "to" temporary f32 96 bytes
  %few = exec.buffer "few" temporary f32 64 bytes
)";

std::string rows(const std::string &part, const std::string &rest = "") {
  return "    exec.copy %a to %" + part + " sizes [4, 2] from [2, 1] at <0> into [6, 1] at <0>" +
         rest + "\n";
}

const std::string kWhole = "    exec.copy %all to %to sizes [24] from [1] at <0> into [1] at <0>\n";
const std::string kCopies =
    program(kBuffers, "    exec.zero %a\n" + rows("left") + rows("mid") + rows("right") + kWhole);

// Writes the first part twice and reads it.
const std::string kTwoParts =
    program(kBuffers,
            "    exec.zero %a\n" + rows("left") + rows("left") +
                "    exec.copy %all to %few sizes [4, 2] from [6, 1] at <0> into [2, 1] at <0>\n");

// Products of two elements in rows of six; what is read of these has four.
const std::string kProducts = program(kBuffers, R"(
    exec.zero %a
    exec.zero %few
    exec.gemm %a, %few to %left sizes [4, 2, 2] strides [2, 2, 6]
    exec.gemm %a, %few to %mid sizes [4, 2, 2] strides [2, 2, 6]
    exec.gemm %all transposed, %few to %to sizes [4, 2, 4] strides [6, 2, 2]
)");

// The gradients of one head of two elements, for four tokens, are columns of one tensor.
const std::string kAttention = program(kBuffers + R"(
  %out = exec.buffer "out" temporary f32 32 bytes
  %lse = exec.buffer "lse" temporary f32 16 bytes
  %scratch = exec.buffer "scratch" temporary f32 16 bytes
)",
                                       R"(
    exec.zero %a
    exec.zero %lse
    exec.attention_grad %a, %a, %a, %a, %lse, %a to %left, %mid, %right scratch %scratch
      batch 1 queries 4 keys 4 heads 1 kv_heads 1 head_dim 2 grad_rows 6, 6, 6 scale 1.0
    exec.attention %left, %mid, %right to %out, %lse batch 1 queries 4 keys 4 heads 1 kv_heads 1 head_dim 2
      rows 6, 6, 6 scale 1.0
)" + kWhole);

const std::string kReads = "rank 0, task 'step', micro-batch 0, instruction ";

const Broken kBroken[] = {
    {"OfEveryPart",
     kCopies.c_str(),
     {{rows("mid"), rows("left")}},
     kReads + "4, copy: reads bytes 72 to 80 of the arena, part of 'all' (buffer 1), which nothing "
              "has written in this step; it was written by task 'step', micro-batch 0, "
              "instruction 2, copy"},
    {"OfAPartThatIsWrittenElsewhere",
     kCopies.c_str(),
     {},
     kReads + "4, copy: reads bytes 72 to 80 of the arena, part of 'all' (buffer 1), which nothing "
              "has written in this step",
     [](format::ManifestT &m) { bufferOf(m, "mid").offset = bufferOf(m, "spare").offset; }},
    {"OfAPartThatIsWrittenOverAnother",
     kCopies.c_str(),
     {},
     kReads + "4, copy: reads bytes 72 to 80 of the arena, part of 'all' (buffer 1), which nothing "
              "has written in this step",
     [](format::ManifestT &m) { bufferOf(m, "mid").offset = bufferOf(m, "left").offset; }},
    {"OfTheLastRow",
     kCopies.c_str(),
     {{rows("right"), test::changed(rows("right"), {{"sizes [4, 2]", "sizes [3, 2]"}})}},
     kReads + "4, copy: reads bytes 152 to 160 of the arena, part of 'all' (buffer 1), which "
              "nothing has written in this step"},
    {"OfRows",
     kTwoParts.c_str(),
     {{"to %few sizes [4, 2]", "to %few sizes [4, 4]"},
      {"into [2, 1] at <0>\n  }", "into [4, 1] at <0>\n  }"}},
     kReads + "3, copy: reads bytes 8 to 16 of each 24 of 'all' (buffer 1), which nothing has "
              "written in this step"},
    {"OfRowsFromWhereTheBufferBegins",
     kTwoParts.c_str(),
     {{"from [6, 1] at <0>", "from [6, 1] at <1>"}},
     kReads + "3, copy: reads bytes 8 to 12 of each 24 of 'all' (buffer 1), which nothing has "
              "written in this step"},
    {"OfARowToAddTo",
     kCopies.c_str(),
     {{rows("mid"), rows("mid", " accumulate")}},
     kReads + "2, copy: reads bytes 72 to 80 of the arena, part of 'mid' (buffer 3), which nothing "
              "has written in this step"},
    {"OfAProduct",
     kProducts.c_str(),
     {{"to %mid", "to %left"}},
     kReads + "4, gemm: reads bytes 8 to 16 of each 24 of 'all' (buffer 1), which nothing has "
              "written in this step"},
    {"OfAnOperandOfAProduct",
     kProducts.c_str(),
     {{"to %to sizes [4, 2, 4]", "to %to sizes [6, 2, 4]"}},
     kReads + "4, gemm: reads bytes 16 to 24 of each 24 of 'all' (buffer 1), which nothing has "
              "written in this step"},
    {"OfAGradientOfAttention",
     kAttention.c_str(),
     {},
     kReads + "4, copy: reads bytes 72 to 80 of the arena, part of 'all' (buffer 1)",
     [](format::ManifestT &m) { bufferOf(m, "mid").offset = bufferOf(m, "to").offset; }},
};

INSTANTIATE_TEST_SUITE_P(Verify, ColumnRule, testing::ValuesIn(kBroken),
                         [](const auto &info) { return std::string(info.param.name); });

// Returns the fault of a file that the loader takes; empty if there is none.
std::string verdictOf(const std::string &text, const test::Edit &edit = {}, bool skips = true) {
  test::Packed packed = test::manifestOf(text, edit);
  EXPECT_EQ(format::verifyManifest(*packed, "m.dte").message(), "");
  return test::textOf(verifyPrograms(*packed, skips).fault);
}

TEST(ColumnRule, TakesAGradientThatCopiesFillInTurn) {
  std::string make = "    exec.zero %few\n"
                     "    exec.gemm %few, %few to %a sizes [4, 2, 2] strides [2, 2, 2]\n";
  std::string text = program(test::changed(kBuffers, {{"\"all\" temporary", "\"all\" gradient"}}),
                             make + rows("left") + rows("mid") + rows("right") + kWhole);
  EXPECT_EQ(verdictOf(text), "");
  EXPECT_EQ(verdictOf(test::changed(text, {{rows("right"), rows("mid")}})),
            kReads +
                "3, copy: writes bytes 72 to 144 of the arena, of a gradient or for other ranks, "
                "which nothing reads");
}

TEST(ColumnRule, TakesColumnsThatAreWrittenInTwoSpacings) {
  std::string wide = "    exec.copy %few to %all sizes [2, 3] from [3, 1] at <0> into [12, 1] at <";
  std::string narrow =
      "    exec.copy %few to %all sizes [4, 3] from [3, 1] at <0> into [6, 1] at <3>\n";
  std::string text =
      program(kBuffers, "    exec.zero %few\n" + narrow + wide + "0>\n" + wide + "6>\n" + kWhole);
  EXPECT_EQ(verdictOf(text), "");
  EXPECT_EQ(verdictOf(test::changed(text, {{wide + "6>\n", ""}})).substr(0, 130),
            kReads + "3, copy: reads bytes 88 to 100 of the arena, part of 'all' (buffer 1), which "
                     "nothi");
}

// A rank writes columns that depend on its mesh coordinate.
TEST(ColumnRule, TakesWhatOneRankOrAnotherHasWritten) {
  std::string text = program(
      kBuffers,
      "    exec.zero %a\n" +
          test::changed(rows("all"), {{"into [6, 1] at <0>", "into [6, 1] at <0 + 4 * axis 0>"}}) +
          kWhole);
  EXPECT_EQ(verdictOf(text), "");
}

TEST(ColumnRule, TakesRowsOfWhatWasWrittenAsAWhole) {
  std::string zeros = "    exec.zero %all\n";
  std::string text = program(kBuffers, "    exec.zero %a\n" + zeros + rows("mid") + kWhole);
  EXPECT_EQ(verdictOf(text), "");
  EXPECT_NE(verdictOf(test::changed(text, {{zeros, ""}})), "");
}

// Another storage had the same memory before.
TEST(ColumnRule, CountsColumnsOfOneStorageAlone) {
  std::string text = program(kBuffers, "    exec.zero %a\n    exec.zero %spare\n" + rows("left") +
                                           rows("mid") + rows("right") + kWhole);
  test::Edit over = [](format::ManifestT &m) {
    bufferOf(m, "spare").offset = bufferOf(m, "all").offset;
  };
  EXPECT_EQ(verdictOf(text, over), "");
  EXPECT_NE(verdictOf(test::changed(text, {{rows("mid"), rows("left")}}), over), "");
}

// Returns micro-batches that write three parts of a tensor in two tasks, in slots.
std::string microBatches(const std::string &order, uint32_t count, uint32_t slots) {
  return test::changed(R"(
exec.program @step mesh ["dp"] sizes [1] micro_batches COUNT {
  %a = exec.buffer "a" temporary f32 32 bytes
  %all = exec.buffer "all" temporary f32 96 bytes slots SLOTS
  %left = exec.view %all "left" f32 80 bytes at 0
  %mid = exec.view %all "mid" f32 80 bytes at 8
  %right = exec.view %all "right" f32 80 bytes at 16
  %to = exec.buffer "to" temporary f32 96 bytes
  exec.task @begin {
    exec.zero %a
  }
  exec.task @first per_micro_batch {
LEFTRIGHT  }
  exec.task @second per_micro_batch {
MID  }
  exec.task @read per_micro_batch {
WHOLE  }
  exec.entry train order [@begin, ORDER]
}
)",
                       {{"COUNT", std::to_string(count)},
                        {"SLOTS", std::to_string(slots)},
                        {"LEFT", rows("left")},
                        {"RIGHT", rows("right")},
                        {"MID", rows("mid")},
                        {"WHOLE", kWhole},
                        {"ORDER", order}});
}

std::string orderOf(uint32_t count, uint32_t ahead) {
  std::string order;
  for (uint32_t m = 0; m < count + ahead; ++m) {
    if (m < count)
      order += ", @first " + std::to_string(m) + ", @second " + std::to_string(m);
    if (m >= ahead)
      order += ", @read " + std::to_string(m - ahead);
  }
  return order.substr(2);
}

TEST(ColumnRule, HoldsInEverySlotAndWhereMicroBatchesAreSkipped) {
  for (uint32_t ahead : {0u, 2u}) {
    std::string text = microBatches(orderOf(64, ahead), 64, ahead + 1);
    test::Packed packed = test::manifestOf(text);
    VerifyReport some = verifyPrograms(*packed), all = verifyPrograms(*packed, /*skips=*/false);
    EXPECT_EQ(test::textOf(some.fault), "");
    EXPECT_EQ(test::textOf(all.fault), "");
    EXPECT_EQ(some.instructions, all.instructions);
    EXPECT_LT(some.followed, all.instructions / 4);
    EXPECT_NE(verdictOf(test::changed(text, {{rows("mid"), rows("left")}})), "");
  }
}

// A micro-batch reads before its own second part is written.
TEST(ColumnRule, WantsColumnsOfItsMicroBatch) {
  for (uint32_t at : {1u, 31u, 62u}) {
    std::string m = std::to_string(at), next = std::to_string(at + 1);
    std::string order = test::changed(orderOf(64, 0), {{"@second " + m + ", @read " + m + ",",
                                                        "@read " + m + ", @second " + m + ","}});
    std::string wanted = "rank 0, task 'read', micro-batch " + m +
                         ", instruction 0, copy: reads bytes 72 to 80 of the arena, part of 'all' "
                         "(buffer 1), which nothing has written for this micro-batch";
    for (bool skips : {false, true})
      EXPECT_EQ(verdictOf(microBatches(order, 64, 1), {}, skips).substr(0, wanted.size()), wanted);
  }
}

// A part is written once for all micro-batches, before or after the others.
TEST(ColumnRule, TakesColumnsThatHoldForTheStep) {
  std::string text = microBatches(orderOf(3, 0), 3, 1), zero = "    exec.zero %a\n";
  EXPECT_EQ(verdictOf(test::changed(text, {{rows("mid"), ""}, {zero, zero + rows("mid")}})), "");
  std::string whole =
      test::changed(text, {{rows("mid"), ""}, {zero, zero + "    exec.zero %all\n"}});
  EXPECT_EQ(verdictOf(whole), "");
  std::string late = test::changed(text, {{rows("mid"), zero}, {zero, zero}});
  EXPECT_NE(verdictOf(late), "");
}

// One half of a tensor is a sum over micro-batches, the other was there before.
TEST(ColumnRule, KeepsColumnsBesideASumOverMicroBatches) {
  const char *text = R"(
exec.program @step mesh ["dp"] sizes [2] micro_batches 3 {
  %w = exec.buffer "w" parameter f32 64 bytes persistent
  exec.parameter "w" %w global [4, 4] stored [4, 4] local [4, 4] axes [[], []] init zeros
  %s = exec.buffer "sum" temporary f32 64 bytes carried
  exec.task @begin {
    exec.copy %w to %s sizes [4, 2] from [4, 1] at <0> into [4, 1] at <2>
  }
  exec.task @backward per_micro_batch {
    exec.copy %w to %s sizes [4, 2] from [4, 1] at <0> into [4, 1] at <0> accumulate starts_sum
  }
  exec.task @end {
    exec.copy %s to %w sizes [16] from [1] at <0> into [1] at <0>
  }
  exec.entry train order [@begin, @backward 0, @backward 1, @backward 2, @end]
}
)";
  EXPECT_EQ(verdictOf(text), "");
  std::string fault = verdictOf(test::changed(text, {{"at <2>", "at <0>"}}));
  EXPECT_NE(fault.find("of each 16 of 'sum' (buffer 1), which nothing has written in this step"),
            std::string::npos)
      << fault;
}

// Half of a gradient is no gradient, though all that is written of it is read.
TEST(ColumnRule, WantsAllColumnsOfAGradient) {
  const char *text = R"(
exec.program @step mesh ["dp"] sizes [1] {
  %w = exec.buffer "w" parameter f32 64 bytes persistent
  exec.parameter "w" %w global [4, 4] stored [4, 4] local [4, 4] axes [[], []] init zeros
  %g = exec.buffer "grad w" gradient f32 64 bytes
  exec.gradient "w" %g global [4, 4] stored [4, 4] local [4, 4] axes [[], []] init zeros
  %to = exec.buffer "to" temporary f32 64 bytes
  exec.task @step {
    exec.copy %w to %g sizes [4, 4] from [4, 1] at <0> into [4, 1] at <0>
    exec.copy %g to %to sizes [4, 4] from [4, 1] at <0> into [4, 1] at <0>
  }
  exec.entry train order [@step]
  exec.entry gradients order [@step]
}
)";
  EXPECT_EQ(verdictOf(text), "");
  EXPECT_EQ(verdictOf(test::changed(text, {{"sizes [4, 4]", "sizes [4, 3]"}})).substr(0, 83),
            "rank 0: the gradient of 'w' is written in part only at the end of entry 'gradients'");
}

// A parameter is whole before the step, and stays so where some of its columns change.
TEST(ColumnRule, WantsAllColumnsOfAParameterInTheEnd) {
  const char *text = R"(
exec.program @step mesh ["dp"] sizes [1] {
  %w = exec.buffer "w" parameter f32 64 bytes persistent
  exec.parameter "w" %w global [4, 4] stored [4, 4] local [4, 4] axes [[], []] init zeros
  %t = exec.buffer "t" temporary f32 64 bytes
  %a = exec.buffer "a" temporary f32 32 bytes
  exec.task @step {
    exec.zero %a
    exec.zero %t
    exec.copy %a to %w sizes [4, 2] from [2, 1] at <0> into [4, 1] at <0>
  }
  exec.entry train order [@step]
}
)";
  EXPECT_EQ(verdictOf(text), "");
  test::Packed packed = test::manifestOf(
      text, [](format::ManifestT &m) { bufferOf(m, "t").offset = bufferOf(m, "w").offset; });
  std::string fault = test::textOf(verifyPrograms(*packed).fault);
  EXPECT_NE(fault.find("part of 'w', which the next step wants"), std::string::npos) << fault;
}

} // namespace
} // namespace dtc
