// The form that plans write OpSplits in. Internal to this folder.
#pragma once

#include "compiler/decide/plan/OpSplits.h"

#include <nlohmann/json_fwd.hpp>

namespace dtc {

// {"functions": {"block_forward": ["rms_norm none", "linear 2", ...], ...}}: of each op the loop
// that tensor parallelism splits, "none" or "partial".
nlohmann::ordered_json splitsToJson(const OpSplits &splits);

// The reverse. Returns "" or what is wrong: "has ..., wanted ...".
std::string splitsFromJson(const nlohmann::ordered_json &json, OpSplits &splits);

} // namespace dtc
