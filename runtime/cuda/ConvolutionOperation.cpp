#include "runtime/cuda/ConvolutionOperation.h"

#include "kernels/cuda/Convolution.h"
#include "runtime/base/Text.h"
#include "runtime/cuda/ConvolutionGraph.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace dtc::rt {
namespace {

// The distance of two implementations that is allowed, as a share of a plane's norm. Sums of a few
// thousand products in f32 differ by some 2^-18 of it in another order, and by 2^-15 where
// Winograd's algorithm is used; with operands rounded to TF32 it would be 2^-11.
constexpr double kTolerance = 0x1p-14;

class ConvolutionOperation : public CudnnOperation {
public:
  ConvolutionOperation(const ConvolutionCase &convolution, bool adds)
      : convolution(convolution), adds(adds) {}

  std::string describe() const override { return describeConvolution(convolution); }
  double flops() const override { return flopsOf(convolution); }
  Status build(CudnnGraph &graph) const override { return buildConvolution(convolution, graph); }
  CudnnPointers pointers() const override { return pointersOf(convolution); }
  CudnnPointers stepPointers() const override {
    ConvolutionCase to = convolution;
    if (adds)
      to.params.out = to.params.scratch;
    return pointersOf(to);
  }

  Status planOurs(LibraryLaunches &planned) const override {
    planned = {};
    cuda::ConvolutionParams params = convolution.params;
    auto plan = convolution.kind == CudnnConvolution::Forward ? cuda::planConvolution
                : convolution.kind == CudnnConvolution::ImageGradient
                    ? cuda::planConvolutionInputGrad
                    : cuda::planConvolutionWeightGrad;
    std::string wrong = plan(params, planned.launches);
    return finishLaunches(wrong, params, planned);
  }
  Status planAfter(LibraryLaunches &planned) const override {
    planned = {};
    if (!adds)
      return {};
    cuda::ConvolutionParams params = convolution.params;
    params.pieces = 1;
    params.accumulate = 1;
    std::string wrong = cuda::planConvolutionWeightGrad(params, planned.launches);
    if (wrong.empty())
      planned.launches.erase(planned.launches.begin()); // leaves the sum of the pieces
    return finishLaunches(wrong, params, planned);
  }

  Status readResults(const cu::Driver &driver, CudnnResults &results) const override {
    DTC_CUDA(driver, cuCtxSynchronize);
    results.assign(1, std::vector<char>(parts().size() * partBytes()));
    char *to = results[0].data();
    for (int64_t part : parts()) {
      DTC_CUDA(driver, cuMemcpyDtoH, to,
               reinterpret_cast<uintptr_t>(convolution.params.out) +
                   static_cast<uint64_t>(part) * partBytes(),
               partBytes());
      to += partBytes();
    }
    return {};
  }
  Status spoilResults(const cu::Driver &driver, cu::Stream stream) const override {
    DTC_CUDA(driver, cuMemsetD8Async, reinterpret_cast<uintptr_t>(convolution.params.out), 0xff,
             static_cast<uint64_t>(allParts()) * partBytes(), stream);
    return {};
  }
  bool areSame(const CudnnResults &x, const CudnnResults &y) const override { return x == y; }
  std::string findDifference(const CudnnResults &ours, const CudnnResults &other) const override;

private:
  const cuda::ConvolutionParams &params() const { return convolution.params; }
  bool isOfWeight() const { return convolution.kind == CudnnConvolution::WeightGradient; }
  // Returns the elements of a plane, of one sample and channel or of one filter.
  int64_t plane() const {
    const cuda::ConvolutionParams &p = params();
    switch (convolution.kind) {
    case CudnnConvolution::Forward:
      return int64_t(p.outHeight) * p.outWidth;
    case CudnnConvolution::ImageGradient:
      return int64_t(p.height) * p.width;
    case CudnnConvolution::WeightGradient:
      return int64_t(p.channels / p.groups) * p.kernelHeight * p.kernelWidth;
    }
    __builtin_unreachable();
  }
  // Returns the planes of a part, a sample of images or the whole weight.
  int64_t planes() const {
    return convolution.kind == CudnnConvolution::ImageGradient ? params().channels
                                                               : params().filters;
  }
  int64_t allParts() const { return isOfWeight() ? 1 : params().batch; }
  uint64_t partBytes() const {
    return static_cast<uint64_t>(planes()) * static_cast<uint64_t>(plane()) * sizeof(float);
  }
  // Returns the parts that are compared: the first, the middle and the last one.
  std::vector<int64_t> parts() const {
    std::vector<int64_t> compared = {0, allParts() / 2, allParts() - 1};
    compared.erase(std::unique(compared.begin(), compared.end()), compared.end());
    return compared;
  }

