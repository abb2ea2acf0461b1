// Changes JSON into other JSON, so that the code behind the parser is reached.
#pragma once

#include "test/fuzz/Mutate.h"

#include <optional>
#include <string>
#include <string_view>

namespace dtc::fuzz {

// Makes one to three changes: replaces a number by an interesting one, or a value by one of another
// type or of another entry; removes, doubles or renames an entry. Returns nullopt if `text` is no
// JSON object. Example: {"a": 1, "b": [2]} may become {"a": [2], "b": [2, 2]}.
std::optional<std::string> mutateJson(std::string_view text, Random &random);

// Changes the header of a safetensors file in the same way and sets its length; the tensors stay.
std::optional<std::string> mutateSafetensors(std::string_view file, Random &random);

} // namespace dtc::fuzz
