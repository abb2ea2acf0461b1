// The checkpoints of a run: taken beside the steps, and gone on from.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/checkpoint/Background.h"
#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/Layout.h"
#include "runtime/checkpoint/Reader.h"
#include "runtime/checkpoint/ShardFileWriter.h"
#include "runtime/comm/Control.h"
#include "runtime/exec/Executor.h"
#include "tools/dtrun/Goodput.h"
#include "tools/dtrun/Options.h"
#include "tools/dtrun/Spikes.h"

#include <optional>
#include <string>
#include <vector>

namespace dtc::rt {

// All calls are collective, but for takeStall().
class Checkpoints {
public:
  // What is of this run and not of the program.
  struct Progress {
    uint64_t step = 0; // the last one that ran
    uint64_t skippedSteps = 0, skippedRow = 0;
    double lossScale = 0;
    uint64_t skippedBatches = 0;
    LossMean meanLoss;       // of rank 0
    SpentSeconds spent = {}; // of the job, by rank 0
  };

  // Takes the folder of --checkpoint-dir, and SIGTERM and SIGUSR2, after which afterStep() ends the
  // run. Nothing without --checkpoint-dir. `samples` are those of the data, `rate` is the base of
  // the learning rate. Arguments must outlive this.
  Status open(const Options &options, const Executable &executable, Control &world,
              Executor &executor, Device &device, uint64_t samples, float rate);

  // With --resume: fills parameters and state from the last good checkpoint, of whatever plan, and
  // says where the run stood; `progress` stays empty where there is none to go on from.
  Status resume(std::optional<Progress> &progress);

  // Waits for what is being written, goes back to the last good checkpoint, and removes those of
  // later steps, which nothing leads to any more; `progress` stays empty where there is none.
  // `isChanged` becomes true where parameters and state may no longer be what they were.
  Status rollBack(std::optional<Progress> &progress, bool &isChanged);

  // After each step, while none is under way: takes a checkpoint where one is due. `stops`: a signal
  // asked for the end, which comes after a checkpoint. A checkpoint that cannot be taken is no error:
  // a line on rank 0's stderr says why.
  Status afterStep(const Progress &progress, bool &stops);

  // Waits for the last checkpoint. An error where that one could not be taken.
  Status finish();

  // The folder of the last checkpoint that this run has saved; empty before there is one.
  const std::string &lastSaved() const { return saved; }

  // Seconds that training waited for checkpoints since this was called last.
  double takeStall();
  bool isOn() const { return !options->checkpointDir.empty(); }

private:
  Status openFolder();
  Status readSources();
  Status refuseOldOnes() const;
  bool isDue(uint64_t step) const;
  Status exchange(bool &stops, bool &allDone);
  Status save(const Progress &progress);
  Status stageShard();
  Status copyPiece(const OwnedPiece &piece, std::span<std::byte> file);
  bool isDone() const { return writer.isDone() && committer.isDone(); }
  Status waitForWriters(bool forEver);
  Status advance();
  void conclude(const Status &status);
  Status gatherHashes(const std::vector<std::string> &own);
  Status commit();
  void explainFailure(const Status &status);
  std::string manifestOf() const;

  Status goOn(const std::vector<uint64_t> &steps, std::optional<Progress> &progress,
              bool &isChanged);
  Status listSteps(std::vector<uint64_t> &steps);
  Status checkIsSame(const CheckpointReader &reader);
  Status checkFits(const CheckpointReader &reader) const;
  void noteDifferences(const CheckpointRun &run) const;
  const CheckpointTensor *sourceOf(const CheckpointManifest &from,
                                   const CheckpointSource &wanted) const;
  Status load(CheckpointReader &reader);
  Status loadTensor(CheckpointReader &reader, size_t source);
  Status initialise(size_t source);

  const Options *options = nullptr;
  const Executable *executable = nullptr;
  Control *world = nullptr;
  Executor *executor = nullptr;
  Device *device = nullptr;
  uint64_t samples = 0;
  float rate = 0;
  CheckpointFolder folder;
  std::vector<CheckpointSource> sources;    // of all ranks
  std::vector<const format::Tensor *> held; // of `sources`, as this rank's program has it, or null
  CheckpointLayout layout;
  const CheckpointLayout::Shard *mine =
      nullptr; // what this rank writes; null where it owns nothing
  size_t shardNumber = 0;
  std::string program; // hash
  ShardFileWriter writer;
  std::optional<Progress> underWay;             // the checkpoint that is being written
  bool isCommitting = false;                    // all shards of it are there
  bool endsRun = false;                         // no step comes after it
  std::vector<std::vector<std::string>> hashes; // of its shards, on rank 0
  Status last;                                  // of the checkpoint that was tried last
  std::string saved;                            // of lastSaved()
  double stall = 0, mostWait = 0;               // seconds
  Background committer;                         // of rank 0; the last member, as it uses others
};

} // namespace dtc::rt
