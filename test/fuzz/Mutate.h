// Changes the bytes of a .dte file. Each change is a function of seed and number only.
#pragma once

#include <cstdint>
#include <vector>

namespace dtc::fuzz {

// The generator xorshift64*, which is small and gives the same numbers on every machine. Source:
// Vigna 2016, "An experimental exploration of Marsaglia's xorshift generators, scrambled".
class Random {
public:
  explicit Random(uint64_t seed);
  // Returns the next 64 random bits.
  uint64_t next();
  // Returns a number in [0, count); `count` >= 1.
  uint64_t below(uint64_t count) { return next() % count; }

private:
  uint64_t state;
};

// Makes one to four changes anywhere in the file, its length included; hashes stay as they were.
std::vector<uint8_t> mutateRaw(const std::vector<uint8_t> &file, Random &random);

// Makes one to three changes to the manifest, most of them to whole fields, and then sets the right
// hashes in the header, so that the checks of the manifest's contents are reached. `file` must have
// a valid header.
std::vector<uint8_t> mutateSigned(const std::vector<uint8_t> &file, Random &random);

} // namespace dtc::fuzz
