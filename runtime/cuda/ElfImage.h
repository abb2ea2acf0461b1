// Checks object files of device code before a driver gets them.
#pragma once

#include <cstdint>
#include <span>

namespace dtc::rt {

// True if `bytes` are a 64-bit ELF file with everything that its headers refer to. Drivers get its
// address, not its size.
bool isWholeElf(std::span<const uint8_t> bytes);

} // namespace dtc::rt
