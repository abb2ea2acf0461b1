#include "runtime/cuda/ConvolutionGraph.h"

#include "runtime/base/Text.h"

namespace dtc::rt {
namespace {

constexpr uintptr_t kVectorBytes = 16;

// Ids of tensors in memory.
enum Id : int64_t { kImage = 1, kWeight, kResult };

// Returns the tensors' sizes.
CudnnSizes imageSizes(const cuda::ConvolutionParams &p) {
  return {p.batch, p.channels, p.height, p.width};
}
CudnnSizes weightSizes(const cuda::ConvolutionParams &p) {
  return {p.filters, p.channels / p.groups, p.kernelHeight, p.kernelWidth};
}
CudnnSizes resultSizes(const cuda::ConvolutionParams &p) {
  return {p.batch, p.filters, p.outHeight, p.outWidth};
}

} // namespace

bool isCudnnCase(const ConvolutionCase &convolution) {
  const cuda::ConvolutionParams &p = convolution.params;
  for (const void *each :
       {static_cast<const void *>(p.pixels), static_cast<const void *>(p.factors),
        static_cast<const void *>(p.out), static_cast<const void *>(p.scratch)})
    if (reinterpret_cast<uintptr_t>(each) % kVectorBytes != 0)
      return false;
  return true;
}

std::string describeConvolution(const ConvolutionCase &convolution) {
  const cuda::ConvolutionParams &p = convolution.params;
  return format::text("convolution 1 ", static_cast<int>(convolution.kind), " ", p.batch, " ",
                      p.channels, " ", p.filters, " ", p.groups, " ", p.height, " ", p.width, " ",
                      p.kernelHeight, " ", p.kernelWidth, " ", p.strideHeight, " ", p.strideWidth,
                      " ", p.paddingHeight, " ", p.paddingWidth, " ", p.dilationHeight, " ",
                      p.dilationWidth, " ", p.pieces);
}

Status buildConvolution(const ConvolutionCase &convolution, CudnnGraph &graph) {
  const cuda::ConvolutionParams &p = convolution.params;
  CudnnTensor image = graph.memory(kImage, cu::cudnnF32, imageSizes(p));
  CudnnTensor weight = graph.memory(kWeight, cu::cudnnF32, weightSizes(p));
  CudnnTensor result = graph.memory(kResult, cu::cudnnF32, resultSizes(p));
  graph.convolution(convolution.kind,
                    {.strides = {p.strideHeight, p.strideWidth},
                     .padding = {p.paddingHeight, p.paddingWidth},
                     .dilations = {p.dilationHeight, p.dilationWidth}},
                    image, weight, result);
  return graph.finish();
}

CudnnPointers pointersOf(const ConvolutionCase &convolution) {
  const cuda::ConvolutionParams &p = convolution.params;
  void *pixels = const_cast<float *>(p.pixels), *factors = const_cast<float *>(p.factors);
  switch (convolution.kind) {
  case CudnnConvolution::Forward:
    return {{kImage, pixels}, {kWeight, factors}, {kResult, p.out}};
  case CudnnConvolution::ImageGradient:
    return {{kImage, p.out}, {kWeight, factors}, {kResult, pixels}};
  case CudnnConvolution::WeightGradient:
    return {{kImage, pixels}, {kWeight, p.out}, {kResult, factors}};
  }
  __builtin_unreachable();
}

double flopsOf(const ConvolutionCase &convolution) {
  const cuda::ConvolutionParams &p = convolution.params;
  return 2.0 * p.batch * p.filters * p.outHeight * p.outWidth * (p.channels / p.groups) *
         p.kernelHeight * p.kernelWidth;
}

} // namespace dtc::rt
