// Hashes for which nobody can find a second input: BLAKE2b.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace dtc::rt {

// The hexadecimal digits of digestOf().
inline constexpr size_t kDigestDigits = 64;

// Returns BLAKE2b of 256 bits as hexadecimal digits, as `b2sum --length=256` prints it.
std::string digestOf(std::span<const std::byte> bytes);

} // namespace dtc::rt
