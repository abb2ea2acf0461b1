#include "runtime/trust/Digest.h"

#include <sodium.h>

namespace dtc::rt {

std::string digestOf(std::span<const std::byte> bytes) {
  unsigned char hash[kDigestDigits / 2];
  char digits[kDigestDigits + 1];
  (void)crypto_generichash(hash, sizeof(hash),
                           reinterpret_cast<const unsigned char *>(bytes.data()), bytes.size(),
                           nullptr, 0);
  (void)sodium_bin2hex(digits, sizeof(digits), hash, sizeof(hash));
  return {digits, kDigestDigits};
}

} // namespace dtc::rt
