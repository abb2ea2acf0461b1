// What a checkpoint says of itself: manifest.json of its folder.
//
// A checkpoint is a folder DIR/step-N:
//   shard-00000.safetensors ..  what each rank owns, one file a rank: pieces of parameters and state
//   manifest.json               this: where each piece is, hashes of all shards, where the run stood
//   COMPLETE                    written last: the hash of manifest.json
// A shard's hashes are of blocks of 1 MiB, so that a rank that reads part of it can check that part.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/checkpoint/Boxes.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dtc::rt {

inline constexpr uint64_t kCheckpointBlock = uint64_t(1) << 20;
// Of a cause that a job's time went to; 30,000 years.
inline constexpr double kMostSpentSeconds = 1e12;

// XXH3-128 as 32 hex digits.
std::string hashOf(std::span<const std::byte> bytes);

// A box of a tensor, row-major at byte `offset` of a shard's file.
struct CheckpointPiece {
  uint32_t shard = 0;
  uint64_t offset = 0;
  Box box;
};

struct CheckpointTensor {
  std::string name, dtype;                  // "F32", "BF16" or "F16"
  bool isParameter = true;                  // else state of the optimizer
  std::string copyOf;                       // of state: the parameter of which it is the f32 value
  std::vector<uint64_t> shape, storedShape; // as in TensorSpec
  std::vector<CheckpointPiece> pieces;      // every element in exactly one

  uint64_t width() const { return dtype == "F32" ? 4 : 2; } // bytes of an element
};

struct CheckpointShard {
  uint64_t bytes = 0;              // of the file
  std::vector<std::string> hashes; // of its blocks; the last one may be shorter
};

// Where a run stood, and what it read. All that is random in a run follows from seed and step.
struct CheckpointRun {
  uint64_t step =
      0; // the last one that ran; of 0 there are parameters alone, in any dtype: a start
  uint64_t totalSteps = 0, seed = 0; // of the run: --steps, --seed
  float baseLearningRate = 0;        // the schedule's position is `step` of totalSteps
  uint64_t globalBatch = 0;          // samples a step
  uint64_t skippedBatches = 0;       // of the data: step s + 1 reads batch s + 1 + skippedBatches
  uint64_t sequenceLength = 0;       // tokens of a sample; 0 for a model without sequences
  uint64_t samples = 0;              // different ones that the data has
  uint64_t skippedSteps = 0, skippedRow = 0; // so far, and the last ones one after another
  double meanLoss = 0;                       // of meanLossSteps steps, as LossMean of dtrun has it
  uint64_t meanLossSteps = 0;
  double lossScale = 0; // for people: the state has it; 0 where there is none
  // Seconds of the job until then, by cause; empty of a start, and of older checkpoints.
  std::vector<std::pair<std::string, double>> spent;
};

struct CheckpointManifest {
  std::string producer, model, program; // "dtrun 0.1.0"; the model's name; hash of the .dte
  std::string config; // the Hugging Face config.json that the model was made from; empty: of none
  CheckpointRun run;
  std::vector<std::pair<std::string, uint64_t>> mesh; // axes of the plan
  std::vector<CheckpointShard> shards;                // number i is file shardFile(i)
  std::vector<CheckpointTensor> tensors;              // by name

  const CheckpointTensor *find(std::string_view name) const; // null where there is none
  uint64_t bytes() const;                                    // of all shards
  bool isStart() const { return run.step == 0; }
};

// "shard-00012.safetensors"
std::string shardFile(size_t number);

// What a piece is called in its shard: the tensor's name, and where it is no whole tensor its box:
// "w[0:8, 4:6]".
std::string entryName(const CheckpointTensor &tensor, const CheckpointPiece &piece);

std::string toJson(const CheckpointManifest &manifest);

// Reads what anyone may have written; `path` is for messages. DataLoss where anything is not as
// above: then nothing of it may be used. What is checked: types, sizes against each other, names,
// that pieces are within their shards and share no byte, and that each tensor is there once.
Status parseManifest(const std::string &path, std::string_view json, CheckpointManifest &manifest);

} // namespace dtc::rt
