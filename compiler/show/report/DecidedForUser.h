// The choices that nobody made by a flag.
#pragma once

#include <string>
#include <vector>

namespace dtc {

// A choice that no flag made: its name, what was chosen, and what would choose otherwise.
struct DecidedRow {
  std::string what, decided, flag;
};

// The choices of a plan that its user did not make, and a hint or "".
struct DecidedForUser {
  std::vector<DecidedRow> rows;
  std::string hint;
};

} // namespace dtc
