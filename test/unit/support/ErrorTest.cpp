// Tests the text of user errors, and nearest names.
#include "compiler/support/Error.h"

#include <gtest/gtest.h>

using namespace dtc;

TEST(UserError, PrintsLocationMessageAndNote) {
  UserError error("'memory' is '80 GiG'", "write '80 GiB'", {"cluster.toml", 3, 10});
  EXPECT_EQ(
      error.text(),
      "cluster.toml:3:10: error: 'memory' is '80 GiG'\ncluster.toml:3:10: note: write '80 GiB'");
  EXPECT_EQ(UserError("no such name").text(), "error: no such name");
  EXPECT_EQ(UserError("is empty", "", {"a.toml"}).text(), "a.toml: error: is empty");
}

TEST(UserError, KeepsNamesFromSteeringATerminal) {
  UserError error("opening 'a\x1b[31m'", "as 'b\nc' says", {"d\x1b.toml", 3, 10});
  EXPECT_EQ(error.text(), "d\\x1b.toml:3:10: error: opening 'a\\x1b[31m'\n"
                          "d\\x1b.toml:3:10: note: as 'b\\x0ac' says");
  EXPECT_LT(UserError("'" + std::string(1000000, 'a') + "'").text().size(), 400U);
}

TEST(UserError, ReportReturnsTheExitCode) {
  std::string printed;
  llvm::raw_string_ostream stream(printed);
  EXPECT_EQ(UserError("no such name").report(stream), 1);
  EXPECT_EQ(printed, "error: no such name\n");
}

TEST(Result, HoldsAValueOrAnError) {
  Result<int> value = 3;
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(*value, 3);
  Result<int> failed = UserError("not a number");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "not a number");
  // A value that is a string is not taken for an error.
  Result<std::string> text = std::string("not a number");
  EXPECT_TRUE(text.ok());
}

TEST(NearestName, FindsWhatWasMeant) {
  llvm::StringRef known[] = {"cpu", "dgx-a100-80g", "dgx-h100"};
  EXPECT_EQ(nearestName("dgx-h10", known), "dgx-h100");
  EXPECT_EQ(nearestName("DGX-A100", known), "dgx-a100-80g");
  EXPECT_EQ(nearestName("tpu", known), "cpu");
  EXPECT_EQ(nearestName("zzz", known), "");
  llvm::StringRef types[] = {"f32", "bf16", "f16"};
  EXPECT_EQ(nearestName("bf61", types), "bf16"); // two letters are swapped
  EXPECT_EQ(nearestName("f61", types), "f16");
  EXPECT_EQ(nearestName("fb16", types), "bf16");
  EXPECT_EQ(nearestName("", known), "");
}
