// Inputs of documents that are cut over ranks: each has to be that of the rank's own tokens.
#include "test/unit/verify/ExecText.h"

namespace dtc {
namespace {

// Two replicas of two ranks each, which have halves of the tokens of a sample.
constexpr const char *kDocuments = R"(
exec.program @step mesh ["dp", "cp"] sizes [2, 2] {
  %w = exec.buffer "w" parameter f32 16 bytes persistent
  exec.parameter "w" %w global [4] stored [4] local [4] axes [[]] init zeros
  %tokens = exec.buffer "tokens" input i32 16 bytes persistent
  exec.input "tokens" %tokens shape [1, 1, 4] axes [[], [0], [1]] below 9
  %targets = exec.buffer "targets" input i32 16 bytes persistent
  exec.input "targets" %targets shape [1, 1, 4] axes [[], [0], [1]] below 9 ignored -100
  %documents = exec.buffer "documents" input i32 16 bytes persistent
  exec.input "documents" %documents shape [1, 1, 4] axes [[], [0], [1]]
  %positions = exec.buffer "positions" input i32 16 bytes persistent
  exec.input "positions" %positions shape [1, 1, 4] axes [[], [0], [1]]
  %lr = exec.buffer "lr" input f32 4 bytes persistent
  exec.scalar base_lr %lr
  exec.kernel @attend buffers [16, 16, 16, 16]
  exec.kernel @differentiate buffers [16, 16, 16]
  exec.kernel @sum buffers [16, 4]
  %y = exec.buffer "y" activation f32 16 bytes
  %dw = exec.buffer "grad w" gradient f32 16 bytes
  exec.gradient "w" %dw global [4] stored [4] local [4] axes [[]] init zeros
  %loss = exec.buffer "loss" output f32 4 bytes persistent
  exec.output loss %loss
  exec.task @step {
    exec.launch @attend(%tokens, %documents, %positions) to (%y) range 1
    exec.launch @sum(%y) to (%loss) range 1 shares [3]
    exec.collective all_reduce sum %loss to %loss axes [0, 1] count 1 "loss" control
    exec.launch @differentiate(%y, %targets) to (%dw) range 1 shares [3]
    exec.collective all_reduce sum %dw to %dw axes [0, 1] count 4 "grad w" gradient
  }
  exec.task @update {
    exec.gemm %dw, %lr to %w sizes [4, 1, 1] strides [1, 1, 1] alpha -1.0 beta 1.0
  }
  exec.entry train order [@step, @update]
  exec.entry gradients order [@step]
}
)";

const std::string kPositions = "%positions shape [1, 1, 4] axes [[], [0], [1]]";

format::InputT &inputOf(format::ManifestT &manifest, const std::string &name) {
  for (auto &input : manifest.programs.front()->inputs)
    if (input->name == name)
      return *input;
  ADD_FAILURE() << "no input '" << name << "'";
  return *manifest.programs.front()->inputs.front();
}

const test::Broken kBroken[] = {
    // Ranks of a sample have the positions of the first half, of other samples.
    {"PositionsPerRank",
     kDocuments,
     {{kPositions, "%positions shape [1, 1, 4] axes [[], [1], [0]]"}},
     "rank 0: input 'positions' is cut over ranks otherwise than input 'documents': a rank would "
     "have those of other tokens"},
    {"PositionsInAnotherOrder",
     kDocuments,
     {{kPositions, kPositions + " zigzag [1]"}},
     "rank 0: input 'positions' is cut over ranks otherwise"},
    {"ZigzagOfThePack",
     kDocuments,
     {{"axes [[], [0], [1]]", "axes [[], [0], [1]] zigzag [1]"}},
     "rank 0: input 'tokens' is cut by the zigzag of the whole sample, which holds several "
     "documents: each of them has to be cut by itself"},
    {"TargetAcrossABoundary",
     kDocuments,
     {{" ignored -100", ""}},
     "rank 0: input 'targets' has no index that the loss leaves out: the last token of a document "
     "would have the first one of the next as its target"},
};

TEST(Documents, AreCutAsTheirTokens) {
  test::Packed packed = test::manifestOf(kDocuments);
  EXPECT_EQ(format::verifyManifest(*packed, "m.dte").message(), "");
  EXPECT_EQ(test::textOf(verifyPrograms(*packed).fault), "");
}

// One sequence a sample may be cut by zigzag, and its targets need not be left out.
TEST(Documents, AreRulesOfProgramsThatReadTheirNumbers) {
  std::string text = test::changed(
      kDocuments, {{"[[], [0], [1]]", "[[], [0], [1]] zigzag [1]"}, {" ignored -100", ""}});
  test::Packed packed = test::manifestOf(
      text, [](format::ManifestT &manifest) { inputOf(manifest, "documents").name = "masks"; });
  EXPECT_EQ(test::textOf(verifyPrograms(*packed).fault), "");
}

class DocumentRule : public testing::TestWithParam<test::Broken> {};

TEST_P(DocumentRule, IsNamedWithItsInputWhereItIsBroken) { test::expectFault(GetParam()); }

INSTANTIATE_TEST_SUITE_P(OfInputs, DocumentRule, testing::ValuesIn(kBroken),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace dtc
