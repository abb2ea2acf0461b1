#include "runtime/cuda/PoolingOperation.h"

#include "kernels/cuda/Pooling.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace dtc::rt {
namespace {

// The distance of two implementations that is allowed, as a share of a plane's norm: sums in f32 in
// another order.
constexpr double kMeansTolerance = 0x1p-16;
constexpr uintptr_t kMeansAlignment = 16;

// Ids of tensors in memory.
enum MeansId : int64_t { kMeansImage = 1, kMeansResult };

class MeansOperation : public CudnnOperation {
public:
  MeansOperation(const cuda::PoolingParams &params, bool isGradient)
      : p(params), isGradient(isGradient) {}

  std::string describe() const override {
    return format::text("means 1 ", isGradient ? 1 : 0, " ", p.planes, " ", p.height, " ", p.width,
                        " ", p.kernelHeight, " ", p.kernelWidth, " ", p.strideHeight, " ",
                        p.strideWidth, " ", p.paddingHeight, " ", p.paddingWidth);
  }
  double flops() const override {
    return double(p.planes) * p.outHeight * p.outWidth * p.kernelHeight * p.kernelWidth;
  }
  Status build(CudnnGraph &graph) const override {
    CudnnTensor image = graph.memory(kMeansImage, cu::cudnnF32, {1, p.planes, p.height, p.width});
    CudnnTensor result =
        graph.memory(kMeansResult, cu::cudnnF32, {1, p.planes, p.outHeight, p.outWidth});
    graph.means(isGradient,
                {.strides = {p.strideHeight, p.strideWidth},
                 .padding = {p.paddingHeight, p.paddingWidth},
                 .dilations = {1, 1}},
                {p.kernelHeight, p.kernelWidth}, image, result);
    return graph.finish();
  }
  CudnnPointers pointers() const override {
    if (isGradient)
      return {{kMeansImage, p.out}, {kMeansResult, const_cast<float *>(p.dy)}};
    return {{kMeansImage, const_cast<float *>(p.x)}, {kMeansResult, p.out}};
  }

  Status planOurs(LibraryLaunches &planned) const override {
    planned = {};
    cuda::PoolingParams params = p;
    std::string wrong = cuda::planPooling(/*isMax=*/false, isGradient, params, planned.launches);
    return finishLaunches(wrong, params, planned);
  }

  Status readResults(const cu::Driver &driver, CudnnResults &results) const override {
    DTC_CUDA(driver, cuCtxSynchronize);
    results.clear();
    for (int64_t plane : {int64_t(0), p.planes / 2, p.planes - 1}) {
      std::vector<char> &bytes = results.emplace_back(planeBytes());
      DTC_CUDA(driver, cuMemcpyDtoH, bytes.data(),
               reinterpret_cast<uintptr_t>(p.out) + static_cast<uint64_t>(plane) * planeBytes(),
               planeBytes());
    }
    return {};
  }
  Status spoilResults(const cu::Driver &driver, cu::Stream stream) const override {
    DTC_CUDA(driver, cuMemsetD8Async, reinterpret_cast<uintptr_t>(p.out), 0xff,
             static_cast<uint64_t>(p.planes) * planeBytes(), stream);
    return {};
  }
  bool areSame(const CudnnResults &x, const CudnnResults &y) const override { return x == y; }
  std::string findDifference(const CudnnResults &ours, const CudnnResults &other) const override {
    for (size_t plane = 0; plane < ours.size(); ++plane) {
      double own = 0, away = 0;
      for (size_t at = 0; at + sizeof(float) <= ours[plane].size(); at += sizeof(float)) {
        float x = 0, y = 0;
        std::memcpy(&x, &ours[plane][at], sizeof(x));
        std::memcpy(&y, &other[plane][at], sizeof(y));
        own += double(x) * x;
        away += (double(x) - y) * (double(x) - y);
      }
      if (!(std::sqrt(away) <= kMeansTolerance * std::sqrt(own))) // also true for NaN
        return format::text("a plane of the ", isGradient ? "gradient of means" : "means",
                            " of windows is ", std::sqrt(away), " away, at a norm of ",
                            std::sqrt(own));
    }
    return "";
  }

private:
  uint64_t planeBytes() const {
    return sizeof(float) *
           (isGradient ? static_cast<uint64_t>(p.height) * static_cast<uint64_t>(p.width)
                       : static_cast<uint64_t>(p.outHeight) * static_cast<uint64_t>(p.outWidth));
  }

  cuda::PoolingParams p;
  bool isGradient;
};

} // namespace

std::unique_ptr<CudnnOperation> poolingOperationOf(const Command &command) {
  const auto *forward = command.source->op_as_Pool2d();
  const auto *gradient = command.source->op_as_Pool2dGrad();
  if ((!forward && !gradient) || (forward ? forward->shape() : gradient->shape())->max())
    return nullptr;
  cuda::PoolingParams params{};
  LibraryLaunches planned;
  LibraryOperands operands{command.buffers, command.scalars, command.startsSum};
  if (!planLibrary(*command.source, operands, planned).ok() ||
      8 * planned.parameter.size() < sizeof(params))
    return nullptr;
  std::memcpy(&params, planned.parameter.data(), sizeof(params));
  for (const float *each : {params.x, params.dy, static_cast<const float *>(params.out)})
    if (reinterpret_cast<uintptr_t>(each) % kMeansAlignment != 0)
      return nullptr;
  return std::make_unique<MeansOperation>(params, gradient != nullptr);
}

} // namespace dtc::rt
