// The output format of a command.
#pragma once

namespace dtc {

// The value of --format: text for people, or JSON for programs.
enum class OutputFormat { Text, Json };

} // namespace dtc
