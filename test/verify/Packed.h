// A manifest in memory, aligned as the checks of a file require.
#pragma once

#include "runtime/format/dte_generated.h"

#include <algorithm>
#include <vector>

namespace dtc::test {

// A packed copy of a manifest, whose memory is 16-byte aligned.
class Packed {
public:
  explicit Packed(const format::ManifestT &manifest) {
    flatbuffers::FlatBufferBuilder builder;
    builder.ForceVectorAlignment(0, 8, 16);
    format::FinishManifestBuffer(builder, format::Manifest::Pack(builder, &manifest));
    words.resize(builder.GetSize() / 16 + 2);
    // The end of the buffer is aligned.
    size_t start = (16 - builder.GetSize() % 16) % 16;
    auto *bytes = reinterpret_cast<uint8_t *>(words.data()) + start;
    std::copy_n(builder.GetBufferPointer(), builder.GetSize(), bytes);
    manifest_ = format::GetManifest(bytes);
  }
  Packed(Packed &&) = default; // The memory stays at its address.
  const format::Manifest &operator*() const { return *manifest_; }

private:
  struct alignas(16) Word {
    uint8_t bytes[16];
  };
  std::vector<Word> words;
  const format::Manifest *manifest_;
};

} // namespace dtc::test
