// Tests the argument of --data.
#include "tools/dtrun/DataFiles.h"

#include <gtest/gtest.h>

namespace dtc::rt {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

Files parse(const std::string &argument) {
  std::vector<DataFile> files;
  Status status = parseDataFiles("--data", argument, files);
  EXPECT_TRUE(status.ok()) << status.message();
  Files found;
  for (const DataFile &file : files)
    found.emplace_back(file.input, file.path);
  return found;
}

TEST(DataFiles, NamesAFileForEachInput) {
  EXPECT_EQ(parse("images=x.npy,labels=y.npy"), (Files{{"images", "x.npy"}, {"labels", "y.npy"}}));
  EXPECT_EQ(parse("a.b-1_=/d/x.npy"), (Files{{"a.b-1_", "/d/x.npy"}}));
}

TEST(DataFiles, TakesAPathAsTokens) {
  for (const char *path : {"input.txt", "synthetic", "./a=b", "data,more", "1=x", "/d/a=b,c=d"})
    EXPECT_EQ(parse(path), (Files{{"", path}}));
}

TEST(DataFiles, LeavesCommasAndEqualSignsToPaths) {
  EXPECT_EQ(parse("x=a,b.npy,y=c=d.npy"), (Files{{"x", "a,b.npy"}, {"y", "c=d.npy"}}));
}

TEST(DataFiles, SaysWhatIsMissingOrTwice) {
  std::vector<DataFile> files;
  EXPECT_EQ(parseDataFiles("--eval-data", "x=a,x=b", files).message(),
            "--eval-data names input 'x' twice");
  EXPECT_EQ(parseDataFiles("--data", "x=,y=b", files).message(),
            "--data names no file for input 'x'; write x=PATH");
  EXPECT_EQ(parseDataFiles("--data", "x=", files).message(),
            "--data names no file for input 'x'; write x=PATH");
}

} // namespace
} // namespace dtc::rt
