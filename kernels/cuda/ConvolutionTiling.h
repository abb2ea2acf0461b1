// Tile sizes of the kernels of convolutions, for host and device.
#pragma once

namespace dtc::cuda {

inline constexpr int kConvolutionThreads = 256;
// Rows and columns of a block's tile of the result, and the terms of a step in shared memory.
inline constexpr int kConvolutionTile = 64, kConvolutionDepth = 16;

} // namespace dtc::cuda
