// The lines that dtrun prints and logs for each step.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/exec/Executor.h"
#include "tools/dtrun/BlockNorms.h"
#include "tools/dtrun/ExpertLoads.h"
#include "tools/dtrun/Goodput.h"
#include "tools/dtrun/RankLoads.h"

#include <optional>
#include <string>
#include <vector>

namespace dtc::rt {

// The measurements of one step and of the run up to it.
struct StepReport {
  uint64_t step = 0;
  StepResult result;
  double seconds = 0; // of the whole step, loading of data included
  double samplesPerSecond = 0;
  uint64_t sequenceLength = 0; // tokens of a sample; 0 for a model that has no sequences
  double mfu = 0;              // 0 to 1; negative if the file does not know the peak of the device
  float learningRate = 0;
  uint64_t peakMemoryBytes = 0; // the arena, as planned
  uint64_t residentBytes = 0;   // memory of this process now; 0 if the system does not tell
  // so far; skippedBatches counts batches of the data, as in CheckpointRun
  uint64_t rollBacks = 0, skippedBatches = 0;
  double checkpointStall = 0; // seconds that training waited for checkpoints before this step
  // True if its gradients were not finite, so that it changed nothing.
  bool isSkipped = false;
  double inputWait = 0; // seconds of this step in which only data was missing
  RankLoads loads;
  std::optional<ExpertLoads> experts; // none if the model has none
  SpentSeconds goodput = {};          // shares of the job's time so far
  double elapsed = 0;                 // seconds of the job so far
  std::vector<BlockNorm> norms;       // of parameters; empty if they were not measured
};

// The seconds of a step on this rank by cause. Their sum is the time of the step.
struct StepSplit {
  double compute = 0, exposedComm = 0, inputWait = 0, other = 0;
};

// Splits the seconds of a step. Returns nothing if the device did not measure its instructions;
// GPUs measure them only with --profile.
std::optional<StepSplit> splitOf(const StepReport &report);

// Returns one JSON object: step, loss, grad_norm, lr, step_time_s, samples_per_s, tokens_per_s,
// mfu, exposed_comm_fraction, peak_memory_bytes, skipped_steps (so far), loss_scale, roll_backs,
// skipped_batches, checkpoint_stall_s, compute_s, exposed_comm_s, input_wait_s, other_s,
// resident_bytes, rank_work_s (a list), slowest_rank, slowest_excess, straggler, straggler_cost,
// elapsed_s, goodput (an object), expert_imbalance, expert_rounds and router_loss of models with
// experts, and if they were measured expert_load (a list) and param_norms (an object). A value that
// is unknown or not finite is null, and so are the tokens of a model without sequences and the
// scale of a program that has none. docs/watching.md explains each key.
std::string stepAsJson(const StepReport &report);

// Returns one aligned line with units:
// "step     3  loss 4.1234  grad norm 1.25  lr 1.00e-03  12.3 ms  41.6k tokens/s  MFU 12.3%  comm
// 4.5%", or samples/s for a model without sequences. The line of a skipped step ends in
// "  skipped: gradients are not finite (2 so far, loss scale 32768)". If training waited for a
// checkpoint before the step, the line ends in "  checkpoint 12.3 ms".
std::string stepAsText(const StepReport &report);

// The result of one evaluation.
struct EvaluationReport {
  uint64_t step = 0; // the step after which it ran
  double loss = 0;
  uint64_t count = 0;       // number of tokens or samples over which the loss is the mean
  bool countsTokens = true; // true for tokens, false for samples
};

// Returns {"step":100,"eval_loss":4.125,"eval_tokens":65536}. A model without sequences has no
// number of tokens.
std::string evaluationAsJson(const EvaluationReport &report);

// Returns "step    100  eval loss   4.12500 over 65536 tokens".
std::string evaluationAsText(const EvaluationReport &report);

// Sums up what a run has done when it ends.
struct RunSummary {
  uint64_t steps = 0, lastStep = 0; // number of steps of this process, and number of the last one
  uint64_t stepsBefore = 0;         // steps of the run before this process
  uint64_t samples = 0;             // in those steps
  uint64_t sequenceLength = 0;      // tokens of a sample; 0 for a model that has no sequences
  double seconds = 0;               // since the first of them began
  StepResult last;                  // result of the last one
  std::string checkpoint;           // the folder of the last checkpoint that was saved, or empty
  bool stopped = false;             // true if a signal asked for the end
};

// Returns "50 steps in 12.30 s, 205k tokens, last loss 3.14159; checkpoint runs/step-50", or after
// a signal "step 37 saved in runs/step-37; --resume goes on after it (37 steps in ..., last loss
// ...)". If all steps ran before this process, returns "all 50 steps ran before; raise --steps to
// train more". Returns "" if the run has no steps.
std::string summaryAsText(const RunSummary &summary);

// Returns "41.6k tokens/s", or samples/s for a model without sequences.
std::string speedAsText(const StepReport &report);

// Returns a size for people, such as "1.5 GB", in powers of 1000.
std::string humanBytes(uint64_t bytes);

// The log of one rank: one line per step, with stepAsJson and the seconds of each class of
// instruction, and one line per evaluation, with evaluationAsJson.
class RankLog {
public:
  RankLog() = default;
  ~RankLog();
  RankLog(const RankLog &) = delete;
  RankLog &operator=(const RankLog &) = delete;

  // Makes `folder` and `folder`/rank-`rank`.jsonl if they do not exist. The old lines of the file,
  // except those that goOnAfter() keeps, are removed only when the first line is written, so that a
  // run that ends before changes nothing. Errors: InvalidArgument if the file cannot be written, or
  // if another process on this machine has it open.
  Status open(const std::string &folder, int rank);
  // Returns true if a rank of the run has made the folder: this one, unless told of another. Then
  // the folder is removed at the end if no rank has written a line.
  bool madeFolder() const { return isFolderMade; }
  void setMadeFolder(bool made) { isFolderMade = made; }
  // The run resumes after `step`: keeps the lines of steps up to `step` and removes later ones.
  void goOnAfter(uint64_t step);
  // Writes a line. Does nothing before open(). If the result is ok, the line is in the file. After
  // an error nothing of the line is in it, and the next line may be written.
  Status write(const StepReport &report);
  // Writes the line of an evaluation, as above.
  Status write(const EvaluationReport &report);

private:
  Status append(const std::string &line);
  Status failure() const;

  std::string folder, path;
  int descriptor = -1;
  size_t wholeBytes = 0; // size of the lines in the file
  bool isFolderMade = false, madeFile = false, hasLines = false;
  bool isCut = false; // old lines have been removed
};

} // namespace dtc::rt
