// Changes to JSON that leave it JSON, so that what is behind the parser is reached.
#pragma once

#include "test/fuzz/Mutate.h"

#include <optional>
#include <string>
#include <string_view>

namespace dtc::fuzz {

// One to three changes: a number to another that is of interest, a value to one of another type or to
// that of another place, an entry removed, doubled or renamed. Nothing where `text` is no JSON object.
// Example: {"a": 1, "b": [2]} may become {"a": [2], "b": [2, 2]}.
std::optional<std::string> mutateJson(std::string_view text, Random &random);

// The same of the header of a safetensors file, whose length follows; the tensors stay.
std::optional<std::string> mutateSafetensors(std::string_view file, Random &random);

} // namespace dtc::fuzz
