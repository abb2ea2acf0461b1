// The segment that a program for the emulated GPU has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dtc::test {

// Of these hand-written kernels, linked to one module as in a program; empty after a failure.
std::vector<uint8_t> simtSegment(const std::vector<std::string> &kernels);

} // namespace dtc::test
