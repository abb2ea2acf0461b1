// dtrun as a user starts it, on the sample program: output, files, exit codes.
#include "test/unit/format/Sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>

namespace dtc::rt {
namespace {

struct Result {
  int exitCode = -1;
  std::string output; // stdout and stderr
};

class Dtrun : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "dtrun-test-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    std::vector<uint8_t> object = test::readBytes(DTC_SAMPLE_KERNELS);
    for (uint32_t ranks : {1u, 2u})
      ASSERT_TRUE(test::writeBytes(path("s" + std::to_string(ranks) + ".dte"),
                                   test::sampleProgram(ranks, object).file())
                      .ok());
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string &name) const { return folder + "/" + name; }

  // `samples` of 4 tokens from 0 to 15, as bytes.
  void writeSamples(const std::string &name, size_t samples) const {
    std::string header =
        "{'descr': '|u1', 'fortran_order': False, 'shape': (" + std::to_string(samples) + ", 4)}\n";
    std::ofstream file(path(name), std::ios::binary);
    file << std::string("\x93NUMPY\x01\x00", 8) << static_cast<char>(header.size()) << '\0'
         << header;
    for (size_t i = 0; i < samples * 4; ++i)
      file << static_cast<char>(i * 7 % 16);
  }

  // `arguments` run in the test's folder.
  Result run(const std::string &arguments) const {
    std::string command = "cd " + folder + " && " DTC_DTRUN " " + arguments + " 2>&1";
    Result result;
    std::FILE *pipe = ::popen(command.c_str(), "r");
    if (!pipe)
      return result;
    char block[4096];
    for (size_t count; (count = std::fread(block, 1, sizeof(block), pipe)) > 0;)
      result.output.append(block, count);
    int status = ::pclose(pipe);
    result.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    return result;
  }

  std::string folder;
};

// Ranks by threads of one process would hide it, so this needs mpirun.
bool hasMpirun() { return std::system("mpirun --version > /dev/null 2>&1") == 0; }

size_t linesOf(const std::string &text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST_F(Dtrun, PrintsOneJsonObjectAStep) {
  Result result = run("s1.dte --data synthetic --steps 3 --format json");
  EXPECT_EQ(result.exitCode, 0) << result.output;
  EXPECT_EQ(linesOf(result.output), 3u) << result.output;
  EXPECT_EQ(result.output.rfind("{\"step\":1,\"loss\":", 0), 0u) << result.output;
  EXPECT_NE(result.output.find("{\"step\":3,"), std::string::npos);
}

TEST_F(Dtrun, SameSeedGivesTheSameParameters) {
  EXPECT_EQ(run("s1.dte --data synthetic --steps 2 --seed 5 --dump-params a").exitCode, 0);
  EXPECT_EQ(run("s1.dte --data synthetic --steps 2 --seed 5 --threads 3 --dump-params b").exitCode,
            0);
  EXPECT_EQ(run("s1.dte --data synthetic --steps 2 --seed 6 --dump-params c").exitCode, 0);
  EXPECT_FALSE(test::readBytes(path("a")).empty());
  EXPECT_EQ(test::readBytes(path("a")), test::readBytes(path("b")));
  EXPECT_NE(test::readBytes(path("a")), test::readBytes(path("c")));
}

TEST_F(Dtrun, ReadsAFileForEachInput) {
  writeSamples("t.npy", 9);
  Result result = run("s1.dte --data tokens=t.npy,targets=t.npy --steps 12 --format json");
  EXPECT_EQ(result.exitCode, 0) << result.output;
  EXPECT_EQ(linesOf(result.output), 12u) << result.output;
}

TEST_F(Dtrun, InitGoesOnFromADump) {
  EXPECT_EQ(run("s1.dte --data synthetic --steps 0 --seed 5 --dump-params a").exitCode, 0);
  EXPECT_EQ(run("s1.dte --data synthetic --steps 0 --seed 6 --init a --dump-params b").exitCode, 0);
  EXPECT_EQ(test::readBytes(path("a")), test::readBytes(path("b")));
}

TEST_F(Dtrun, WritesLogAndTrace) {
  Result result = run("s1.dte --data synthetic --steps 2 --log-dir logs --profile trace.json");
  EXPECT_EQ(result.exitCode, 0) << result.output;
  std::vector<uint8_t> log = test::readBytes(path("logs/rank-0.jsonl"));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 2);
  EXPECT_FALSE(test::readBytes(path("trace.json")).empty());
}

