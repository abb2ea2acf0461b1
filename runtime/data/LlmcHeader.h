// The header of llm.c's token files: 256 int32, little endian.
//
//   [0] magic   20240520: ids of 2 bytes follow (GPT-2); 20240801: ids of 4 bytes (Llama 3)
//   [1] version 1 with the first, 7 with the second
//   [2] the number of tokens
//   the rest is 0
// Source: llm.c, dev/data/data_common.py.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dtc::rt::llmc {

inline constexpr size_t kHeaderBytes = 256 * 4;
inline constexpr int32_t kMagicU16 = 20240520, kVersionU16 = 1;
inline constexpr int32_t kMagicU32 = 20240801, kVersionU32 = 7;

} // namespace dtc::rt::llmc
