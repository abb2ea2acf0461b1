#include "runtime/checkpoint/SignedDigests.h"

#include "runtime/base/File.h"
#include "runtime/base/NestingDepth.h"
#include "runtime/base/Text.h"
#include "runtime/checkpoint/Folder.h"
#include "runtime/trust/Digest.h"
#include "runtime/trust/Signature.h"

#include <nlohmann/json.hpp>

namespace dtc::rt {
namespace {

using format::text;
using Json = nlohmann::json;

constexpr const char *kSignedFormat = "dtc.signed-checkpoint/1";
constexpr uint64_t kMostSignedBytes = uint64_t(1) << 29;
constexpr int kMostSignedDepth = 3; // the object, its list of shards, and the list of one

bool isDigest(const Json &value) {
  return value.is_string() && value.get_ref<const std::string &>().size() == kDigestDigits;
}

Status readShardDigests(const Json &from, std::vector<std::string> &digests) {
  if (!from.is_array())
    return Status::dataLoss("has a shard that is no list of digests");
  for (const Json &digest : from) {
    if (!isDigest(digest))
      return Status::dataLoss(text("has a digest that is no string of ", kDigestDigits, " digits"));
    digests.push_back(digest.get_ref<const std::string &>());
  }
  return {};
}

Status parseDigests(std::string_view words, SignedDigests &digests) {
  digests = {};
  Json root = nestsDeeperThan(words, kMostSignedDepth)
                  ? Json()
                  : Json::parse(words.begin(), words.end(), nullptr, /*allow_exceptions=*/false);
  if (!root.is_object() || root.value("format", Json()) != kSignedFormat ||
      !isDigest(root.value("manifest", Json())) || !root.value("shards", Json()).is_array())
    return Status::dataLoss(text("is no list of digests of the format ", kSignedFormat));
  digests.manifest = root["manifest"].get_ref<const std::string &>();
  for (const Json &shard : root["shards"])
    DTC_RETURN_IF_ERROR(readShardDigests(shard, digests.shards.emplace_back()));
  return {};
}

} // namespace

Status writeSignedDigests(const std::string &folder, const SignedDigests &digests,
                          const SecretKey &key) {
  Json root = {
      {"format", kSignedFormat}, {"manifest", digests.manifest}, {"shards", digests.shards}};
  std::string words = root.dump() + "\n", path = text(folder, "/", kSignedFile);
  DTC_RETURN_IF_ERROR(writeFile(path, words));
  return writeFile(signaturePath(path),
                   sign(std::as_bytes(std::span(words)), "file:signed.json", key));
}

Status readSignedDigests(const std::string &folder, const TrustedKeys &keys,
                         const std::string &manifest, SignedDigests &digests) {
  std::string words, path = text(folder, "/", kSignedFile);
  Status read = readWhole(path, kMostSignedBytes, words);
  if (read.statusCode() == StatusCode::NotFound)
    return Status::dataLoss(text("'", folder, "' has no signature: '", path,
                                 "' is not there; sign it with 'dtc sign', or leave out --trust"));
  DTC_RETURN_IF_ERROR(read);
  DTC_RETURN_IF_ERROR(keys.check(path, std::as_bytes(std::span(words))));
  if (Status parsed = parseDigests(words, digests); !parsed.ok())
    return Status::dataLoss(text("'", path, "' ", parsed.message()));
  if (digests.manifest != manifest)
    return Status::dataLoss(text("'", folder, "/", kManifestFile,
                                 "' is not what was signed: its digest is not that of '", path,
                                 "'"));
  return {};
}

Status checkDigestsFit(const std::string &folder, const SignedDigests &digests,
                       std::span<const CheckpointShard> shards) {
  bool fits = digests.shards.size() == shards.size();
  for (size_t i = 0; fits && i < shards.size(); ++i)
    fits = digests.shards[i].size() == shards[i].hashes.size();
  return fits ? Status()
              : Status::dataLoss(text("'", folder, "/", kSignedFile,
                                      "' has digests of other shards or blocks than '", folder, "/",
                                      kManifestFile, "'"));
}

} // namespace dtc::rt
