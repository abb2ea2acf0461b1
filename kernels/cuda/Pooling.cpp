// Chooses the launches of pooling.
#include "kernels/cuda/Pooling.h"

#include "kernels/cuda/PoolingTiling.h"

namespace dtc::cuda {

std::string planPooling(bool isMax, bool isGradient, PoolingParams &params,
                        std::vector<Launch> &launches) {
  launches.clear();
  PoolingParams &p = params;
  for (int64_t size : {p.planes, int64_t(p.height), int64_t(p.width), int64_t(p.kernelHeight),
                       int64_t(p.kernelWidth), int64_t(p.strideHeight), int64_t(p.strideWidth)})
    if (size < 1)
      return "pooling: a size is below 1";
  if (p.paddingHeight < 0 || p.paddingWidth < 0 || p.paddingHeight > p.kernelHeight / 2 ||
      p.paddingWidth > p.kernelWidth / 2)
    return "pooling: the padding is not from 0 to half of the kernel";
  int64_t down = int64_t(p.height) + 2 * p.paddingHeight - p.kernelHeight;
  int64_t across = int64_t(p.width) + 2 * p.paddingWidth - p.kernelWidth;
  if (down < 0 || across < 0)
    return "pooling: the kernel does not fit into the image";
  p.outHeight = static_cast<int32_t>(down / p.strideHeight + 1);
  p.outWidth = static_cast<int32_t>(across / p.strideWidth + 1);
  int64_t pixels = isGradient ? int64_t(p.height) * p.width : int64_t(p.outHeight) * p.outWidth;
  std::string kernel =
      std::string("Pooling_") + (isMax ? "max" : "mean") + (isGradient ? "Grad" : "");
  __int128 blocks =
      (static_cast<__int128>(p.planes) * pixels + kPoolingThreads - 1) / kPoolingThreads;
  if (pixels > 0x7FFFFFFF || blocks > kMaxGridX)
    return "pooling: kernel '" + kernel + "' needs more blocks than a grid has, " +
           std::to_string(kMaxGridX);
  launches.push_back({kernel, static_cast<uint32_t>(blocks), 1, kPoolingThreads, 0});
  return "";
}

} // namespace dtc::cuda
