// Checks all bytes of a checkpoint.
#pragma once

#include "runtime/checkpoint/Reader.h"

#include <string>
#include <vector>

namespace dtc::rt {

// Checks all bytes of a checkpoint: hashes of all blocks, and that each shard is a safetensors file
// whose tensors agree with the manifest. Each of `problems` names its file and bytes; none for a
// good checkpoint. With `trusted`, one of these keys has to have signed all of them.
void verifyCheckpoint(const std::string &folder, CheckpointReader &reader,
                      std::vector<std::string> &problems, const TrustedKeys *trusted = nullptr);

} // namespace dtc::rt
