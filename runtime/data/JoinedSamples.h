// Samples of several sources, one source after the other.
#pragma once

#include "runtime/data/SampleSource.h"

#include <memory>
#include <string>
#include <vector>

namespace dtc::rt {

// The samples of `parts`, of which there is at least one, numbered through.
class JoinedSamples final : public SampleSource {
public:
  explicit JoinedSamples(std::vector<std::unique_ptr<SampleSource>> parts);

  const std::string &name() const override { return names; }
  uint64_t samples() const override { return ends.back(); }
  Status read(uint64_t index, uint64_t begin, std::span<std::byte> out) const override;

private:
  std::string names; // of all parts: "a and b"
  std::vector<std::unique_ptr<SampleSource>> parts;
  std::vector<uint64_t> ends; // total samples up to and with each part
};

} // namespace dtc::rt
