// Device code of the hand-written CUDA kernels, as LLVM bitcode for nvptx64.
//
// A module has the kernels of one .cu, named "FILE_VARIANT": the part before the first '_' is the
// file. A program links the kernels that it launches (Linker::LinkOnlyNeeded, or internalise the
// others); they need no further functions: no libdevice. Functions carry the attributes
// "target-cpu" and "target-features" of the oldest target, sm_80; code generation for another
// target must remove them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace dtc::cuda {

// The bitcode of one .cu.
struct BitcodeFile {
  std::string_view name; // "AttentionForward"
  std::span<const uint8_t> bytes;
};

// Returns all files, by name.
std::span<const BitcodeFile> bitcodeFiles();

// Returns the file that has `kernel` by its name; null if there is no such file. Example:
// findBitcode("AttentionForward_bf16_64") is AttentionForward.cu's.
const BitcodeFile *findBitcode(std::string_view kernel);

} // namespace dtc::cuda
