// Changes .dte files and sets their hashes.
#pragma once

#include "test/fuzz/Mutate.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace dtc::fuzz {

// Sets the hashes of segments (if the manifest can be read), of the manifest and of the header, and
// the sizes in the header to those of the file.
void sign(std::span<uint8_t> file);

// Sets the header's own hash and changes nothing else.
void signHeader(std::span<uint8_t> file);

// Makes one to three changes to machine code, to the lengths, kinds and number of segments, to
// entries of kernels, or to the device that they are for; sets offsets and hashes. Returns nullopt
// if the verifier would refuse the given file.
std::optional<std::vector<uint8_t>> mutateProgram(std::span<const uint8_t> file, Random &random);

// Makes one to three changes to fields of an ELF file, most of them near its beginning or its end.
void mutateCode(std::vector<uint8_t> &code, Random &random);

} // namespace dtc::fuzz
