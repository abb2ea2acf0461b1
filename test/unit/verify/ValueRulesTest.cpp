// Checks that sums are added up once, over the right ranks, and that copies stay equal.
#include "test/unit/verify/LongPrograms.h"
#include "test/unit/verify/SmallPrograms.h"

namespace dtc {
namespace {

using test::Broken;
using test::kDataParallel;
using test::kGathered;
using test::kStages;
using test::kTensorParallel;

class ValueRule : public testing::TestWithParam<Broken> {};

TEST_P(ValueRule, IsNamedWithItsLocationWhereItIsBroken) { test::expectFault(GetParam()); }

const std::string kCounts = "  %n = exec.buffer \"n\" temporary i32 4 bytes\n";
const std::string kUpdate = "rank 0, task 'update', micro-batch 0, instruction 0, gemm (h.0.w): ";
const std::string kReduce =
    "exec.collective all_reduce sum %g to %g axes [0] count 16 \"grad w\" gradient";
const std::string kReduceLoss =
    "exec.collective all_reduce sum %sum to %sum axes [0] count 1 \"loss\" control\n";
const std::string kFinish =
    "exec.collective all_reduce sum %p to %p axes [0] count 16 \"p\" activation";
const std::string kTied =
    "exec.collective all_reduce sum %g to %g over <\"ends\", 2, [0, 2, 1, 3]> "
    "count 16 \"tied\" gradient";
const std::string kDescend =
    "exec.gemm %g, %lr to %w sizes [16, 1, 1] strides [1, 1, 1] alpha -1.0 beta 1.0";

const Broken kOfData[] = {
    {"SummedOverSamples",
     kDataParallel,
     {{kReduce, ""}},
     kUpdate + "updates 'w' with 'grad w' (buffer 6), which was not summed along dp, where ranks "
               "have samples of their own; it was written by task 'backward', micro-batch 2, "
               "instruction 0, gemm"},
    {"SummedOnce",
     kDataParallel,
     {{kReduce, kReduce + "\n" + kReduce}},
     "rank 0, task 'gradients', micro-batch 0, instruction 1, all_reduce of gradients over dp "
     "'grad w': combines 'grad w' (buffer 6) over dp, but it is already replicated there"},
    {"PartsSummedOnce",
     kDataParallel,
     {{kReduce,
       "exec.collective reduce_scatter sum %g to %part axes [0] count 8 \"grad w\" gradient\n"
       "exec.collective all_reduce sum %part to %part axes [0] count 8 \"again\" gradient"}},
     "rank 0, task 'gradients', micro-batch 0, instruction 1, all_reduce of gradients over dp "
     "'again': reduces 'part' (buffer 7) along dp a second time"},
    {"AddedUp",
     kDataParallel,
     {{"all_reduce sum %g", "all_reduce max %g"}},
     "rank 0, task 'gradients', micro-batch 0, instruction 0, all_reduce of gradients over dp "
     "'grad w': reduces gradients by max, wanted their sum"},
    {"OfEachMicroBatch",
     kDataParallel,
     {{"@forward 2, @backward 2", "@forward 2"}},
     "rank 0, task 'gradients', micro-batch 0, instruction 0, all_reduce of gradients over dp "
     "'grad "
     "w': reads the sum in 'grad w' (buffer 6), to which 2 addends were added, wanted as many of "
     "each of 3 micro-batches"},
    {"SumNotReadByAMicroBatch",
     kDataParallel,
     {{"[4, 4, 4] beta 1.0 starts_sum", "[4, 4, 4] beta 1.0 starts_sum\n"
                                        "exec.copy %g to %t sizes [16] from [1] at <0> into [1] at "
                                        "<0>"}},
     "rank 0, task 'backward', micro-batch 1, instruction 1, copy: reads 'grad w' (buffer "
     "6), a sum to which other micro-batches add"},
    {"SamplesApart",
     kDataParallel,
     {{"exec.gemm %y, %y to %sum",
       "exec.collective all_reduce sum %y to %y axes [0] count 16 \"y\" activation\n"
       "exec.gemm %y, %y to %sum"}},
     "rank 0, task 'forward', micro-batch 0, instruction 1, all_reduce of activations over dp 'y': "
     "mixes activations along dp, where ranks have samples of their own"},
    {"StatisticsOfParts",
     kDataParallel,
     {{"exec.gemm %y, %y to %sum",
       "exec.collective all_reduce sum %y to %y axes [0] count 16 \"y\" control\n"
       "exec.gemm %y, %y to %sum"}},
     "rank 0, task 'forward', micro-batch 0, instruction 1, all_reduce of control values over dp "
     "'y': sums 'y' (buffer 4) along dp, where it is no part of a sum; it was written by task "
     "'forward', micro-batch 0, instruction 0, gemm"},
    {"CopiesEqual",
     kDataParallel,
     {{kDescend + " loc(\"h.0.w\")",
       "exec.copy %all to %w sizes [16] from [1] at <0> into [1] at <0> loc(\"h.0.w\")\n"
       "exec.gemm %g, %lr to %t sizes [16, 1, 1] strides [1, 1, 1]"}},
     "rank 0, task 'update', micro-batch 0, instruction 0, copy (h.0.w): leaves different values "
     "in the replicas of 'w' along dp: 'x' (buffer 1) differs there, as if a reduction or "
     "gather were missing; it holds what was there before the step"},
    {"CopiesOfOnePlace",
     kDataParallel,
     {{kDescend, kDescend +
                     "\nexec.copy %w to %t sizes [8] from [1] at <0 + 8 * axis 0> into [1] at "
                     "<0>\nexec.copy %t to %w sizes [8] from [1] at <0> into [1] at <0>"}},
     "rank 0, task 'update', micro-batch 0, instruction 2, copy (h.0.w): leaves different values "
     "in the replicas of 'w' along dp: 't' (buffer 5) differs there"},
    {"CopiesWrittenInOnePlace",
     kDataParallel,
     {{kDescend, kDescend + "\nexec.copy %lr to %w sizes [1] from [1] at <0> into [1] at "
                            "<0 + 1 * axis 0>"}},
     "rank 0, task 'update', micro-batch 0, instruction 1, copy (h.0.w): leaves different values "
     "in "
     "'w' "
     "(buffer 0) along dp; its ranks along dp hold copies of 'w'"},
    {"ParametersGatheredFromParts",
     kDataParallel,
     {{"%part = exec.buffer", "%two = exec.buffer \"two\" temporary f32 128 bytes\n"
                              "  %part = exec.buffer"},
      {kReduce, kReduce + "\nexec.collective all_gather sum %w to %two axes [0] count 16 \"w\" "
                          "parameter"}},
     "rank 0, task 'gradients', micro-batch 0, instruction 1, all_gather of parameters over dp "
     "'w': "
     "combines 'w' (buffer 0) over dp, but it is already replicated there"},
    {"AllOfABuffer",
     kDataParallel,
     {},
     "rank 0, task 'gradients', micro-batch 0, instruction 0, all_reduce of gradients over dp "
     "'grad "
     "w': moves 32 bytes of 'grad w' (buffer 6), wanted all of its 64",
     [](format::ManifestT &m) {
       m.programs[0]->tasks[3]->instructions[0]->op.AsCollective()->count = 8;
     }},
    {"AscendingRanks",
     kDataParallel,
     {{"%g to %g axes [0]", "%g to %g over <\"both\", 2, [1, 0]>"}},
     "rank 0, task 'gradients', micro-batch 0, instruction 0, all_reduce of gradients over both "
     "'grad w': is over 'both', whose ranks do not ascend, so that its parts are out of place"},
    {"WholeAxes",
     kDataParallel,
     {{"sizes [2] micro", "sizes [4] micro"},
      {"%g to %g axes [0]", "%g to %g over <\"some\", 2, [0, 1, 2, 3]>"}},
     "rank 0, task 'gradients', micro-batch 0, instruction 0, all_reduce of gradients over some "
     "'grad w': is over 'some', which has some ranks along dp in one list and some in another"},
    {"GradientsRead",
     kDataParallel,
     {{kDescend, "exec.zero %t"}},
     "rank 0, task 'gradients', micro-batch 0, instruction 0, all_reduce of gradients over dp "
     "'grad "
     "w': writes bytes 448 to 512 of the arena, of a gradient or for other ranks, which nothing "
     "reads"},
    {"GradientsNotOverwritten",
     kDataParallel,
     {{kReduce, kReduce + "\nexec.zero %g\n"}},
     "rank 0, task 'gradients', micro-batch 0, instruction 0, all_reduce of gradients over dp "
     "'grad "
     "w': writes bytes 448 to 512 of the arena, of a gradient or for other ranks, which nothing "
     "reads"},
    {"LossOfAllRanks",
     kDataParallel,
     {{kReduceLoss, ""}},
     "rank 0: output 'loss' is still a partial sum along dp; it was written by task 'report', "
     "micro-batch 0, instruction 0, copy"},
    {"LossWritten",
     kDataParallel,
     {{"exec.copy %sum to %loss sizes [1]", "exec.copy %sum to %t sizes [1]"}},
     "rank 0: output 'loss' is not written, or overwritten by something else"},
    {"GradientsOfTheirEntry",
     kDataParallel,
     {{"@report, @gradients]", "@report]"}},
     "rank 0: the gradient of 'w' is not summed along dp at the end of entry 'gradients'; it was "
     "written by task 'backward', micro-batch 2, instruction 0, gemm"},
    {"GradientsOfGroups",
     kDataParallel,
     {{"  %part = ", kCounts + "  %part = "},
      {"exec.gemm %x transposed, %y to %g sizes [4, 4, 4] strides [4, 4, 4] beta 1.0 starts_sum",
       "exec.zero %n\nexec.grouped_gemm %x, %y by %n to %g groups 1 samples 1 rows 4 k 4 n 4 "
       "sums_rows accumulate starts_sum"},
      {"@report, @gradients]", "@report]"}},
     "rank 0: the gradient of 'w' is not summed along dp at the end of entry 'gradients'; it was "
     "written by task 'backward', micro-batch 2, instruction 1, grouped_gemm"},
    {"GradientsThere",
     kDataParallel,
     {{"exec.entry gradients order [@forward 0, @backward 0, @forward 1, @backward 1, @forward 2, "
       "@backward 2,\n                              @report, @gradients]",
       "exec.entry gradients order [@forward 0, @forward 1, @forward 2, @report]"}},
     "rank 0: the gradient of 'w' is not there at the end of entry 'gradients'"},
};

const Broken kOfParts[] = {
    {"SumsFinishedForProducts",
     kTensorParallel,
     {{kFinish, ""}},
     "rank 0, task 'step', micro-batch 0, instruction 1, gemm: reads 'p' (buffer 3) for a product, "
     "which is still a partial sum along tp; it was written by task 'step', micro-batch 0, "
     "instruction 0, gemm"},
    {"SumsOfGroupsFinished",
     kTensorParallel,
     {{"  %lse = ", kCounts + "  %lse = "},
      {"exec.gemm %x, %w to %p sizes [4, 4, 2] strides [2, 4, 4]",
       "exec.zero %n\nexec.grouped_gemm %x, %w by %n to %p groups 1 samples 1 rows 4 k 2 n 4"},
      {kFinish, ""}},
     "rank 0, task 'step', micro-batch 0, instruction 2, gemm: reads 'p' (buffer 3) for a product, "
     "which is still a partial sum along tp; it was written by task 'step', micro-batch 0, "
     "instruction 1, grouped_gemm"},
    {"GroupsOfPartsFinished",
     kTensorParallel,
     {{"  %lse = ", kCounts + "  %lse = "},
      {kFinish, "exec.zero %n\n"
                "exec.grouped_gemm %p, %p by %n to %t groups 1 samples 1 rows 4 k 4 n 4\n" +
                    kFinish}},
     "rank 0, task 'step', micro-batch 0, instruction 2, grouped_gemm: reads 'p' (buffer 3) for a "
     "product, which is still a partial sum along tp; it was written by task 'step', micro-batch "
     "0, instruction 0, gemm"},
    {"PartsOfSumsHaveNoEpilogue",
     kTensorParallel,
     {{"exec.gemm %x, %w to %p", "exec.zero %t\nexec.gemm %x, %w plus %t to %p"}},
     "rank 0, task 'step', micro-batch 0, instruction 1, gemm: does more than multiply, and reads "
     "a partial sum along tp",
     {},
     true},
    {"SumsFinishedForUpdates",
     kTensorParallel,
     {{"exec.gemm %x transposed, %p to %g sizes [2, 4, 4] strides [2, 4, 4]",
       "exec.gemm %x transposed, %w to %g sizes [2, 4, 2] strides [2, 4, 4]"}},
     "rank 0, task 'update', micro-batch 0, instruction 0, gemm: reads 'grad w' (buffer 7) for an "
     "update, which is still a partial sum along tp; it was written by task 'step', micro-batch "
     "0, instruction 3, gemm"},
    {"SumsFinishedForAttention",
     kTensorParallel,
     {{kFinish, kFinish + "\nexec.gemm %x, %w to %t sizes [4, 4, 2] strides [2, 4, 4]\n"
                          "exec.attention %t, %t, %t to %u, %lse batch 1 queries 4 keys 4 heads 1 "
                          "kv_heads 1 head_dim 4 scale 5.0e-01 loc(\"h.0.attn\")"}},
     "rank 0, task 'step', micro-batch 0, instruction 3, attention (h.0.attn): reads 't' (buffer "
     "4) "
     "for attention, which is still a partial sum along tp; it was written by task 'step', "
     "micro-batch 0, instruction 2, gemm"},
    // Each rank has queries of its own for keys that all ranks have.
    {"SumsOfQueriesFinished",
     kTensorParallel,
     {{"%lse = exec.buffer", "%l = exec.buffer \"l\" temporary f32 8 bytes\n"
                             "  %s = exec.buffer \"s\" temporary f32 8 bytes\n"
                             "  %lse = exec.buffer"},
      {kFinish, kFinish + "\nexec.zero %l\n"
                          "exec.attention_grad %x, %p, %p, %x, %l, %x to %g, %t, %u scratch %s "
                          "batch 1 queries 2 keys 4 heads 1 kv_heads 1 head_dim 4 scale 5.0e-01\n"
                          "exec.gemm %u, %t to %loss sizes [1, 1, 16] strides [16, 1, 1]"}},
     "rank 0, task 'step', micro-batch 0, instruction 4, gemm: reads 'u' (buffer 5) for a product, "
     "which is still a partial sum along tp; it was written by task 'step', micro-batch 0, "
     "instruction 3, attention_grad"},
    {"SumsFinishedForOutputs",
     kTensorParallel,
     {{"exec.gemm %p, %p to %loss sizes [1, 1, 16] strides [16, 1, 1]",
       "exec.gemm %x, %x to %loss sizes [1, 1, 8] strides [8, 1, 1]"}},
     "rank 0: output 'loss' is still a partial sum along tp; it was written by task 'step', "
     "micro-batch 0, instruction 2, gemm"},
    {"ActivationsSummedOnce",
     kTensorParallel,
     {{kFinish, kFinish + "\n" + kFinish}},
     "rank 0, task 'step', micro-batch 0, instruction 2, all_reduce of activations over tp 'p': "
     "combines 'p' (buffer 3) over tp, but it is already replicated there"},
    // A kernel would have to declare that it makes shares of what all ranks hold.
    {"WholeValuesNotSummed",
     kTensorParallel,
     {{"exec.gemm %p, %p to %loss sizes [1, 1, 16] strides [16, 1, 1]",
       "exec.gemm %p, %p to %loss sizes [1, 1, 16] strides [16, 1, 1]\n"
       "exec.collective all_reduce sum %loss to %loss axes [0] count 1 \"loss\" control"}},
     "rank 0, task 'step', micro-batch 0, instruction 3, all_reduce of control values over tp "
     "'loss': combines 'loss' (buffer 8) over tp, but it is already replicated there; it was "
     "written by task 'step', micro-batch 0, instruction 2, gemm"},
    {"PartsOfPartsAlone",
     kTensorParallel,
     {{"exec.gemm %x transposed, %p to %g sizes [2, 4, 4] strides [2, 4, 4]",
       "exec.gemm %x transposed, %p to %g sizes [2, 4, 4] strides [2, 4, 4]\n"
       "exec.collective all_reduce sum %g to %g axes [0] count 8 \"grad w\" gradient"}},
     "rank 0, task 'update', micro-batch 0, instruction 0, gemm: updates 'w', which is sharded "
     "along tp, with 'grad w' (buffer 7), which is replicated there: it was reduced once too "
     "often"},
    {"WhatCollectivesBringRead",
     kTensorParallel,
     {{kFinish, "exec.collective all_reduce sum %p to %t axes [0] count 16 \"twice\" activation\n" +
                    kFinish}},
     "rank 0, task 'step', micro-batch 0, instruction 1, all_reduce of activations over tp "
     "'twice': "
     "brings what nothing reads: it was done twice, or what should read it reads something else"},
    {"GradientsOfTheirParts",
     kTensorParallel,
     {},
     "rank 0: the gradient of 'w' differs along tp at the end of entry 'gradients'",
     [](format::ManifestT &m) { m.programs[0]->gradients[0]->shards.clear(); },
     /*isRefusedByLoader=*/true},
};

const std::string kGatheredSum =
    "exec.collective all_reduce sum %p to %p axes [1] count 16 \"p\" activation";
const std::string kNorm = "exec.launch @norm(%p) to (%y) range 1";
const std::string kUnfinishedNorm =
    "rank 0, task 'step', micro-batch 0, instruction 2, launch of 'norm': reads 'p' (buffer 5) as "
    "if "
    "it were whole, which is still a partial sum along tp; it was written by task 'step', "
    "micro-batch 0, instruction 1, gemm";

const Broken kOfGathered[] = {
    {"SumsFinishedForKernels", kGathered, {{kGatheredSum, ""}}, kUnfinishedNorm},
    {"SumsFinishedWhereverTheyWereCopied",
     kGathered,
     {{kGatheredSum, "exec.copy %p to %y sizes [16] from [1] at <0> into [1] at <0>"},
      {kNorm, "exec.launch @norm(%y) to (%y) range 1"}},
     "rank 0, task 'step', micro-batch 0, instruction 3, launch of 'norm': reads 'y' (buffer 6) as "
     "if "
     "it were whole, which is still a partial sum along tp; it was written by task 'step', "
     "micro-batch 0, instruction 2, copy"},
    {"SumsOverTheirAxis",
     kGathered,
     {{kGatheredSum, "exec.collective all_reduce sum %p to %p axes [0] count 16 \"p\" control"}},
     "rank 0, task 'step', micro-batch 0, instruction 2, all_reduce of control values over dp 'p': "
     "sums 'p' (buffer 5) along dp, where it is no part of a sum; it was written by task 'step', "
     "micro-batch 0, instruction 1, gemm"},
    // A kernel that declares that it makes parts of parts may do so, but a reader of its result may
    // not.
    {"PartsOfKernelsFinished",
     kGathered,
     {{kGatheredSum, ""}, {kNorm, "exec.launch @norm(%p) to (%y) range 1 shares [2]"}},
     "rank 0, task 'step', micro-batch 0, instruction 3, gemm: reads 'y' (buffer 6) for a product, "
     "which is still a partial sum along tp; it was written by task 'step', micro-batch 0, "
     "instruction 2, launch of 'norm'"},
    {"SumsOfKernelsFinished",
     kGathered,
     {{kNorm, "exec.launch @norm(%p) to (%y) range 1 shares [2]"}},
     "rank 0, task 'step', micro-batch 0, instruction 4, gemm: reads 'y' (buffer 6) for a product, "
     "which is still a partial sum along tp"},
    {"WordsOfTheSameRowsForAllRanks",
     kGathered,
     {{kNorm,
       "exec.embedding %use, %ids to %y rows 2 columns 4 tokens 4 first_row <0 + 2 * axis 0>\n" +
           kNorm}},
     "rank 0, task 'step', micro-batch 0, instruction 3, embedding: looks up rows of 'w in use' "
     "(buffer 4) from another one on along dp, where ranks hold the same rows"},
    {"WordsOfOtherRowsForOtherTokens",
     kGathered,
     {{kNorm,
       "exec.embedding %w, %ids to %y rows 1 columns 4 tokens 4 first_row <0 + 2 * axis 1>\n" +
           kNorm}},
     "rank 0, task 'step', micro-batch 0, instruction 3, embedding: looks up tokens that differ "
     "along dp in 'w' (buffer 0), which is sharded there"},
    {"SumsOfWordsFinished",
     kGathered,
     {{kNorm,
       "exec.embedding %use, %ids to %y rows 2 columns 4 tokens 4 first_row <0 + 2 * axis 1>\n"
       "exec.launch @norm(%y) to (%y) range 1"}},
     "rank 0, task 'step', micro-batch 0, instruction 4, launch of 'norm': reads 'y' (buffer 6) as "
     "if "
     "it were whole, which is still a partial sum along tp"},
    {"SumsOfTokensFinished",
     kGathered,
     {{kNorm, "exec.embedding_grad %ids, %p to %y rows 4 columns 4 tokens 4 first_row <0>\n"
              "exec.launch @norm(%y) to (%y) range 1"}},
     "rank 0, task 'step', micro-batch 0, instruction 4, launch of 'norm': reads 'y' (buffer 6) as "
     "if "
     "it were whole, which is still a partial sum along dp"},
};

const Broken kOfStages[] = {
    {"SharedReducedTogether",
     kStages,
     {{kTied, ""}},
     "rank 2, task 'step', micro-batch 0, instruction 8, gemm: updates 's', which ranks of other "
     "programs hold, too, with nothing that was reduced over all of them"},
    {"SharedReducedOnce",
     kStages,
     {{kTied, kTied + "\n" + kTied}},
     "rank 0, task 'step', micro-batch 0, instruction 6, all_reduce of gradients over ends 'tied': "
     "reduces 'grad s' (buffer 5) over 'ends' a second time"},
    {"SentToRanksOfThatPart",
     kStages,
     {{"<\"pairs\", 2, [0, 2, 1, 3]>", "<\"pairs\", 2, [0, 3, 1, 2]>"}},
     "rank 0, task 'step', micro-batch 0, instruction 1, send of tensors of stages over pairs 'y': "
     "sends 'y' (buffer 3), which is sharded along dp, to a rank with another shard"},
};

std::string nameOf(const testing::TestParamInfo<Broken> &info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(OfData, ValueRule, testing::ValuesIn(kOfData), nameOf);
INSTANTIATE_TEST_SUITE_P(OfParts, ValueRule, testing::ValuesIn(kOfParts), nameOf);
INSTANTIATE_TEST_SUITE_P(OfGathered, ValueRule, testing::ValuesIn(kOfGathered), nameOf);
INSTANTIATE_TEST_SUITE_P(OfStages, ValueRule, testing::ValuesIn(kOfStages), nameOf);

// The hosts of two programs wait for one another in turns, which streams need not do.
TEST(ValueRules, OfWhatIsKnownLater) {
  std::string receive =
      "exec.receive %dy over <\"pairs\", 2, [0, 2, 1, 3]> shift 1 \"dy\" pipeline";
  std::string compute = "exec.gemm %w, %w to %y",
              finish =
                  "exec.collective all_reduce sum %dy to %dy axes [1] count 16 \"dy\" activation";
  std::string text = test::changed(
      test::stagesOf({"both"}),
      {{"micro_batches 1", "micro_batches 1 streams 2 events 1"},
       {receive, "exec.wait 0"},
       {"exec.gemm %y, %dy to %g",
        "exec.gemm %dy, %dy to %y sizes [4, 4, 4] strides [4, 4, 4]\n    exec.gemm %w, %w to %g"},
       {compute, receive + " stream 1\n    exec.record 0 stream 1\n    " + compute}});
  EXPECT_EQ(test::textOf(verifyPrograms(*test::manifestOf(text)).fault), "");
  EXPECT_EQ(
      test::textOf(verifyPrograms(*test::manifestOf(test::changed(text, {{finish, ""}}))).fault),
      "rank 0, task 'forward', micro-batch 0, instruction 0, receive of tensors of stages over "
      "pairs 'dy': contributes a partial sum that other programs' ranks have yet to finish");
}

// Shows each part of a message by itself.
TEST(Fault, SaysRankTaskInstructionAndWhereInTheModel) {
  test::Packed packed = test::manifestOf(test::changed(kDataParallel, {{kReduce, ""}}));
  std::optional<Fault> fault = verifyPrograms(*packed).fault;
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->check, "values");
  EXPECT_EQ(fault->entry, "train");
  EXPECT_EQ(fault->program, 0u);
  EXPECT_EQ(fault->rank, 0u);
  EXPECT_EQ(fault->task, "update");
  EXPECT_EQ(fault->instruction, 0u);
  EXPECT_EQ(fault->op, "gemm (h.0.w)");
  EXPECT_EQ(fault->source, "h.0.w");
}

} // namespace
} // namespace dtc