  ConvolutionCase convolution; // does not add
  bool adds;
};

// Returns the norm of x, or of x - y.
double norm(const char *x, const char *y, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    float left = 0, right = 0;
    std::memcpy(&left, x + 4 * i, sizeof(left));
    if (y)
      std::memcpy(&right, y + 4 * i, sizeof(right));
    sum += (static_cast<double>(left) - right) * (static_cast<double>(left) - right);
  }
  return std::sqrt(sum);
}

// Compares planes, so that a single wrong pixel shows. A plane below the others' mean may differ
// as they may.
std::string ConvolutionOperation::findDifference(const CudnnResults &ours,
                                                 const CudnnResults &other) const {
  int64_t bytes = plane() * static_cast<int64_t>(sizeof(float));
  int64_t count = static_cast<int64_t>(ours[0].size()) / bytes;
  double mean = norm(ours[0].data(), nullptr, count * plane()) /
                std::sqrt(static_cast<double>(std::max<int64_t>(count, 1)));
  for (int64_t i = 0; i < count; ++i) {
    const char *x = ours[0].data() + i * bytes, *y = other[0].data() + i * bytes;
    double own = norm(x, nullptr, plane()), away = norm(x, y, plane());
    if (!(away <= kTolerance * std::max(own, mean))) // also true if one of both is NaN
      return format::text(
          isOfWeight() ? "filter " : "plane ", i % planes(),
          isOfWeight() ? ""
                       : format::text(" of sample ", parts()[static_cast<size_t>(i / planes())]),
          " of a convolution's ",
          convolution.kind == CudnnConvolution::Forward ? "result"
          : isOfWeight()                                ? "gradient of the weight"
                                                        : "gradient of the image",
          " is ", away, " away, at a norm of ", own);
  }
  return "";
}

// Finds the kind of a command. Returns false if it is none.
bool findKind(const format::Instruction &instruction, CudnnConvolution &kind) {
  if (instruction.op_as_Conv2d())
    kind = CudnnConvolution::Forward;
  else if (instruction.op_as_Conv2dInputGrad())
    kind = CudnnConvolution::ImageGradient;
  else if (instruction.op_as_Conv2dWeightGrad())
    kind = CudnnConvolution::WeightGradient;
  else
    return false;
  return true;
}

} // namespace

std::unique_ptr<CudnnOperation> convolutionOperationOf(const Command &command) {
  ConvolutionCase convolution;
  LibraryLaunches planned;
  LibraryOperands operands{command.buffers, command.scalars, command.startsSum};
  if (!findKind(*command.source, convolution.kind) ||
      !planLibrary(*command.source, operands, planned).ok() ||
      8 * planned.parameter.size() < sizeof(convolution.params))
    return nullptr;
  std::memcpy(&convolution.params, planned.parameter.data(), sizeof(convolution.params));
  bool adds = convolution.params.accumulate;
  convolution.params.accumulate = 0;
  return isCudnnCase(convolution) ? std::make_unique<ConvolutionOperation>(convolution, adds)
                                  : nullptr;
}

} // namespace dtc::rt
