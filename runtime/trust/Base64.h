// Base64 with padding, as RFC 4648 has it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace dtc::rt {

// Returns the base64 of `bytes`.
std::string base64Of(std::span<const uint8_t> bytes);

// Decodes to exactly bytes.size() bytes. Returns false for anything else, also for base64 whose
// last bits are not 0.
bool decodeBase64(std::string_view words, std::span<uint8_t> bytes);

// Cuts the first line off `words`, without its end ("\n" or "\r\n"), and returns it.
std::string_view takeLine(std::string_view &words);

} // namespace dtc::rt
