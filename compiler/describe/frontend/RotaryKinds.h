// Reads the kinds of rotary embedding of transformers' `rope_parameters`, which older files call
// `rope_scaling`. Internal to this folder.
#pragma once

#include "compiler/describe/frontend/Families.h"
#include "compiler/describe/frontend/TypedConfig.h"

namespace dtc {

// The sizes on which frequencies depend.
struct RotarySizes {
  int64_t dims;      // elements of a head that are rotated
  int64_t positions; // max_position_embeddings
  int64_t sequence;  // tokens of a sequence, at most as many
  // The number of positions before their range was extended, if the config has it beside the
  // object; it then counts before that of the object.
  std::optional<int64_t> original = std::nullopt;
  bool isOfLayerType = false; // the object is that of one type of layers
};

// Reads an object of rotary embedding, `key` of the config, into `rotary`, whose base is set.
void readRotaryKind(const TypedConfig &config, const Family &family, HfConfig &rope,
                    const char *key, const RotarySizes &sizes, RotarySpec &rotary);

} // namespace dtc
