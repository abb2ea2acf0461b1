// The weights of a model in safetensors files: one file, or a Hugging Face folder.
#pragma once

#include "runtime/base/TensorSpec.h"
#include "runtime/checkpoint/SafetensorsRead.h"

#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace dtc::rt {

inline constexpr const char *kWeightsFile = "model.safetensors",
                            *kWeightsIndex = "model.safetensors.index.json";

// Returns true if a tensor is the output layer, which a file need not have if it is the embedding.
inline bool isOutputLayer(const std::string &name) {
  for (const char *each :
       {"lm_head.weight", "embed_out.weight", "cls.predictions.decoder.weight", "decoder.weight",
        "generator_lm_head.weight", "lm_head.decoder.weight", "vocab_projector.weight"})
    if (name == each)
      return true;
  return false;
}

// A tensor of a file.
struct Weight {
  const SafetensorsFile *file = nullptr;
  const SafetensorsEntry *entry = nullptr;
};

// A parameter, stored in one or several tensors of as many elements each, which follow each other.
struct StoredTensor {
  std::vector<Weight> parts;

  // Copies elements [first, first + out.size()) as float.
  Status readFloats(uint64_t first, std::span<float> out) const;
};

// The files of a model's weights.
class WeightFiles {
public:
  // Opens a file, or a folder with model.safetensors or model.safetensors.index.json, which names
  // the file of each tensor.
  Status open(const std::string &path);

  const std::string &path() const { return name; }
  const std::deque<SafetensorsFile> &files() const { return opened; }

private:
  Status openFolder();
  Status openIndex(const std::string &index);

  std::string name;
  std::deque<SafetensorsFile> opened; // a deque, so that files stay at their addresses
};

} // namespace dtc::rt
