// Block sizes of the strided copies, for host and device.
#pragma once

namespace dtc::cuda {

inline constexpr int kCopyThreads = 256;
inline constexpr int kCopyPerThread = 4; // units per thread, kCopyThreads apart

// Returns the side of a transpose's tile in shared memory, whose rows a warp moves 32 elements at a
// time.
constexpr int transposeTile(int elementBytes) { return elementBytes >= 4 ? 32 : 64; }

} // namespace dtc::cuda
