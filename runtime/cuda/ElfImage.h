// Object files of device code, before a driver gets them.
#pragma once

#include <cstdint>
#include <span>

namespace dtc::rt {

// Whether `bytes` are an ELF file of 64 bits with all that its headers name. Drivers are told where it begins, not where it ends.
bool isWholeElf(std::span<const uint8_t> bytes);

} // namespace dtc::rt
