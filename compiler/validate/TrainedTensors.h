// Tensors that a run wrote.
#pragma once

#include "compiler/support/Error.h"

#include <map>
#include <vector>

namespace dtc {

// By name. Reads safetensors of F32, BF16 and F16 as dtrun writes them; shares no code with it.
// Errors: a file that is no such, with what is wrong.
Result<std::map<std::string, std::vector<float>>> readTrainedTensors(const std::string &path);

} // namespace dtc
