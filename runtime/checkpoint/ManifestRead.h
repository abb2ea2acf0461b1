// Reads the manifest of a checkpoint.
#pragma once

#include "runtime/checkpoint/Manifest.h"

#include <string>
#include <string_view>

namespace dtc::rt {

// Reads a manifest, which is not trusted; `path` is for messages. DataLoss if anything differs from
// the above: then nothing of it may be used. Checks types, sizes against each other, names, that
// pieces are within their shards and share no byte, and that each tensor is there once.
Status parseManifest(const std::string &path, std::string_view json, CheckpointManifest &manifest);

} // namespace dtc::rt
