#include "runtime/trust/TrustedKeys.h"

#include "runtime/base/File.h"
#include "runtime/base/Text.h"
#include "runtime/trust/Base64.h"
#include "runtime/trust/Signature.h"

#include <algorithm>

namespace dtc::rt {
namespace {

using format::text;

constexpr uint64_t kMostKeyBytes = uint64_t(1) << 20, kMostSignatureBytes = uint64_t(1) << 16;

} // namespace

Status TrustedKeys::load(const std::string &path) {
  std::string words;
  DTC_RETURN_IF_ERROR(readWhole(path, kMostKeyBytes, words));
  return parsePublicKeys(path, words, keys);
}

Status TrustedKeys::check(const std::string &path, std::span<const std::byte> bytes) const {
  std::string words, signature = signaturePath(path);
  Status read = readWhole(signature, kMostSignatureBytes, words);
  if (read.statusCode() == StatusCode::NotFound)
    return Status::dataLoss(text("'", path, "' has no signature: '", signature,
                                 "' is not there; sign it with 'dtc sign', or leave out --trust"));
  DTC_RETURN_IF_ERROR(read);
  return checkSignature(path, bytes, words, keys);
}

bool TrustedKeys::has(const PublicKey &key) const {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

std::string TrustedKeys::names() const {
  std::vector<std::string> each;
  for (const PublicKey &key : keys)
    each.push_back(nameOf(key.number));
  std::sort(each.begin(), each.end());
  std::string all;
  for (const std::string &name : each)
    all += text(all.empty() ? "" : ",", name);
  return all;
}

Status loadSecretKey(const std::string &path, const std::string &passwordFile, SecretKey &key) {
  std::string words, password;
  DTC_RETURN_IF_ERROR(readWhole(path, kMostKeyBytes, words));
  if (!passwordFile.empty()) {
    DTC_RETURN_IF_ERROR(readWhole(passwordFile, kMostKeyBytes, password));
    std::string_view rest = password;
    password = std::string(takeLine(rest));
  }
  return parseSecretKey(path, words, passwordFile.empty() ? nullptr : &password, key);
}

} // namespace dtc::rt
