// The manifest of a checkpoint: manifest.json of its folder.
//
// A checkpoint is a folder DIR/step-N:
//   shard-00000.safetensors ..  what each rank owns, a file a rank: pieces of parameters and state
//   manifest.json               this: the place of each piece, hashes of all shards, the run's
//   position
//   COMPLETE                    written last: the hash of manifest.json
// A shard's hashes are of blocks of 1 MiB, so that a rank that reads part of it can check that
// part.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/checkpoint/Boxes.h"
#include "runtime/format/ElementTypes.h"
#include "runtime/format/Operands.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dtc::rt {

inline constexpr uint64_t kCheckpointBlock = uint64_t(1) << 20;
// The most seconds that a cause may account for; 30,000 years.
inline constexpr double kMostSpentSeconds = 1e12;

inline constexpr size_t kHashDigits = 32;
// Returns XXH3-128 as that many hexadecimal digits.
std::string hashOf(std::span<const std::byte> bytes);

// A box of a tensor, row-major at byte `offset` of a shard's file.
struct CheckpointPiece {
  uint32_t shard = 0;
  uint64_t offset = 0;
  Box box;
};

// A tensor and its pieces.
struct CheckpointTensor {
  std::string name, dtype;                  // see format::storedName
  bool isParameter = true;                  // else state of the optimizer
  std::string copyOf;                       // state: the parameter of which it is the f32 value
  std::vector<uint64_t> shape, storedShape; // see TensorSpec
  std::vector<CheckpointPiece> pieces;      // every element in exactly one

  // Returns the bytes of an element; 0 of an unknown dtype.
  uint64_t width() const {
    std::optional<format::DType> type = format::storedType(dtype);
    return type ? format::bytesOf(*type) : 0;
  }
};

// A shard's file.
struct CheckpointShard {
  uint64_t bytes = 0;              // bytes of the file
  std::vector<std::string> hashes; // hashes of its blocks; the last one may be shorter
};

// The position of a run, and the data that it read. All that is random in a run follows from seed
// and step.
struct CheckpointRun {
  // The last step that ran; at 0 there are parameters alone, in any dtype: a start.
  uint64_t step = 0;
  uint64_t totalSteps = 0, seed = 0; // --steps and --seed of the run
  float baseLearningRate = 0;        // the schedule's position is `step` of totalSteps
  uint64_t globalBatch = 0;          // samples a step
  uint64_t skippedBatches = 0;       // step s + 1 reads batch s + 1 + skippedBatches of the data
  uint64_t sequenceLength = 0;       // tokens of a sample; 0 for a model without sequences
  uint64_t samples = 0;              // different samples in the data
  uint64_t skippedSteps = 0, skippedRow = 0; // so far, and the latest ones in a row
  double meanLoss = 0;                       // over meanLossSteps steps, as LossMean of dtrun
  uint64_t meanLossSteps = 0;
  double lossScale = 0; // only for people, as the state has it; 0 if there is none
  // Seconds of the job until then, by cause; empty at a start, and in older checkpoints.
  std::vector<std::pair<std::string, double>> spent;
};

// The content of manifest.json.
struct CheckpointManifest {
  std::string producer, model, program; // "dtrun 0.1.0"; the model's name; hash of the .dte
  std::string config; // the Hugging Face config.json that the model was made from; may be empty
  CheckpointRun run;
  std::vector<std::pair<std::string, uint64_t>> mesh; // axes of the plan
  std::vector<CheckpointShard> shards;                // number i is file shardFile(i)
  std::vector<CheckpointTensor> tensors;              // in order of name

  const CheckpointTensor *find(std::string_view name) const; // null if there is none
  uint64_t bytes() const;                                    // bytes of all shards
  // Returns true if no step has run.
  bool isStart() const { return run.step == 0; }
};

// Returns "shard-00012.safetensors".
std::string shardFile(size_t number);

// Returns the name of a piece in its shard: the tensor's name, and the box if it is no whole
// tensor: "w[0:8, 4:6]".
std::string entryName(const CheckpointTensor &tensor, const CheckpointPiece &piece);

// Returns the text of manifest.json.
std::string toJson(const CheckpointManifest &manifest);

} // namespace dtc::rt
