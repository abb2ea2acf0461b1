// What dtrun prints and logs for each step.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/exec/Executor.h"
#include "tools/dtrun/BlockNorms.h"
#include "tools/dtrun/Goodput.h"
#include "tools/dtrun/RankLoads.h"

#include <optional>
#include <string>
#include <vector>

namespace dtc::rt {

struct StepReport {
  uint64_t step = 0;
  StepResult result;
  double seconds = 0; // of the whole step, loading of data included
  double samplesPerSecond = 0;
  uint64_t sequenceLength = 0; // tokens of a sample; 0 for a model that has no sequences
  double mfu = 0;              // 0..1; negative where the file does not know the device's peak
  float learningRate = 0;
  uint64_t peakMemoryBytes = 0;               // the arena, as planned
  uint64_t residentBytes = 0;                 // of this process, now; 0: the system does not say
  uint64_t rollBacks = 0, skippedBatches = 0; // so far; the latter of the data, as in CheckpointRun
  double checkpointStall = 0; // seconds that training waited for checkpoints before this step
  // Whether its gradients were not finite, so that it changed nothing.
  bool isSkipped = false;
  double inputWait = 0; // seconds of this step in which nothing but data was missing
  RankLoads loads;
  SpentSeconds goodput = {};    // shares of the job's time so far
  double elapsed = 0;           // seconds of that
  std::vector<BlockNorm> norms; // of parameters; empty where they were not measured
};

// Where a step's seconds went on this rank; together those of the step.
struct StepSplit {
  double compute = 0, exposedComm = 0, inputWait = 0, other = 0;
};

// Nothing where the device has not told how long instructions took, as GPUs do with --profile only.
std::optional<StepSplit> splitOf(const StepReport &report);

// One JSON object: step, loss, grad_norm, lr, step_time_s, samples_per_s, tokens_per_s, mfu,
// exposed_comm_fraction, peak_memory_bytes, skipped_steps (so far), loss_scale, roll_backs,
// skipped_batches, checkpoint_stall_s,
// compute_s, exposed_comm_s, input_wait_s, other_s, resident_bytes, rank_work_s (a list), slowest_rank,
// slowest_excess, straggler, straggler_cost, elapsed_s, goodput (an object), and where they were measured param_norms (an object). What is
// not known or not finite is null, and so are the tokens of a model without sequences and the scale
// of a program that has none. docs/watching.md says what each of them means.
std::string stepAsJson(const StepReport &report);

// One aligned line with units:
// "step     3  loss 4.1234  grad norm 1.25  lr 1.00e-03  12.3 ms  41.6k tokens/s  MFU 12.3%
// comm 4.5%"; samples/s for a model without sequences. A step that was skipped says so at the end:
// "  skipped: gradients are not finite (2 so far, loss scale 32768)"; and so does one before which
// training waited for a checkpoint: "  checkpoint 12.3 ms".
std::string stepAsText(const StepReport &report);

struct EvaluationReport {
  uint64_t step = 0; // after which it ran
  double loss = 0;
  uint64_t count = 0;       // what the loss is the mean over
  bool countsTokens = true; // else samples
};

// {"step":100,"eval_loss":4.125,"eval_tokens":65536}; no number of tokens for a model that has none.
std::string evaluationAsJson(const EvaluationReport &report);

// "step    100  eval loss   4.12500 over 65536 tokens"
std::string evaluationAsText(const EvaluationReport &report);

// Sums up what a run has done when it ends.
struct RunSummary {
  uint64_t steps = 0, lastStep = 0; // that this process ran; the number of the last one
  uint64_t samples = 0;             // of those steps
  uint64_t sequenceLength = 0;      // tokens of a sample; 0 for a model that has no sequences
  double seconds = 0;               // since the first of them began
  StepResult last;                  // of the last one
  std::string checkpoint;           // the folder of the last checkpoint that was saved, or empty
  bool stopped = false;             // a signal asked for the end
};

// "50 steps in 12.30 s, 205k tokens, last loss 3.14159; checkpoint runs/step-50"; after a signal
// "step 37 saved in runs/step-37; --resume goes on after it (37 steps in ..., last loss ...)".
std::string summaryAsText(const RunSummary &summary);

// "41.6k tokens/s"; samples/s for a model without sequences.
std::string speedAsText(const StepReport &report);

// "1.5 GB": a size for people, powers of 1000.
std::string humanBytes(uint64_t bytes);

// The metrics of one rank: stepAsJson and the seconds of each class of instruction, a line a step;
// and evaluationAsJson, a line an evaluation.
class RankLog {
public:
  RankLog() = default;
  ~RankLog();
  RankLog(const RankLog &) = delete;
  RankLog &operator=(const RankLog &) = delete;

  // Makes `folder` and `folder`/rank-`rank`.jsonl where they are not there. What the file holds
  // goes when the first line is written, all or what goOnAfter() says: a run that ends before leaves
  // all as it was.
  // InvalidArgument where it cannot be written, or another process has it open here.
  Status open(const std::string &folder, int rank);
  // Lines of steps up to `step` stay, as the run goes on after it; those after them go.
  void goOnAfter(uint64_t step);
  // Nothing where open() was not called. The line is in the file when this returns ok; else there is
  // nothing of it, and the next may be written all the same.
  Status write(const StepReport &report);
  Status write(const EvaluationReport &report);

private:
  Status append(const std::string &line);
  Status failure() const;

  std::string folder, path;
  int descriptor = -1;
  size_t wholeBytes = 0; // of lines that are in the file
  bool madeFolder = false, madeFile = false, hasLines = false;
  bool isCut = false; // to what stays
};

} // namespace dtc::rt
