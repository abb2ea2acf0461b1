// Checkpoints as Hugging Face folders: config.json and model.safetensors.
#pragma once

#include "runtime/checkpoint/Reader.h"
#include "runtime/checkpoint/WrittenWeights.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dtc::rt {

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

// Returns the other names of parameters, and the name that a checkpoint has for each. A model that
// is none of Hugging Face has them for its config: {"tied": {"head.weight": "embed.weight"}}. Empty
// for any other config.
std::map<std::string, std::string> otherNames(const std::string &config);

// Writes the parameters of a checkpoint, as they are trained with, to a new folder, without
// optimizer state. Without a config in `files`, parameters are there under their other names, too:
// load_state_dict of PyTorch wants all. With a config, transformers' from_pretrained loads the
// folder; dtc.load does without one. Weights of more than `mostBytes` go to several files of at
// most that, a larger tensor to a file of its own. The folder appears whole or not at all;
// InvalidArgument if a folder of its name exists and is not empty.
// Example: exportHuggingFace(reader, {reader.manifest().config}, "trained", 5'000'000'000, written)
Status exportHuggingFace(CheckpointReader &reader, const ModelFiles &files,
                         const std::string &folder, uint64_t mostBytes, WrittenWeights &written);

// Compares the parameters of a checkpoint with the weights in `folder`, if it has any: names and
// shapes have to be the same, except where matchWeights() allows differences.
Status checkSameTensors(const CheckpointReader &reader, const std::string &folder);

} // namespace dtc::rt
