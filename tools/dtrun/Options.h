// The command line of dtrun.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dtc::rt {

inline constexpr const char *kVersion = "dtrun 0.1.0";

// Exit codes of dtrun. Scripts may rely on them.
enum ExitCode {
  kExitDone = 0,
  kExitUserError = 1, // the input is wrong: file, data, number of ranks
  kExitBadUsage = 2,
  kExitRankLost = 3, // a rank died or a collective timed out
  kExitDiverged = 4, // the loss is not finite
  kExitInternal = 70,
  kExitStopped = 143, // stopped by SIGTERM, after a step and a checkpoint
};

// Tells rank 0 to draw a view of the run in place of a line per step, or not to.
enum class ProgressView { Auto, On, Off };

// The options of the command line, with their defaults.
struct Options {
  std::string model;
  int ranks = 0; // from -n; 0 if not given
  std::string data;
  std::string evalData; // empty for no evaluation
  bool hasEvalEvery = false;
  uint64_t evalEvery = 0; // steps; 0: after the last one only
  uint64_t steps = 100;
  uint64_t seed = 1;
  bool hasLearningRate = false;
  float learningRate = 0; // replaces the program's rate if hasLearningRate is set
  bool json = false;
  int threads = 0;           // per rank; 0: a share of the machine
  double timeoutSeconds = 0; // 0: DTC_TIMEOUT
  std::string profile, dumpParams, dumpGrads, init, logDir;
  std::vector<uint64_t> dumpGradsAt; // steps; empty: the last one
  std::string checkpointDir;         // empty for no checkpoints
  bool hasCheckpointEvery = false;
  uint64_t checkpointEvery = 0; // steps; 0: after the last one only
  uint64_t keep = 2;
  bool hasKeepEvery = false;
  uint64_t keepEvery = 0; // steps; 0: none but the last `keep`
  bool resume = false;
  bool hasSpikeFactor = false;
  double spikeFactor = 0; // from --spike-factor; 0: losses are not checked
  uint64_t restarts = 0;  // in a row without a new checkpoint
  bool hasNormsEvery = false;
  uint64_t normsEvery = 0;    // steps; 0: never
  uint64_t checkReplicas = 0; // steps; 0: never
  bool hasMetricsPort = false;
  int metricsPort = 0; // 0 for any free port
  std::string metricsHost = "127.0.0.1";
  bool hasDocumentEnd = false;
  int32_t documentEnd = 0; // the token behind each document, if hasDocumentEnd is set
  std::string longDocuments = "split";
  std::string trust;   // a file of public keys; empty: anything is loaded
  std::string signKey; // a file of a secret key; empty: checkpoints are not signed
  bool dryRun = false; // checks the run and trains nothing
  ProgressView progress = ProgressView::Auto;
};

// Reads the command line. Returns true if there is a run to start. Otherwise it has printed help,
// version or a line about a mistake, and sets `exitCode`.
bool parseOptions(int argc, char **argv, Options &options, int &exitCode);

} // namespace dtc::rt
