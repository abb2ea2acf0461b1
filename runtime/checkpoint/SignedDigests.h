// The digests by which a signature covers all bytes of a checkpoint: signed.json of its folder.
//
// signed.json has BLAKE2b-256 of manifest.json and of each block of each shard, and
// signed.json.minisig is its signature. A reader that trusts a key checks manifest and blocks as it
// reads them. The hashes of the manifest find damage, but others can be made to fit them.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/checkpoint/Manifest.h"
#include "runtime/trust/Keys.h"
#include "runtime/trust/TrustedKeys.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dtc::rt {

inline constexpr const char *kSignedFile = "signed.json";

// The digests of one checkpoint; see digestOf().
struct SignedDigests {
  std::string manifest;
  std::vector<std::vector<std::string>> shards; // of each shard those of its blocks
};

// Writes signed.json and its signature into the folder of a checkpoint.
Status writeSignedDigests(const std::string &folder, const SignedDigests &digests,
                          const SecretKey &key);

// Reads signed.json of a folder. DataLoss if it has no signature by one of `keys`, or if it is no
// list of digests of the manifest whose digest is `manifest`.
Status readSignedDigests(const std::string &folder, const TrustedKeys &keys,
                         const std::string &manifest, SignedDigests &digests);

// Checks that there is a digest for each block of each of `shards`.
Status checkDigestsFit(const std::string &folder, const SignedDigests &digests,
                       std::span<const CheckpointShard> shards);

} // namespace dtc::rt
