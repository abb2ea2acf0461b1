// The checkpoints of a run: writes them while steps run, and resumes from them.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/checkpoint/Background.h"
#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/Layout.h"
#include "runtime/checkpoint/Reader.h"
#include "runtime/checkpoint/ShardFileWriter.h"
#include "runtime/checkpoint/SignedDigests.h"
#include "runtime/comm/Control.h"
#include "runtime/exec/Executor.h"
#include "runtime/trust/TrustedKeys.h"
#include "tools/dtrun/Goodput.h"
#include "tools/dtrun/Options.h"
#include "tools/dtrun/Spikes.h"

#include <optional>
#include <string>
#include <vector>

namespace dtc::rt {

// Takes and reads the checkpoints of a run. All calls except takeStall() are collective.
class Checkpoints {
public:
  // State of the run that is not in the program's tensors.
  struct Progress {
    uint64_t step = 0; // the last one that ran
    uint64_t skippedSteps = 0, skippedRow = 0;
    double lossScale = 0;
    uint64_t skippedBatches = 0;
    LossMean meanLoss;       // rank 0's
    SpentSeconds spent = {}; // time of the whole job, counted by rank 0
  };

  // Takes over the folder of --checkpoint-dir, and the signals SIGTERM and SIGUSR2, after which
  // afterStep() ends the run. Does nothing without --checkpoint-dir. `samples` is the number of
  // samples of the data, `rate` the base of the learning rate. Arguments must outlive this.
  Status open(const Options &options, const Executable &executable, Control &world,
              Executor &executor, Device &device, uint64_t samples, float rate);

  // With --resume: fills parameters and state from the last good checkpoint, whatever plan wrote
  // it, and sets `progress` to the state of that run. `progress` stays empty if there is no
  // checkpoint.
  Status resume(std::optional<Progress> &progress);

  // Waits for the checkpoint that is being written, goes back to the last good one, and removes
  // those of later steps, which are no longer part of the run. `progress` stays empty if there is
  // no good checkpoint. `isChanged` becomes true if parameters and state may have changed
  // nevertheless.
  Status rollBack(std::optional<Progress> &progress, bool &isChanged);

  // Call after each step: takes a checkpoint if one is due and none is being written. `stops`
  // becomes true if a signal asked for the end; a checkpoint is then taken first. A checkpoint that
  // cannot be taken is no error: a line on rank 0's stderr tells why.
  Status afterStep(const Progress &progress, bool &stops);

  // Waits for the last checkpoint. Returns an error if it could not be taken.
  Status finish();

  // Returns the folder of the last checkpoint that this run has saved, or an empty string.
  const std::string &lastSaved() const { return saved; }

  // Returns the seconds that training has waited for checkpoints since the last call.
  double takeStall();
  // Returns true if the run has a folder for checkpoints.
  bool isOn() const { return !options->checkpointDir.empty(); }

private:
  Status openFolder();
  Status readKeys();
  Status readSources();
  Status refuseOldOnes() const;
  bool isDue(uint64_t step) const;
  Status agreeOnEnd(bool &stops, bool &allDone);
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
  SignedDigests digestsOf(std::string_view manifest) const;

  Status goOn(const std::vector<uint64_t> &steps, std::optional<Progress> &progress,
              bool &isChanged);
  Status listSteps(std::vector<uint64_t> &steps);
  Status checkIsSame(const CheckpointReader &reader);
  Status checkFits(const CheckpointReader &reader) const;
  void noteDifferences(const CheckpointRun &run) const;
  const CheckpointTensor *sourceOf(const CheckpointManifest &from,
                                   const CheckpointSource &wanted) const;
  Status load(CheckpointReader &reader);
  Status loadSum(CheckpointReader &reader, size_t source);
  Status loadTensor(CheckpointReader &reader, size_t source);
  Status initialise(size_t source);

  const Options *options = nullptr;
  const Executable *executable = nullptr;
  Control *world = nullptr;
  Executor *executor = nullptr;
  Device *device = nullptr;
  uint64_t samples = 0;
  float rate = 0;
  TrustedKeys trusted; // of --trust
  SecretKey signKey;   // of --sign-key
  CheckpointFolder folder;
  std::vector<CheckpointSource> sources; // tensors of all ranks
  // for each of `sources` the tensor in this rank's program, or null
  std::vector<const format::Tensor *> held;
  CheckpointLayout layout;
  const CheckpointLayout::Shard *mine =
      nullptr; // the shard that this rank writes; null if it owns nothing
  size_t shardNumber = 0;
  std::string program; // hash
  ShardFileWriter writer;
  std::optional<Progress> underWay; // the checkpoint that is being written
  bool isCommitting = false;        // all shards are complete
  bool endsRun = false;             // no step follows the checkpoint
  // hashes of the shards' blocks, on rank 0; with --sign-key the digest of a block follows its hash
  std::vector<std::vector<std::string>> hashes;
  Status last;                    // result of the checkpoint that was tried last
  std::string saved;              // folder of the last checkpoint
  double stall = 0, mostWait = 0; // seconds
  Background committer;           // used by rank 0; the last member, because it uses others
};

} // namespace dtc::rt
