// The command line of dtrun.
#pragma once

#include <cstdint>
#include <string>

namespace dtc::rt {

inline constexpr const char *kVersion = "dtrun 0.1.0";

// Exit codes of dtrun, which scripts may rely on.
enum ExitCode {
  kExitDone = 0,
  kExitUserError = 1, // input is wrong: file, data, number of ranks
  kExitBadUsage = 2,
  kExitRankLost = 3, // a rank died or a collective timed out
  kExitDiverged = 4, // the loss is not finite
  kExitInternal = 70,
  kExitStopped = 143, // SIGTERM came: a checkpoint was taken after the step that ran
};

// Whether rank 0 draws how the run fares in place of a line for each step.
enum class ProgressView { Auto, On, Off };

struct Options {
  std::string model;
  int ranks = 0; // of -n; 0 when not given
  std::string data;
  std::string evalData; // empty: no evaluation
  bool hasEvalEvery = false;
  uint64_t evalEvery = 0; // steps; 0: after the last one only
  uint64_t steps = 100;
  uint64_t seed = 1;
  bool hasLearningRate = false;
  float learningRate = 0; // the program's own unless hasLearningRate
  bool json = false;
  int threads = 0;           // per rank; 0: a share of the machine
  double timeoutSeconds = 0; // 0: DTC_TIMEOUT
  std::string profile, dumpParams, dumpGrads, init, logDir;
  std::string checkpointDir; // empty: no checkpoints
  bool hasCheckpointEvery = false;
  uint64_t checkpointEvery = 0; // steps; 0: after the last one only
  uint64_t keep = 2;
  bool hasKeepEvery = false;
  uint64_t keepEvery = 0; // steps; 0: none but the last `keep`
  bool resume = false;
  bool hasSpikeFactor = false;
  double spikeFactor = 0; // of --spike-factor; 0: losses are not looked at
  uint64_t restarts = 0;  // in a row without a new checkpoint
  bool hasNormsEvery = false;
  uint64_t normsEvery = 0;    // steps; 0: never
  uint64_t checkReplicas = 0; // steps; 0: never
  bool hasMetricsPort = false;
  int metricsPort = 0; // 0: any that is free
  std::string metricsHost = "127.0.0.1";
  bool dryRun = false; // checks all of the run and trains nothing
  ProgressView progress = ProgressView::Auto;
};

// Reads the command line. True when there is something to run; otherwise help, version or one line
// of complaint has been printed and `exitCode` says how to end.
bool parseOptions(int argc, char **argv, Options &options, int &exitCode);

} // namespace dtc::rt
