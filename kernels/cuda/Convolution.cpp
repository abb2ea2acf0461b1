// Chooses the launches of convolutions.
#include "kernels/cuda/Convolution.h"

#include "kernels/cuda/ConvolutionTiling.h"

namespace dtc::cuda {

namespace {

int64_t divideUp(int64_t value, int64_t by) { return (value + by - 1) / by; }

constexpr int64_t kMost = 0x7FFFFFFF; // the kernels count in 32 bits

int64_t outPixels(int64_t image, int64_t kernel, int64_t stride, int64_t padding,
                  int64_t dilation) {
  return (image + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
}

// Sets the pixels of the result. Returns an error message, or "".
std::string setPixels(ConvolutionParams &p) {
  for (int32_t size :
       {p.batch, p.channels, p.filters, p.groups, p.height, p.width, p.kernelHeight, p.kernelWidth,
        p.strideHeight, p.strideWidth, p.dilationHeight, p.dilationWidth})
    if (size < 1)
      return "convolution: a size is below 1";
  if (p.paddingHeight < 0 || p.paddingWidth < 0)
    return "convolution: a padding is negative";
  int64_t height =
      outPixels(p.height, p.kernelHeight, p.strideHeight, p.paddingHeight, p.dilationHeight);
  int64_t width = outPixels(p.width, p.kernelWidth, p.strideWidth, p.paddingWidth, p.dilationWidth);
  if (height < 1 || width < 1 || height > kMost || width > kMost)
    return "convolution: the kernel does not fit into the image";
  p.outHeight = static_cast<int32_t>(height), p.outWidth = static_cast<int32_t>(width);
  return "";
}

// The sizes of the product of a group.
struct Product {
  __int128 rows, columns, terms;
};

std::string planProduct(const char *kernel, const Product &product, int64_t products,
                        ConvolutionParams &p, std::vector<Launch> &launches) {
  std::string name = std::string("Convolution_") + kernel;
  if (product.columns > kMost || product.terms > kMost)
    return "convolution: kernel '" + name + "' has products of at most " + std::to_string(kMost) +
           " columns and terms";
  int64_t rowTiles = divideUp(static_cast<int64_t>(product.rows), kConvolutionTile);
  int64_t columnTiles = divideUp(static_cast<int64_t>(product.columns), kConvolutionTile);
  __int128 blocks = static_cast<__int128>(rowTiles) * columnTiles * products;
  if (blocks > kMaxGridX)
    return "convolution: kernel '" + name + "' needs more blocks than a grid has, " +
           std::to_string(kMaxGridX);
  p.rowTiles = static_cast<int32_t>(rowTiles), p.columnTiles = static_cast<int32_t>(columnTiles);
  launches.push_back({name, static_cast<uint32_t>(blocks), 1, kConvolutionThreads, 0});
  return "";
}

} // namespace

std::string planConvolution(ConvolutionParams &params, std::vector<Launch> &launches) {
  launches.clear();
  if (std::string error = setPixels(params); !error.empty())
    return error;
  __int128 taps = static_cast<__int128>(params.kernelHeight) * params.kernelWidth;
  Product product{params.filters / params.groups,
                  static_cast<__int128>(params.batch) * params.outHeight * params.outWidth,
                  params.channels / params.groups * taps};
  return planProduct("forward", product, params.groups, params, launches);
}

std::string planConvolutionInputGrad(ConvolutionParams &params, std::vector<Launch> &launches) {
  launches.clear();
  if (std::string error = setPixels(params); !error.empty())
    return error;
  __int128 taps = static_cast<__int128>(params.kernelHeight) * params.kernelWidth;
  Product product{params.channels / params.groups,
                  static_cast<__int128>(params.batch) * params.height * params.width,
                  params.filters / params.groups * taps};
  return planProduct("inputGrad", product, params.groups, params, launches);
}

std::string planConvolutionWeightGrad(ConvolutionParams &params, std::vector<Launch> &launches) {
  launches.clear();
  if (std::string error = setPixels(params); !error.empty())
    return error;
  if (params.pieces < 1 || params.pieces > params.batch)
    return "convolution: the batch is summed in " + std::to_string(params.pieces) + " pieces of " +
           std::to_string(params.batch) + " samples";
  __int128 taps = static_cast<__int128>(params.kernelHeight) * params.kernelWidth;
  Product product{params.filters / params.groups, params.channels / params.groups * taps,
                  static_cast<__int128>(divideUp(params.batch, params.pieces)) * params.outHeight *
                      params.outWidth};
  std::string error =
      planProduct("weightGrad", product, int64_t(params.groups) * params.pieces, params, launches);
  if (!error.empty())
    return error;
  __int128 blocks =
      (params.filters * product.columns + kConvolutionThreads - 1) / kConvolutionThreads;
  if (blocks > kMaxGridX)
    return "convolution: the weight is too large";
  launches.push_back(
      {"Convolution_sumPieces", static_cast<uint32_t>(blocks), 1, kConvolutionThreads, 0});
  return "";
}

} // namespace dtc::cuda
