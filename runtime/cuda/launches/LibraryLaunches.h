// Launches of the hand-written kernels of kernels/cuda that an instruction needs: the device makes
// them, the compiler puts their kernels into the program.
#pragma once

#include "kernels/cuda/Launch.h"
#include "runtime/base/Status.h"
#include "runtime/format/dte_generated.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace dtc::rt {

// The operands of an instruction, as in Command.
struct LibraryOperands {
  std::vector<char *> buffers;
  std::vector<int64_t> scalars;
  bool startsSum = false;
};

// More than any instruction has of either kind.
inline constexpr size_t kMaxLibraryBuffers = 20, kMaxLibraryScalars = 4;

// The launches of one instruction.
struct LibraryLaunches {
  std::vector<cuda::Launch> launches; // one after another
  std::vector<uint64_t> parameter;    // the bytes of the one struct that all of them take
};

// Keeps the parameter of planned launches. Fails with Unavailable if there is an error message,
// `wrong`.
template <typename Params>
Status finishLaunches(const std::string &wrong, const Params &params, LibraryLaunches &planned) {
  if (!wrong.empty())
    return Status::unavailable(wrong);
  planned.parameter.assign((sizeof(params) + 7) / 8, 0);
  std::memcpy(planned.parameter.data(), &params, sizeof(params));
  return {};
}

// Plans an instruction that computes but is no launch or matrix product. The choice of kernels
// follows from the instruction, `startsSum` and the alignment of buffers, which may be null
// otherwise. Unavailable, with the reason, for an instruction without a kernel.
Status planLibrary(const format::Instruction &instruction, const LibraryOperands &operands,
                   LibraryLaunches &planned);

} // namespace dtc::rt
