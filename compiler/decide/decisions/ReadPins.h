// Reads and writes the pairs of --fix.
#pragma once

#include "compiler/decide/decisions/Pins.h"

#include <map>
#include <string>

namespace dtc {

// Returns a line for each key, for --help: "zero  0 to 3: ...".
std::string pinKeysText();

// Reads the keys and values of --fix. Errors: a key that does not exist, a value that is not of its
// kind, pins that break a rule between decisions.
Result<Pins> readPins(const std::map<std::string, std::string> &fixed);

// Returns the decisions as --fix takes them, without those that it can't ask for: "tp" -> "8".
std::map<std::string, std::string> pinsOf(const Decisions &decisions);

} // namespace dtc
