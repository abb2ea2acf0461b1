// Changes to .dte files behind their hashes.
#pragma once

#include "test/fuzz/Mutate.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace dtc::fuzz {

// Makes the hashes right: of segments, where the manifest can be read, of the manifest and of the
// header, whose sizes become those of the file.
void sign(std::span<uint8_t> file);

// Makes the header's own hash right and changes nothing else of it.
void signHeader(std::span<uint8_t> file);

// One to three changes to machine code, to the lengths, kinds and number of segments, to entries of kernels,
// or to the device that all of it is for; offsets and hashes follow. Nothing where the verifier would
// refuse the file.
std::optional<std::vector<uint8_t>> mutateProgram(std::span<const uint8_t> file, Random &random);

// One to three changes to fields of an ELF file, most of them near its begin or its end.
void mutateCode(std::vector<uint8_t> &code, Random &random);

} // namespace dtc::fuzz
