// Changes to the bytes of a .dte file, each a function of seed and number only.
#pragma once

#include <cstdint>
#include <vector>

namespace dtc::fuzz {

// xorshift64*: small, and the same everywhere. Source: Vigna 2016, "An experimental exploration of
// Marsaglia's xorshift generators, scrambled".
class Random {
public:
  explicit Random(uint64_t seed);
  uint64_t next();
  // In [0, count); `count` >= 1.
  uint64_t below(uint64_t count) { return next() % count; }

private:
  uint64_t state;
};

// One to four changes anywhere in the file, its length included; hashes stay as they were.
std::vector<uint8_t> mutateRaw(const std::vector<uint8_t> &file, Random &random);

// One to three changes to the manifest, most of them to whole fields, and then the right hashes in
// the header: what is tested is the check of what the manifest says. `file` must have a sound
// header.
std::vector<uint8_t> mutateSigned(const std::vector<uint8_t> &file, Random &random);

} // namespace dtc::fuzz
