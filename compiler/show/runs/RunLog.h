// The logs of a run: what 'dtrun --log-dir' writes into a folder.
#pragma once

#include "compiler/support/Error.h"

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace dtc {

// A number that the log does not have.
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// The causes of time, in the order in which dtrun writes them, and what each of them is.
struct SpentCause {
  const char *key, *meaning;
};
inline constexpr std::array<SpentCause, 9> kSpentCauses = {{
    {"training", "steps that counted"},
    {"start_up", "from the start of the process to its first step"},
    {"input_wait", "steps waited for data"},
    {"checkpoint", "training waited for checkpoints, or read one"},
    {"evaluation", "evaluations"},
    {"lost", "steps that were skipped, or taken back as the loss spiked"},
    {"lost_to_failures", "steps that ran again after a failure"},
    {"restarting", "from a failure to the first step of the next start"},
    {"other", "norms, dumps and other work between steps"},
}};

// The record of a step on one rank. Times are seconds; unknown numbers are kUnknown.
struct LoggedStep {
  uint64_t step = 0;
  double loss = kUnknown, gradNorm = kUnknown, learningRate = kUnknown, lossScale = kUnknown;
  double seconds = kUnknown, samplesPerSecond = kUnknown, tokensPerSecond = kUnknown;
  double mfu = kUnknown; // 0 to 1
  double compute = kUnknown, exposedComm = kUnknown, inputWait = kUnknown, other = kUnknown;
  double checkpointStall = kUnknown;
  double plannedBytes = kUnknown, residentBytes = kUnknown;
  double skippedSteps = kUnknown, rollBacks = kUnknown, skippedBatches = kUnknown; // so far
  double straggler = kUnknown;                                                     // a rank
  double stragglerCost = kUnknown;                 // 0 to 1, share of a step
  double elapsed = kUnknown;                       // time of the job so far
  std::array<double, kSpentCauses.size()> spent{}; // seconds of the job so far, by cause
  bool isRepeated = false; // true if the log had this step before, and went back
};

// The loss of an evaluation after a step.
struct LoggedEvaluation {
  uint64_t step = 0;
  double loss = kUnknown;
};

// The log of one rank, in order of the steps. Where a log goes back, the later lines count.
struct RankSteps {
  uint64_t rank = 0;
  std::vector<LoggedStep> steps;
  std::vector<LoggedEvaluation> evaluations; // empty for ranks other than 0
};

// The reason that a rank recorded as the job failed.
struct FlightNote {
  uint64_t rank = 0;
  std::string reason = {}, position = {};
};

// All logs of a run, in order of the ranks; rank 0 is the first, and has a step at least.
struct RunLog {
  std::string folder;
  std::vector<RankSteps> ranks;
  std::vector<FlightNote> flights;
};

// Reads rank-*.jsonl and flight-rank-*.json of a folder. Errors: there is no log of rank 0, or it
// has no step; a line is cut or is none of dtrun, with the place of the line.
// Example: readRunLog("logs")->ranks.front().steps.back().loss
Result<RunLog> readRunLog(const std::string &folder);

} // namespace dtc
