#include "runtime/cuda/AttentionOperation.h"

#include "kernels/cuda/Attention.h"
#include "runtime/cuda/AttentionCheck.h"
#include "runtime/format/ElementTypes.h"

#include <cstring>

namespace dtc::rt {
namespace {

class AttentionOperation : public CudnnOperation {
public:
  explicit AttentionOperation(const AttentionCase &attention) : attention(attention) {}

  std::string describe() const override { return describeAttention(attention); }
  double flops() const override { return flopsOf(attention); }
  Status build(CudnnGraph &graph) const override { return buildAttention(attention, graph); }
  CudnnPointers pointers() const override { return pointersOf(attention); }

  Status planOurs(LibraryLaunches &planned) const override {
    return plan(attention.isGradient, planned);
  }
  // A gradient reads the result and the logarithms of the forward pass.
  Status planBefore(LibraryLaunches &planned) const override {
    planned = {};
    return attention.isGradient ? plan(/*isGradient=*/false, planned) : Status();
  }

  Status readResults(const cu::Driver &driver, CudnnResults &results) const override {
    return rt::readResults(driver, attention, results);
  }
  Status spoilResults(const cu::Driver &driver, cu::Stream stream) const override {
    return rt::spoilResults(driver, attention, stream);
  }
  bool areSame(const CudnnResults &x, const CudnnResults &y) const override {
    return rt::areSame(attention, x, y);
  }
  std::string findDifference(const CudnnResults &ours, const CudnnResults &other) const override {
    return rt::findDifference(attention, ours, other);
  }

private:
  Status plan(bool isGradient, LibraryLaunches &planned) const {
    planned = {};
    cuda::AttentionParams params = attention.params;
    std::string wrong = isGradient
                            ? cuda::planAttentionGrad(attention.type, params, planned.launches)
                            : cuda::planAttention(attention.type, params, planned.launches);
    return finishLaunches(wrong, params, planned);
  }

  AttentionCase attention;
};

} // namespace

std::unique_ptr<CudnnOperation> attentionOperationOf(const Command &command) {
  const auto *gradient = command.source->op_as_AttentionGrad();
  const format::Attention *op = gradient ? gradient->forward() : command.source->op_as_Attention();
  if (!op)
    return nullptr;
  AttentionCase attention;
  attention.isGradient = gradient;
  LibraryLaunches planned;
  LibraryOperands operands{command.buffers, command.scalars, command.startsSum};
  if (!planLibrary(*command.source, operands, planned).ok() ||
      8 * planned.parameter.size() < sizeof(attention.params) ||
      !findElementType(op->dtype(), attention.type).ok())
    return nullptr;
  std::memcpy(&attention.params, planned.parameter.data(), sizeof(attention.params));
  return isCudnnCase(attention) ? std::make_unique<AttentionOperation>(attention) : nullptr;
}

} // namespace dtc::rt
