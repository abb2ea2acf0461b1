// How ranks of data parallelism compress what they exchange of gradients.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace dtc {

// The method by which gradients are summed over the ranks of data parallelism.
enum class CompressKind : uint8_t {
  None,     // all elements, exactly
  PowerSgd, // the product of two factors of `amount` columns (Vogels et al. 2019, arXiv:1905.13727)
};

// A method with its number. The default is an exact sum.
struct Compression {
  CompressKind kind = CompressKind::None;
  int32_t amount = 0; // PowerSgd: columns of a factor

  bool operator==(const Compression &) const = default;
};

// The largest rank of PowerSGD that can be asked for.
inline constexpr int32_t kMostCompressRank = 1 << 10;

// Returns the form in flags and plans: "none", "powersgd:4".
std::string textOf(const Compression &compression);
// Reads such a form; nullopt for any other text, and for a rank out of range.
std::optional<Compression> compressionFrom(llvm::StringRef text);
// Returns true if a matrix is sent compressed: its factors have fewer elements than it has.
bool compresses(const Compression &compression, int64_t rows, int64_t columns);

// A method as two numbers, as decisions have it.
using CompressionNumbers = std::array<int32_t, 2>;
inline Compression compressionOf(const CompressionNumbers &numbers) {
  return {static_cast<CompressKind>(numbers[0]), numbers[1]};
}
inline CompressionNumbers numbersOf(const Compression &compression) {
  return {static_cast<int32_t>(compression.kind), compression.amount};
}

} // namespace dtc
