// Alignment of text tables.
#include "compiler/support/Table.h"

#include <gtest/gtest.h>

using namespace dtc;

TEST(Table, AlignsWordsLeftAndNumbersRight) {
  Table table({"name", "devices", "note"});
  table.addRow({"cpu", "1"});
  table.addRow({"dgx-h100", "16", "8 a node, or less"});
  std::string text;
  llvm::raw_string_ostream stream(text);
  table.print(stream, 2);
  EXPECT_EQ(text, "  name      devices               note\n"
                  "  cpu             1\n"
                  "  dgx-h100       16  8 a node, or less\n");
}

TEST(Table, PrintsItsHeaderWithoutRows) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  Table({"a", "b"}).print(stream);
  EXPECT_EQ(text, "a  b\n");
}