TEST_F(Dtrun, SaysWhatIsWrongInOneLine) {
  std::ofstream(path("words")) << "abcdefghijklmnop";
  std::ofstream(path("broken.dte")) << "not a program";
  writeSamples("t.npy", 9);
  writeSamples("short.npy", 8);
  test::ProgramBuilder builder = test::sampleProgram(1, test::readBytes(DTC_SAMPLE_KERNELS));
  builder.program().inputs[0]->name = "images";
  ASSERT_TRUE(test::writeBytes(path("image.dte"), builder.file()).ok());
  const struct {
    const char *arguments, *message;
    int exitCode;
  } cases[] = {
      {"none.dte --data synthetic", "none.dte", 1},
      {"broken.dte --data synthetic", "broken.dte: the file has 13 bytes", 1},
      {"s1.dte --data none", "'none'", 1},
      {"s1.dte --data words", "vocabulary size 16", 1},
      {"s1.dte --data tokens=t.npy",
       "--data names no file for input 'targets'; the model reads "
       "'tokens' (i32 [4]) and 'targets' (i32 [4]): --data tokens=PATH.npy,targets=PATH.npy",
       1},
      {"s1.dte --data images=t.npy", "--data names 'images', which is no input", 1},
      {"s1.dte --data tokens=t.npy,targets=short.npy",
       "'t.npy' has 9 samples for input 'tokens' and 'short.npy' has 8 for input 'targets'", 1},
      {"s1.dte --data tokens=words,targets=t.npy", "wanted a .npy file", 1},
      {"image.dte --data synthetic",
       "fills inputs 'tokens' and 'targets' of one length, but the "
       "model reads 'images' (i32 [4]) and 'targets' (i32 [4])",
       1},
      {"s2.dte --data synthetic", "compiled for 2 ranks and the job has 1", 1},
      {"s2.dte -n 3 --data synthetic", "compiled for 2 ranks and the job has 3", 1},
      {"s1.dte --data synthetic --init words", "words", 1},
      {"s1.dte --data synthetic --dump-params none/x", "the folder of 'none/x'", 1},
      {"s1.dte --data synthetic --resume", "--resume is not available", 2},
      {"s1.dte", "--data is required", 2},
  };
  for (const auto &each : cases) {
    Result result = run(each.arguments);
    EXPECT_EQ(result.exitCode, each.exitCode) << each.arguments << "\n" << result.output;
    EXPECT_NE(result.output.find(each.message), std::string::npos) << result.output;
    EXPECT_EQ(linesOf(result.output), 1u) << result.output;
  }
}

TEST_F(Dtrun, StopsWithCode4WhenTheLossIsNotFinite) {
  Result result = run("s1.dte --data synthetic --steps 9 --lr 1e30 --format json");
  EXPECT_EQ(result.exitCode, 4) << result.output;
  EXPECT_NE(result.output.find("\"loss\":null"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("training diverged"), std::string::npos) << result.output;
}

TEST_F(Dtrun, StartsLocalRanks) {
  if (!hasMpirun())
    GTEST_SKIP() << "mpirun is not here";
  Result result = run("s2.dte -n 2 --data synthetic --steps 3 --format json --log-dir logs");
  EXPECT_EQ(result.exitCode, 0) << result.output;
  EXPECT_EQ(linesOf(result.output), 3u) << result.output;
  EXPECT_FALSE(test::readBytes(path("logs/rank-1.jsonl")).empty());
  result = run("s2.dte -n 2 --data none");
  EXPECT_EQ(result.exitCode, 1) << result.output;
  EXPECT_EQ(linesOf(result.output), 1u) << result.output;
}

} // namespace
} // namespace dtc::rt
