// How a command prints its result.
#pragma once

namespace dtc {

enum class OutputFormat { Text, Json };

} // namespace dtc
