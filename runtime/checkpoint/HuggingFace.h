// Checkpoints from and to folders of Hugging Face's: config.json and model.safetensors.
#pragma once

#include "runtime/checkpoint/Reader.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dtc::rt {

// What was written.
struct WrittenWeights {
  size_t tensors = 0, files = 0;
  uint64_t bytes = 0;              // of tensors
  std::vector<std::string> copied; // names of files beside the weights, but for config.json
};

// Names what goes into a folder of Hugging Face's beside the weights.
struct ModelFiles {
  std::string config; // the text of config.json
  // Whether dtc builds the model from the config: architectures and tie_word_embeddings are set where
  // they say nothing or something else. Otherwise only the dtype is, that of the weights.
  bool isKnown = true;
  std::string folder; // the tokenizer's files are copied from here; empty: none are
};

// Writes the parameters of a checkpoint, as they are trained with, to a new folder that transformers'
// from_pretrained loads; state of the optimizer stays behind. Weights of more than `mostBytes` go to
// several files of at most that, a tensor that is larger to one of its own. The folder appears whole
// or not at all; InvalidArgument where there is one of its name that has anything in it.
// Example: exportHuggingFace(reader, {reader.manifest().config}, "trained", 5'000'000'000, written)
Status exportHuggingFace(CheckpointReader &reader, const ModelFiles &files,
                         const std::string &folder, uint64_t mostBytes, WrittenWeights &written);

// Compares the parameters of a checkpoint with the weights in `folder`, if it has any: names and
// shapes have to be the same, but for what WeightFiles::match() lets pass.
Status checkSameTensors(const CheckpointReader &reader, const std::string &folder);

// Makes a checkpoint of step 0 in `folder`, that is folder/step-0, of the weights in `from`, a folder or
// one file: a run that goes on from it starts with them, and anew in all else. `parameters` are those
// of the model (name, globalShape, storedShape), all of which have to be there. The elements stay as
// they are, in the dtype of the file.
Status importHuggingFace(const std::string &from, const std::string &model,
                         const std::string &config, std::vector<TensorSpec> parameters,
                         const std::string &folder, WrittenWeights &written);

} // namespace dtc::rt
