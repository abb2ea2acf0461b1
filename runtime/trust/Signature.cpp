#include "runtime/trust/Signature.h"

#include "runtime/base/Text.h"
#include "runtime/trust/Base64.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace dtc::rt {
namespace {

using format::text;

constexpr std::string_view kTrusted = "trusted comment: ";
using Signature = std::array<uint8_t, crypto_sign_BYTES>;

// The bytes behind the base64 of a signature.
struct SignatureBytes {
  char algorithm[2];
  KeyNumber number;
  Signature signature;
};
static_assert(sizeof(SignatureBytes) == 74);

using LongHash = std::array<uint8_t, crypto_generichash_BYTES_MAX>;

LongHash longHashOf(std::span<const std::byte> bytes) {
  LongHash hash;
  (void)crypto_generichash(hash.data(), hash.size(),
                           reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size(), nullptr,
                           0);
  return hash;
}

// Returns the bytes that the second signature is of.
std::vector<uint8_t> withComment(const Signature &signature, std::string_view comment) {
  std::vector<uint8_t> bytes(signature.begin(), signature.end());
  bytes.insert(bytes.end(), comment.begin(), comment.end());
  return bytes;
}

Signature signBytes(std::span<const uint8_t> bytes, const SecretKey &key) {
  Signature signature;
  (void)crypto_sign_detached(signature.data(), nullptr, bytes.data(), bytes.size(), key.key.data());
  return signature;
}

bool isOf(const Signature &signature, std::span<const uint8_t> bytes, const PublicKey &key) {
  return crypto_sign_verify_detached(signature.data(), bytes.data(), bytes.size(),
                                     key.key.data()) == 0;
}

} // namespace

std::string signaturePath(const std::string &path) { return path + ".minisig"; }

std::string sign(std::span<const std::byte> bytes, std::string_view comment, const SecretKey &key) {
  SignatureBytes contents{{'E', 'D'}, key.number, signBytes(longHashOf(bytes), key)};
  Signature both = signBytes(withComment(contents.signature, comment), key);
  return text("untrusted comment: signature of the key ", nameOf(key.number), "\n",
              base64Of({reinterpret_cast<const uint8_t *>(&contents), sizeof(contents)}), "\n",
              kTrusted, comment, "\n", base64Of(both), "\n");
}

Status checkSignature(const std::string &path, std::span<const std::byte> bytes,
                      std::string_view words, std::span<const PublicKey> keys) {
  std::string signatureFile = signaturePath(path);
  auto refuse = [&](const std::string &what) {
    return Status::dataLoss(text("'", signatureFile, "' ", what));
  };
  std::string_view untrusted = takeLine(words), encoded = takeLine(words),
                   comment = takeLine(words), second = takeLine(words);
  SignatureBytes contents;
  Signature both;
  if (!untrusted.starts_with("untrusted comment:") || !comment.starts_with(kTrusted) ||
      !words.empty() ||
      !decodeBase64(encoded, {reinterpret_cast<uint8_t *>(&contents), sizeof(contents)}) ||
      !decodeBase64(second, both))
    return refuse("is no signature of 'dtc sign' or minisign");
  if (std::memcmp(contents.algorithm, "Ed", 2) == 0)
    return refuse("is a signature of the bytes themselves, as minisign before 0.10 makes them; "
                  "sign with 'dtc sign', or with minisign -H");
  if (std::memcmp(contents.algorithm, "ED", 2) != 0)
    return refuse("is a signature by an unknown algorithm");
  comment.remove_prefix(kTrusted.size());
  auto key = std::find_if(keys.begin(), keys.end(),
                          [&](const PublicKey &each) { return each.number == contents.number; });
  if (key == keys.end())
    return refuse(
        text("is of the key ", nameOf(contents.number), ", which is none of the trusted ones"));
  // Keys of the same number are no error: each of them may have signed.
  for (; key != keys.end(); ++key)
    if (key->number == contents.number && isOf(contents.signature, longHashOf(bytes), *key) &&
        isOf(both, withComment(contents.signature, comment), *key))
      return {};
  return Status::dataLoss(text("'", path, "' is not what the key ", nameOf(contents.number),
                               " signed: it or '", signatureFile, "' was changed"));
}

} // namespace dtc::rt
