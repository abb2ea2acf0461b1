// The shape of a plan's model as JSON, written and read.
#pragma once

#include "compiler/decide/plan/Architecture.h"

#include <nlohmann/json_fwd.hpp>

namespace dtc {

// Returns one object whose keys are those of docs/export.md; what a model has not is left out.
nlohmann::ordered_json architectureToJson(const ModelArchitecture &architecture);

// Reads what architectureToJson wrote. Returns what is wrong with it, or "".
std::string architectureFromJson(const nlohmann::ordered_json &json,
                                 ModelArchitecture &architecture);

} // namespace dtc
