// The form that plans write OpSplits in. Internal to this folder.
#pragma once

#include "compiler/plan/OpSplits.h"

#include <nlohmann/json_fwd.hpp>

namespace dtc {

// {"functions": {"block_forward": ["rms_norm none", "linear 2", ...], ...},
//  "calls": {"block_forward": ["shard(1)", "whole", "keep", ...], ...}}: of each op the loop that
//  is
// split, "none" or "partial"; what each operand of a block is brought to.
nlohmann::ordered_json splitsToJson(const OpSplits &splits);

// The reverse. Returns "" or what is wrong: "has ..., wanted ...".
std::string splitsFromJson(const nlohmann::ordered_json &json, OpSplits &splits);

} // namespace dtc
