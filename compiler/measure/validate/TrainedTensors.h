// Tensors that a run wrote.
#pragma once

#include "compiler/support/Error.h"

#include <map>
#include <vector>

namespace dtc {

// Reads the tensors of a safetensors file by name. Supports F32, BF16 and F16 as dtrun writes them;
// shares no code with dtrun. Errors: an invalid file, with the reason.
Result<std::map<std::string, std::vector<float>>> readTrainedTensors(const std::string &path);

} // namespace dtc
