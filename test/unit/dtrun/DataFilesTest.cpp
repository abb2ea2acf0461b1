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

TEST(DataFiles, ReadsWeights) {
  auto weights = [](const std::string &argument) {
    std::vector<DataFile> files;
    Status status = parseDataFiles("--data", argument, files);
    EXPECT_TRUE(status.ok()) << status.message();
    std::vector<std::pair<std::string, double>> found;
    for (const DataFile &file : files)
      found.emplace_back(file.path, file.weight);
    return found;
  };
  using Weights = std::vector<std::pair<std::string, double>>;
  EXPECT_EQ(weights("a:0.7,b:0.3"), (Weights{{"a", 0.7}, {"b", 0.3}}));
  EXPECT_EQ(weights("u16:x.bin:2.5e-1,a,b:.75"), (Weights{{"u16:x.bin", 0.25}, {"a,b", 0.75}}));
  EXPECT_EQ(weights("a:0.333333,b:0.333333,c:0.333334").size(), 3u);
  EXPECT_EQ(weights("a:1"), (Weights{{"a", 1.0}}));
  // Without a number behind a colon there are no weights.
  EXPECT_EQ(weights("bytes:x.txt"), (Weights{{"bytes:x.txt", 0.0}}));
  EXPECT_EQ(weights(",x"), (Weights{{",x", 0.0}}));
}

TEST(DataFiles, SaysWhatIsWrongWithWeights) {
  auto message = [](const std::string &argument) {
    std::vector<DataFile> files;
    return parseDataFiles("--data", argument, files).message();
  };
  EXPECT_EQ(message("a:0.7,b:0.2"),
            "the weights of --data add up to 0.9 (0.7 + 0.2); they have to add up to 1");
  EXPECT_EQ(message("a:0.7,b"), "--data states no weight for 'b'; write b:WEIGHT");
  EXPECT_EQ(message("a:1,b:0"), "--data gives 'b' the weight 0; weights are above 0");
  EXPECT_EQ(message("a:1.5,b:-0.5"), "--data gives 'b' the weight -0.5; weights are above 0");
  EXPECT_EQ(message("a:0.5,:0.5"), "--data names no file in front of the weight 0.5");
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
