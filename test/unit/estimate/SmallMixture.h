// Experts with room for an even share of the tokens, as Mixtral names them.
#pragma once

#include "models/Experts.h"

namespace dtc {

// Returns `experts` experts of `width` columns within, of which a token uses two.
inline ExpertConfig smallMixture(int64_t experts, int64_t width) {
  ExpertConfig config;
  config.experts = experts;
  config.width = width;
  config.capacity = 1;
  config.features = {.module = "block_sparse_moe", .gate = "w1", .up = "w3", .down = "w2"};
  return config;
}

} // namespace dtc
