#include "runtime/format/JsonString.h"

#include <gtest/gtest.h>

using dtc::format::jsonString;

TEST(JsonString, EscapesWhatWouldEndIt) {
  EXPECT_EQ(jsonString(""), R"("")");
  EXPECT_EQ(jsonString("a\"b\n"), R"("a\"b\u000a")");
  EXPECT_EQ(jsonString("C:\\x"), R"("C:\\x")");
  EXPECT_EQ(jsonString(std::string_view("\0\x1b", 2)), R"("\u0000\u001b")");
  EXPECT_EQ(jsonString("\xc3\xa9"), "\"\xc3\xa9\"");
}
