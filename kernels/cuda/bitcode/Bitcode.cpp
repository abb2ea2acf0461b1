#include "kernels/cuda/bitcode/Bitcode.h"

// Files.inc, which CMake writes, has DTC_BITCODE(name, path) for every .cu.
#define DTC_BITCODE(name, path)                                                                    \
  extern "C" const uint8_t dtcBitcode##name[], dtcBitcodeEnd##name[];                              \
  asm(".pushsection .rodata\n.balign 16\n"                                                         \
      "dtcBitcode" #name ":\n.incbin \"" path "\"\n"                                               \
      "dtcBitcodeEnd" #name ":\n.popsection\n");
#include "kernels/cuda/bitcode/Files.inc"
#undef DTC_BITCODE

namespace dtc::cuda {

std::span<const BitcodeFile> bitcodeFiles() {
  static const BitcodeFile files[] = {
#define DTC_BITCODE(name, path) {#name, {dtcBitcode##name, dtcBitcodeEnd##name}},
#include "kernels/cuda/bitcode/Files.inc"
#undef DTC_BITCODE
  };
  return files;
}

const BitcodeFile *findBitcode(std::string_view kernel) {
  std::string_view name = kernel.substr(0, kernel.find('_'));
  for (const BitcodeFile &file : bitcodeFiles())
    if (file.name == name)
      return &file;
  return nullptr;
}

} // namespace dtc::cuda
