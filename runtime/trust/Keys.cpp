#include "runtime/trust/Keys.h"

#include "runtime/base/Text.h"
#include "runtime/trust/Base64.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>

namespace dtc::rt {
namespace {

using format::text;

constexpr std::string_view kComment = "untrusted comment: ";

// The bytes behind the base64 of a public key.
struct PublicBytes {
  char algorithm[2];
  KeyNumber number;
  std::array<uint8_t, 32> key;
};
static_assert(sizeof(PublicBytes) == 42);

// The part of a secret key that a password encrypts.
struct SecretPart {
  KeyNumber number;
  std::array<uint8_t, 64> key;
  std::array<uint8_t, 32> checksum; // BLAKE2b of the algorithm, number and key
};
// The bytes behind the base64 of a secret key; numbers have the lowest byte first.
struct SecretBytes {
  char algorithm[2], derivation[2], checksumBy[2];
  std::array<uint8_t, 32> salt;
  std::array<uint8_t, 8> operations, memory;
  SecretPart part;
};
static_assert(sizeof(SecretBytes) == 158);

// The most that deriving a key of a password may take; minisign asks for 2^25 and 2^30.
constexpr uint64_t kMostOperations = uint64_t(1) << 28, kMostMemory = uint64_t(1) << 32;

uint64_t numberOf(const std::array<uint8_t, 8> &bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;)
    value = value << 8 | bytes[i];
  return value;
}

template <typename T> std::span<uint8_t> bytesOf(T &value) {
  return {reinterpret_cast<uint8_t *>(&value), sizeof(value)};
}

Status noKey(const std::string &path, const std::string &what) {
  return Status::invalidArgument(text("'", path, "' ", what));
}

std::array<uint8_t, 32> checksumOf(const SecretBytes &bytes) {
  std::array<uint8_t, 32> sum;
  crypto_generichash_state state;
  auto add = [&](const void *at, size_t count) {
    (void)crypto_generichash_update(&state, static_cast<const uint8_t *>(at), count);
  };
  (void)crypto_generichash_init(&state, nullptr, 0, sum.size());
  add(bytes.algorithm, sizeof(bytes.algorithm));
  add(bytes.part.number.data(), bytes.part.number.size());
  add(bytes.part.key.data(), bytes.part.key.size());
  (void)crypto_generichash_final(&state, sum.data(), sum.size());
  return sum;
}

Status decrypt(const std::string &path, const std::string *password, SecretBytes &bytes) {
  if (!password)
    return noKey(path, "is encrypted by a password; give it by --password-file FILE");
  uint64_t operations = numberOf(bytes.operations), memory = numberOf(bytes.memory);
  if (operations > kMostOperations || memory > kMostMemory)
    return noKey(path, text("asks for ", operations, " operations and ", memory,
                            " bytes to read its password; at most ", kMostOperations, " and ",
                            kMostMemory, " are taken"));
  std::array<uint8_t, sizeof(SecretPart)> stream;
  if (crypto_pwhash_scryptsalsa208sha256(stream.data(), stream.size(), password->data(),
                                         password->size(), bytes.salt.data(), operations,
                                         static_cast<size_t>(memory)) != 0)
    return Status::resourceExhausted(
        text("reading '", path, "': there are no ", memory, " bytes of memory for its password"));
  std::span<uint8_t> part = bytesOf(bytes.part);
  for (size_t i = 0; i < part.size(); ++i)
    part[i] ^= stream[i];
  sodium_memzero(stream.data(), stream.size());
  return checksumOf(bytes) == bytes.part.checksum ? Status()
                                                  : noKey(path, "does not open with this password");
}

} // namespace

std::string nameOf(const KeyNumber &number) {
  std::string digits;
  for (size_t i = number.size(); i-- > 0;) {
    digits += "0123456789ABCDEF"[number[i] >> 4];
    digits += "0123456789ABCDEF"[number[i] & 15];
  }
  return digits;
}

PublicKey SecretKey::publicKey() const {
  PublicKey result{number, {}};
  std::copy_n(key.begin() + 32, result.key.size(), result.key.begin());
  return result;
}

Status makeKey(SecretKey &key) {
  if (sodium_init() < 0)
    return Status::unavailable("making a key: the system has no random numbers");
  randombytes_buf(key.number.data(), key.number.size());
  std::array<uint8_t, 32> open;
  (void)crypto_sign_keypair(open.data(), key.key.data());
  return {};
}

std::string textOf(const PublicKey &key) {
  PublicBytes bytes{{'E', 'd'}, key.number, key.key};
  return text(kComment, "minisign public key ", nameOf(key.number), "\n", base64Of(bytesOf(bytes)),
              "\n");
}

std::string textOf(const SecretKey &key) {
  SecretBytes bytes = {};
  std::memcpy(bytes.algorithm, "Ed", 2);
  std::memcpy(bytes.checksumBy, "B2", 2);
  bytes.part.number = key.number;
  bytes.part.key = key.key;
  return text(kComment, "minisign secret key ", nameOf(key.number), "\n", base64Of(bytesOf(bytes)),
              "\n");
}

Status parsePublicKeys(const std::string &path, std::string_view words,
                       std::vector<PublicKey> &keys) {
  keys.clear();
  for (size_t line = 1; !words.empty(); ++line) {
    std::string_view each = takeLine(words);
    if (each.empty() || each.starts_with("untrusted comment:"))
      continue;
    PublicBytes bytes;
    if (!decodeBase64(each, bytesOf(bytes)) || std::memcmp(bytes.algorithm, "Ed", 2) != 0)
      return noKey(path, text("has no public key in line ", line,
                              "; wanted the base64 that 'dtc sign --new-key' or minisign writes"));
    keys.push_back({bytes.number, bytes.key});
  }
  return keys.empty() ? noKey(path, "has no public keys") : Status();
}

Status parseSecretKey(const std::string &path, std::string_view words, const std::string *password,
                      SecretKey &key) {
  std::string_view comment = takeLine(words), encoded = takeLine(words);
  SecretBytes bytes;
  bool isKey = comment.starts_with("untrusted comment:") && words.empty() &&
               decodeBase64(encoded, bytesOf(bytes)) &&
               std::memcmp(bytes.algorithm, "Ed", 2) == 0 &&
               std::memcmp(bytes.checksumBy, "B2", 2) == 0;
  bool isEncrypted = isKey && std::memcmp(bytes.derivation, "Sc", 2) == 0;
  isKey &= isEncrypted || std::memcmp(bytes.derivation, "\0\0", 2) == 0;
  if (!isKey)
    return noKey(path, "is no secret key of 'dtc sign --new-key' or minisign");
  if (isEncrypted)
    DTC_RETURN_IF_ERROR(decrypt(path, password, bytes));
  key.number = bytes.part.number;
  key.key = bytes.part.key;
  sodium_memzero(&bytes, sizeof(bytes));
  return {};
}

} // namespace dtc::rt
