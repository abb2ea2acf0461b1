// Quantities with units written out: "450 GB/s", "80 GiB", "989 TFLOP/s", "1.5 us".
#pragma once

#include <optional>
#include <string>

namespace dtc {

enum class Unit { Bytes, BytesPerSecond, FlopsPerSecond, Seconds };

// The quantity in bytes, bytes/s, flop/s or seconds; nothing when the text is no quantity of that
// unit. Decimal prefixes k M G T P, binary Ki Mi Gi Ti; "Gb/s" is bits. Example: parseQuantity("400
// Gb/s", BytesPerSecond) = 5e10.
std::optional<double> parseQuantity(const std::string &text, Unit unit);

// Examples of the unit for messages: "'450 GB/s' or '400 Gb/s'".
const char *examplesOf(Unit unit);

// For people, three significant digits: "42.3 GiB", "450 GB/s", "989 TFLOP/s", "1.5 us".
std::string formatQuantity(double value, Unit unit);

} // namespace dtc
