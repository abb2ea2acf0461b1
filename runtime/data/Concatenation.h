// Several token sources, one after the other.
#pragma once

#include "runtime/data/TokenSource.h"

#include <memory>
#include <string>
#include <vector>

namespace dtc::rt {

// The tokens of `parts` as one sequence, under one name. There is at least one part.
class Concatenation final : public TokenSource {
public:
  Concatenation(std::string name, DataOrigin origin,
                std::vector<std::unique_ptr<TokenSource>> parts);

  const std::string &name() const override { return whole; }
  uint64_t size() const override { return ends.back(); }
  Status read(uint64_t begin, std::span<int32_t> out) const override;
  Status documentEnds(std::vector<uint64_t> &found) const override;

private:
  std::string whole;
  std::vector<std::unique_ptr<TokenSource>> parts;
  std::vector<uint64_t> ends; // total tokens up to and with each part
};

} // namespace dtc::rt
