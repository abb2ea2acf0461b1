// Quantities with units, as people write them: "80 GiB", "450 GB/s", "989 TFLOP/s", "1.5 us".
#pragma once

#include "compiler/support/Error.h"

namespace dtc {

// The dimension of a quantity.
enum class Quantity { Bytes, BytesPerSecond, FlopsPerSecond, Seconds };

// Reads a number and a unit into bytes, bytes/s, flop/s or seconds. kB, MB, GB.. are powers of
// 1000; KiB, MiB, GiB.. of 1024; Gbit/s is a power of 1000 divided by 8. The result is the double
// nearest to the text (whole numbers up to 2^53 are exact). Only zero and positive numbers are
// accepted. The error names the text and lists the accepted units.
// Example: parseQuantity("400 Gbit/s", Quantity::BytesPerSecond) is 5e10.
Result<double> parseQuantity(llvm::StringRef text, Quantity quantity);

// Reads a number of bytes, which must be whole and below 2^62. A plain number ("1073741824") is
// accepted too, for flags.
// Example: parseBytes("1.5 KiB") is 1536; parseBytes("0.3 B") is an error.
Result<int64_t> parseBytes(llvm::StringRef text);

// Returns text that parses back to exactly `value`, in the unit that makes it shortest.
// Example: 85899345920 bytes is "80 GiB"; 5e10 bytes/s is "50 GB/s"; 1.5e-6 s is "1.5 us".
std::string printExact(double value, Quantity quantity);

// Returns text for people, rounded to `digits` significant digits. Bytes get binary prefixes.
// Example: 8589123584 bytes is "8 GiB"; 0.0123456 s is "12.3 ms".
std::string printRounded(double value, Quantity quantity, int digits = 3);

} // namespace dtc
