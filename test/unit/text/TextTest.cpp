// The words of graph IR as text, and where lines are cut.
#include "compiler/describe/text/ParseModel.h"
#include "compiler/describe/text/Tokens.h"
#include "compiler/describe/text/WrapLine.h"

#include <gtest/gtest.h>

using namespace dtc;

namespace {

TEST(ShortenNumber, KeepsTheNumberInAsFewDigitsAsItTakes) {
  EXPECT_EQ(shortenNumber("1.000000e-05"), "1.0e-5");
  EXPECT_EQ(shortenNumber("5.000000e+05"), "500000.0");
  EXPECT_EQ(shortenNumber("9.9999999999999995E-7"), "1.0e-6");
  EXPECT_EQ(shortenNumber("0.33333333333333331"), "0.3333333333333333");
  EXPECT_EQ(shortenNumber("0.0"), "0.0");
  EXPECT_EQ(shortenNumber("2.000000e+20"), "2.0e20");
  EXPECT_EQ(shortenNumber("1.5e-300"), "1.5e-300");
}

TEST(ShortenNumber, LeavesWholeNumbersAlone) {
  EXPECT_EQ(shortenNumber("1024"), "1024");
  EXPECT_EQ(shortenNumber("0x7FC00000"), "0x7FC00000");
}

TEST(SplitTokens, JoinsToTheText) {
  const char *text = "  %a, %b#1 = graph.x \"a // b \\\" c\"(@\"h.{}\", !hidden) -> "
                     "tensor<?x8xf32, #e<1>> // c\n  1.5";
  std::string joined;
  for (const Token &token : splitTokens(text))
    joined += token.text;
  EXPECT_EQ(joined, text);
}

TEST(SplitTokens, TellsWordsApart) {
  auto kinds = [](llvm::StringRef text) {
    std::vector<Token::Kind> found;
    for (const Token &token : splitTokens(text))
      if (token.kind != Token::Kind::Space)
        found.push_back(token.kind);
    return found;
  };
  using Kind = Token::Kind;
  EXPECT_EQ(kinds("%ln_1.weight"), (std::vector<Kind>{Kind::Value}));
  EXPECT_EQ(kinds("!hidden = tensor<4x?xf32> // wide"),
            (std::vector<Kind>{Kind::Alias, Kind::Punctuation, Kind::Type, Kind::Comment}));
  EXPECT_EQ(kinds("\"// no comment\" 1.0e-5 12"),
            (std::vector<Kind>{Kind::String, Kind::Number, Kind::Number}));
}

TEST(WrapLine, KeepsWhatFits) {
  EXPECT_EQ(wrapLine("graph.return %x : !x", 4),
            (std::vector<std::string>{"    graph.return %x : !x"}));
}

TEST(WrapLine, CutsBeforeTheTypesFirst) {
  std::string operands(90, 'x');
  EXPECT_EQ(wrapLine("%y = graph.op %" + operands + " : (!first, !second) -> !third", 4),
            (std::vector<std::string>{"    %y = graph.op %" + operands,
                                      "        : (!first, !second) -> !third"}));
}

TEST(WrapLine, LeavesALineThatCannotBeCut) {
  std::string word(150, 'x');
  EXPECT_EQ(wrapLine(word, 2), (std::vector<std::string>{"  " + word}));
}

TEST(NameTypes, SaysTypesByTheirNamesInTheFile) {
  const char *source =
      "// !no = tensor<1xf32>\n!hidden = tensor<?x8xf32> // wide\n!same = tensor<?x8xf32>\n";
  EXPECT_EQ(nameTypes("has 'tensor<?x8xf32>', wanted tensor<1xf32>", source),
            "has '!hidden (tensor<?x8xf32>)', wanted tensor<1xf32>");
}

} // namespace
