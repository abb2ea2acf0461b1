// Tests names from files in messages: they must not control a terminal or fill it.
#include "runtime/format/Printable.h"

#include <gtest/gtest.h>

namespace dtc::format {
namespace {

TEST(Printable, LeavesUsualMessagesAsTheyAre) {
  for (const char *message :
       {"", "opening 'a.dte': No such file", "it can't be; wanted 'b'", "one line\n\tand another\n",
        "'\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80'", "an open 'quote", "'", "rock 'n' roll"})
    EXPECT_EQ(printable(message), message);
}

TEST(Printable, WritesOutWhatSteersATerminal) {
  EXPECT_EQ(printable("opening 'a\x1b[31m.dte'"), "opening 'a\\x1b[31m.dte'");
  EXPECT_EQ(printable("a\x7f\x1b]0;title\x07"), "a\\x7f\\x1b]0;title\\x07");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  // A new line, or an overwritten line, would look like another message.
  EXPECT_EQ(printable("'a\nerror: b' c\n"), "'a\\x0aerror: b' c\n");
  EXPECT_EQ(printable("a\rb"), "a\\x0db");
}

// Terminals that read single bytes take 0x9b for escape and bracket; others take the character
// U+009B.
TEST(Printable, WritesOutWhatIsNotUtf8) {
  EXPECT_EQ(printable("a\x9b"
                      "31m"),
            "a\\x9b31m");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");
  EXPECT_EQ(printable("\xc0\xaf \xe0\x80\x9b \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x82"),
            "\\xc0\\xaf \\xe0\\x80\\x9b \\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80 \\xe2\\x82");
}

TEST(Printable, CutsNamesWithoutEnd) {
  std::string name(1000000, 'a');
  EXPECT_EQ(printable("opening '" + name + "b.dte': no"), "opening '" + std::string(200, 'a') +
                                                              " ... (999705 bytes) ... " +
                                                              std::string(95, 'a') + "b.dte': no");
  std::string limit(mostQuotedBytes, 'a');
  EXPECT_EQ(printable("'" + limit + "'"), "'" + limit + "'");
  // No character is cut in two.
  std::string wide;
  for (int i = 0; i < 1000; ++i)
    wide += "\xe2\x82\xac";
  EXPECT_EQ(printable("'" + wide + "'").find("\\x"), std::string::npos);
}

TEST(Printable, CutsLinesAndMessagesWithoutEnd) {
  std::string text(1000000, 'a');
  EXPECT_LT(printable(text).size(), mostLineBytes + 100);
  std::string lines;
  for (int i = 0; i < 100000; ++i)
    lines += "0123456789\n";
  EXPECT_LT(printable(lines).size(), mostMessageBytes + 200);
  // Escaping makes text longer, but the limits still hold.
  EXPECT_LT(printable(std::string(1000000, '\x1b')).size(), mostLineBytes + 100);
  EXPECT_LT(printable("'" + std::string(1000000, '\x1b') + "'").size(), mostLineBytes + 100);
}

} // namespace
} // namespace dtc::format
