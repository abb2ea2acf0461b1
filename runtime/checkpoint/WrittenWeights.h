// A summary of the weights that an export or an import wrote.
#pragma once

#include <cstddef>
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

} // namespace dtc::rt
