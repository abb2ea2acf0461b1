#include "runtime/trust/Base64.h"

#include <sodium.h>

namespace dtc::rt {

std::string base64Of(std::span<const uint8_t> bytes) {
  std::string words(sodium_base64_ENCODED_LEN(bytes.size(), sodium_base64_VARIANT_ORIGINAL), '\0');
  (void)sodium_bin2base64(words.data(), words.size(), bytes.data(), bytes.size(),
                          sodium_base64_VARIANT_ORIGINAL);
  words.pop_back(); // the end of a C string
  return words;
}

bool decodeBase64(std::string_view words, std::span<uint8_t> bytes) {
  size_t decoded = 0;
  const char *end = nullptr;
  return sodium_base642bin(bytes.data(), bytes.size(), words.data(), words.size(), nullptr,
                           &decoded, &end, sodium_base64_VARIANT_ORIGINAL) == 0 &&
         decoded == bytes.size() && end == words.data() + words.size();
}

std::string_view takeLine(std::string_view &words) {
  size_t end = words.find('\n');
  std::string_view line = words.substr(0, end);
  words.remove_prefix(end == std::string_view::npos ? words.size() : end + 1);
  if (!line.empty() && line.back() == '\r')
    line.remove_suffix(1);
  return line;
}

} // namespace dtc::rt
