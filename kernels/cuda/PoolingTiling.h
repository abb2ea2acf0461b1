// Block sizes of the kernels of pooling, for host and device.
#pragma once

namespace dtc::cuda {

inline constexpr int kPoolingThreads = 256;

} // namespace dtc::cuda
