// Tests the lines of a file that are shown with errors.
#include "compiler/support/Hints.h"

#include <gtest/gtest.h>

namespace dtc {
namespace {

TEST(ExcerptAt, HasTheLineAndACaretUnderTheColumn) {
  EXPECT_EQ(excerptAt({"a", 2, 3}, "one\n\ttwo\nthree"), "   two\n    ^");
  EXPECT_EQ(excerptAt({"a", 1, 4}, "one"), "  one\n     ^"); // directly behind the end
  EXPECT_EQ(excerptAt({"a", 1, 2}, "\xc3\xa4x"),
            ""); // no column is between the bytes of one letter
  EXPECT_EQ(excerptAt({"a", 1, 3}, "\xc3\xa4x"), "  \xc3\xa4x\n   ^");
}

TEST(ExcerptAt, CutsLongLinesAroundTheLocation) {
  std::string line = std::string(200, 'a') + "!" + std::string(200, 'b');
  EXPECT_EQ(excerptAt({"a", 1, 201}, line), "  ..." + std::string(60, 'a') + "!" +
                                                std::string(39, 'b') + "...\n  " +
                                                std::string(63, ' ') + "^");
}

TEST(ExcerptAt, IsEmptyWhereThereIsNothingToShow) {
  EXPECT_EQ(excerptAt({"a", 0, 0}, "one"), "");
  EXPECT_EQ(excerptAt({"a", 3, 1}, "one\ntwo"), "");
  EXPECT_EQ(excerptAt({"a", 1, 9}, "one"), "");
  EXPECT_EQ(excerptAt({"a", 1, 1}, std::string("\0\1\2", 3)), "");
  EXPECT_EQ(excerptAt({"a", 1, 1}, "\x1b[31m"), "");
}

TEST(ReportWithSource, PutsTheLineBeforeTheNote) {
  std::string text;
  llvm::raw_string_ostream out(text);
  EXPECT_EQ(reportWithSource(UserError("it is wrong", "mend it", {"a", 1, 2}), "don't", out), 1);
  EXPECT_EQ(text, "a:1:2: error: it is wrong\n  don't\n   ^\na:1:2: note: mend it\n");
  text.clear();
  reportWithSource(UserError("it is wrong", "mend it"), "don't", out);
  EXPECT_EQ(text, "error: it is wrong\nnote: mend it\n");
}

TEST(DidYouMean, StandsBeforeAList) {
  EXPECT_EQ(didYouMean("pln", {"plan", "compile"}), "did you mean 'plan'? ");
  EXPECT_EQ(didYouMean("x", {"plan", "n"}), "");
}

} // namespace
} // namespace dtc
