#include "tools/dtrun/Options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dtc::rt {
namespace {

struct Parsed {
  bool run = false;
  int exitCode = -1;
  Options options;
  std::string out, err;
};

Parsed parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "dtrun");
  std::vector<char *> argv;
  for (std::string &argument : arguments)
    argv.push_back(argument.data());
  argv.push_back(nullptr);
  Parsed parsed;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  parsed.run =
      parseOptions(static_cast<int>(argv.size() - 1), argv.data(), parsed.options, parsed.exitCode);
  parsed.out = testing::internal::GetCapturedStdout();
  parsed.err = testing::internal::GetCapturedStderr();
  return parsed;
}

TEST(Options, ReadsTheWholeInterface) {
  Parsed parsed = parse({"m.dte",  "-n",
                         "4",      "--data",
                         "d",      "--steps",
                         "7",      "--seed",
                         "9",      "--lr",
                         "0.5",    "--format",
                         "json",   "--threads",
                         "2",      "--timeout",
                         "30",     "--profile",
                         "t.json", "--dump-params",
                         "p",      "--init",
                         "i",      "--log-dir",
                         "l",      "--eval-data",
                         "e",      "--eval-every",
                         "5",      "--checkpoint-dir",
                         "c",      "--checkpoint-every",
                         "6",      "--keep",
                         "3",      "--resume"});
  ASSERT_TRUE(parsed.run) << parsed.err;
  EXPECT_EQ(parsed.options.model, "m.dte");
  EXPECT_EQ(parsed.options.ranks, 4);
  EXPECT_EQ(parsed.options.steps, 7u);
  EXPECT_EQ(parsed.options.seed, 9u);
  EXPECT_TRUE(parsed.options.hasLearningRate);
  EXPECT_EQ(parsed.options.learningRate, 0.5f);
  EXPECT_TRUE(parsed.options.json);
  EXPECT_EQ(parsed.options.threads, 2);
  EXPECT_EQ(parsed.options.timeoutSeconds, 30);
  EXPECT_EQ(parsed.options.logDir, "l");
  EXPECT_EQ(parsed.options.evalData, "e");
  EXPECT_EQ(parsed.options.evalEvery, 5u);
  EXPECT_EQ(parsed.options.checkpointDir, "c");
  EXPECT_EQ(parsed.options.checkpointEvery, 6u);
  EXPECT_EQ(parsed.options.keep, 3u);
  EXPECT_TRUE(parsed.options.resume);
}

TEST(Options, RefusesCheckpointsWithoutAFolder) {
  for (std::vector<std::string> flags : {std::vector<std::string>{"--resume"},
                                         {"--keep", "3"},
                                         {"--checkpoint-every", "5"},
                                         {"--checkpoint-dir", "c", "--keep", "0"},
                                         {"--checkpoint-dir", "c", "--checkpoint-every", "0"},
                                         {"--checkpoint-dir", "", "--resume"},
                                         {"--checkpoint-dir", "c", "--keep", "-1"}}) {
    flags.insert(flags.begin(), {"m.dte", "--data", "d"});
    Parsed parsed = parse(flags);
    EXPECT_FALSE(parsed.run) << flags[3];
    EXPECT_EQ(parsed.exitCode, 2);
    EXPECT_FALSE(parsed.err.empty());
  }
}

TEST(Options, LeavesDefaultsToTheProgram) {
  Parsed parsed = parse({"m.dte", "--data", "d"});
  ASSERT_TRUE(parsed.run) << parsed.err;
  EXPECT_FALSE(parsed.options.hasLearningRate);
  EXPECT_FALSE(parsed.options.json);
  EXPECT_EQ(parsed.options.ranks, 0);
}

TEST(Options, ReadsHowARunIsWatched) {
  Parsed parsed = parse({"m.dte", "--data", "d", "--metrics-port", "9400", "--metrics-host", "::1",
                         "--progress", "off", "--norms-every", "5", "--check-replicas", "7"});
  ASSERT_TRUE(parsed.run) << parsed.err;
  EXPECT_TRUE(parsed.options.hasMetricsPort);
  EXPECT_EQ(parsed.options.metricsPort, 9400);
  EXPECT_EQ(parsed.options.metricsHost, "::1");
  EXPECT_EQ(parsed.options.progress, ProgressView::Off);
  EXPECT_TRUE(parsed.options.hasNormsEvery);
  EXPECT_EQ(parsed.options.normsEvery, 5u);
  EXPECT_EQ(parsed.options.checkReplicas, 7u);
  parsed = parse({"m.dte", "--data", "d"});
  ASSERT_TRUE(parsed.run) << parsed.err;
  EXPECT_FALSE(parsed.options.hasMetricsPort);
  EXPECT_FALSE(parsed.options.hasNormsEvery);
  EXPECT_EQ(parsed.options.progress, ProgressView::Auto);
}

TEST(Options, RefusesBadValuesInOneLine) {
  const std::vector<std::vector<std::string>> cases = {
      {},
      {"m.dte"},
      {"m.dte", "--data", "d", "--bogus"},
      {"m.dte", "--data", "d", "--steps", "-3"},
      {"m.dte", "--data", "d", "--steps", "1e3"},
      {"m.dte", "--data", "d", "--seed", "18446744073709551616"},
      {"m.dte", "--data", "d", "--lr", "nan"},
      {"m.dte", "--data", "d", "--lr", "-1"},
      {"m.dte", "--data", "d", "--threads", "0"},
      {"m.dte", "--data", "d", "--timeout", "0"},
      {"m.dte", "--data", "d", "-n", "0"},
      {"m.dte", "--data", "d", "--eval-every", "3"},
      {"m.dte", "--data", "d", "--eval-data", "e", "--eval-every", "0"},
      {"m.dte", "--data", "d", "--metrics-port", "65536"},
      {"m.dte", "--data", "d", "--metrics-port", "-1"},
      {"m.dte", "--data", "d", "--metrics-port", "http"},
      {"m.dte", "--data", "d", "--metrics-host", "0.0.0.0"},
      {"m.dte", "--data", "d", "--progress", "maybe"},
      {"m.dte", "--data", "d", "--progress", "on", "--format", "json"},
      {"m.dte", "--data", "d", "--norms-every", "-1"},
      {"m.dte", "--data", "d", "--check-replicas", "x"},
      {"m.dte", "--data", "d", "--format", "xml"}};
  for (const auto &arguments : cases) {
    Parsed parsed = parse(arguments);
    EXPECT_FALSE(parsed.run);
    EXPECT_EQ(parsed.exitCode, kExitBadUsage);
    EXPECT_EQ(parsed.err.rfind("dtrun: ", 0), 0u) << parsed.err;
    EXPECT_EQ(parsed.err.find('\n'), parsed.err.size() - 1) << "one line: " << parsed.err;
  }
}

TEST(Options, HelpHasAnExample) {
  Parsed help = parse({"--help"});
  EXPECT_EQ(help.exitCode, kExitDone);
  EXPECT_NE(help.out.find("dtrun model.dte -n 4 --data train.bin"), std::string::npos);
  EXPECT_NE(help.out.find("DTC_TIMEOUT"), std::string::npos);
  Parsed version = parse({"--version"});
  EXPECT_EQ(version.exitCode, kExitDone);
  EXPECT_EQ(version.out.rfind("dtrun ", 0), 0u);
}

} // namespace
} // namespace dtc::rt
