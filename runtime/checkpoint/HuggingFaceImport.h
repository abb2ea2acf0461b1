// Checkpoints from Hugging Face folders: config.json and model.safetensors.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/base/TensorSpec.h"
#include "runtime/checkpoint/WrittenWeights.h"

#include <string>
#include <vector>

namespace dtc::rt {

// Makes a checkpoint of step 0, folder/step-0, from the weights in `from`, a folder or one file. A
// run that continues from it starts with these weights and is new otherwise. `parameters` are the
// model's (name, globalShape, storedShape), all of which have to be there. Elements are copied
// unchanged, in the dtype of the file.
Status importHuggingFace(const std::string &from, const std::string &model,
                         const std::string &config, std::vector<TensorSpec> parameters,
                         const std::string &folder, WrittenWeights &written);

} // namespace dtc::rt
