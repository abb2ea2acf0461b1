// Matches the tensors of files to those of a model.
#pragma once

#include "runtime/checkpoint/WeightFiles.h"

#include <span>
#include <string>
#include <vector>

namespace dtc::rt {

// Finds the stored tensors of each of `tensors` in `files`, or lists what does not fit, the first
// few of a kind: missing tensors, those of another shape or dtype, and those that the model does
// not know. Names may differ by a prefix that Hugging Face's files have or not ("transformer.",
// "model."); a "*" of a name stands for the index in dim 0, each in a tensor of its own. Buffers
// that such files carry are left out, and so is an lm_head.weight that equals the embedding that
// the model ties it to, or a copy of a parameter that the metadata of the file names with it.
Status matchWeights(const WeightFiles &files, std::span<const TensorSpec> tensors,
                    std::vector<StoredTensor> &stored);

// Returns the name of a tensor that stores a part of a parameter with a "*" in its name:
// memberOf("experts.*.w1", 3) is "experts.3.w1"; any other name stays.
std::string memberOf(const std::string &name, uint64_t index);

} // namespace dtc::rt
