// Device code of the hand-written CUDA kernels, as LLVM bitcode for nvptx64.
//
// A module's kernels are those of one .cu, named "FILE_VARIANT": what is before the first '_' is the
// file. A program takes the kernels that it launches (Linker::LinkOnlyNeeded, or internalise the others)
// and nothing else is left open: no libdevice, no functions to link. Functions carry the attributes
// "target-cpu" and "target-features" of the oldest target, sm_80; who generates code for another removes
// them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace dtc::cuda {

struct BitcodeFile {
  std::string_view name; // "AttentionForward"
  std::span<const uint8_t> bytes;
};

// All of them, by name.
std::span<const BitcodeFile> bitcodeFiles();

// The file that has `kernel`, or would have it; null where there is no such file.
// Example: findBitcode("AttentionForward_bf16_64") is AttentionForward.cu's.
const BitcodeFile *findBitcode(std::string_view kernel);

} // namespace dtc::cuda
