// Checkpoints from and to Hugging Face folders: config.json and model.safetensors.
#pragma once

#include "runtime/checkpoint/Reader.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dtc::rt {

// A summary of the written files.
struct WrittenWeights {
  size_t tensors = 0, files = 0;
  uint64_t bytes = 0;              // bytes of tensors
  std::vector<std::string> copied; // files beside the weights, without config.json
};

// The files of a Hugging Face folder beside the weights.
struct ModelFiles {
  std::string config; // the text of config.json; empty: the folder gets none
  // True: dtc builds the model from the config, and architectures and tie_word_embeddings are set
  // to it. Otherwise the text is kept to the byte, but for a dtype that it names, which becomes
  // that of the weights.
  bool isKnown = true;
  std::string architecture; // the class of transformers, for a config that names none
  std::string folder;       // the tokenizer's files are copied from here; empty: none
};

// Writes the parameters of a checkpoint, as they are trained with, to a new folder, without
// optimizer state. With a config, transformers' from_pretrained loads the folder; dtc.load does
// without one. Weights of more than `mostBytes` go to several files of at most that, a larger
// tensor to a file of its own. The folder appears whole or not at all; InvalidArgument if a folder
// of its name exists and is not empty.
// Example: exportHuggingFace(reader, {reader.manifest().config}, "trained", 5'000'000'000, written)
Status exportHuggingFace(CheckpointReader &reader, const ModelFiles &files,
                         const std::string &folder, uint64_t mostBytes, WrittenWeights &written);

// Compares the parameters of a checkpoint with the weights in `folder`, if it has any: names and
// shapes have to be the same, except where WeightFiles::match() allows differences.
Status checkSameTensors(const CheckpointReader &reader, const std::string &folder);

// Makes a checkpoint of step 0, folder/step-0, from the weights in `from`, a folder or one file. A
// run that continues from it starts with these weights and is new otherwise. `parameters` are the
// model's (name, globalShape, storedShape), all of which have to be there. Elements are copied
// unchanged, in the dtype of the file.
Status importHuggingFace(const std::string &from, const std::string &model,
                         const std::string &config, std::vector<TensorSpec> parameters,
                         const std::string &folder, WrittenWeights &written);

} // namespace dtc::rt
