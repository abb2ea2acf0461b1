// The code segment of a program for the emulated GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dtc::test {

// Returns the segment of these hand-written kernels, linked to one module as in a program, or
// nothing after a failure.
std::vector<uint8_t> simtSegment(const std::vector<std::string> &kernels);

} // namespace dtc::test
