#include "runtime/cuda/launches/LibraryLaunches.h"

#include "kernels/cuda/Attention.h"
#include "kernels/cuda/Convolution.h"
#include "kernels/cuda/Embedding.h"
#include "kernels/cuda/GroupedGemm.h"
#include "kernels/cuda/Pooling.h"
#include "kernels/cuda/StridedCopy.h"
#include "runtime/base/Text.h"
#include "runtime/format/ElementTypes.h"
#include "runtime/format/Instructions.h"
#include "runtime/format/Operands.h"

namespace dtc::rt {
namespace {

using format::text;

int64_t asSigned(uint64_t size) { return static_cast<int64_t>(size); }
int32_t asInt(uint64_t size) { return static_cast<int32_t>(size); } // the loader has checked it

// Returns the strides of heads; `row`: elements from a token to the next, 0 if they have no gaps.
cuda::HeadStrides stridesOf(uint64_t tokens, uint64_t heads, uint64_t headDim, uint64_t row) {
  if (row == 0)
    return cuda::denseStrides(asSigned(tokens), asSigned(heads), asSigned(headDim));
  return {asSigned(tokens * row), asSigned(row), asSigned(headDim)};
}

uint64_t valueDimOf(const format::Attention &op) {
  return op.value_dim() ? op.value_dim() : op.head_dim();
}

// The buffers of documents and starts, which differ in attention and its gradient, and of
// attention's sinks.
constexpr size_t kDocuments = 10, kSinks = 11, kStarts = 12, kGradDocuments = 17, kGradStarts = 18;

// Sets which keys there are, and what is added to scores.
void setScores(const LibraryOperands &operands, const format::Attention &op,
               cuda::AttentionParams &params) {
  params.lengths = reinterpret_cast<const int32_t *>(operands.buffers[7]);
  params.bias = reinterpret_cast<const float *>(operands.buffers[8]);
  params.slopes = reinterpret_cast<const float *>(operands.buffers[9]);
  params.hasLengths = op.lengths() != format::noBuffer ? 1 : 0;
  params.hasSlopes = op.slopes() != format::noBuffer ? 1 : 0;
  params.hasDocuments = op.documents() != format::noBuffer ? 1 : 0;
  params.hasStarts = op.starts() != format::noBuffer ? 1 : 0;
  for (uint32_t i = 0; i < format::sizeOf(op.bias_sizes()); ++i)
    params.biasSizes[i] = asInt(op.bias_sizes()->Get(i));
}

cuda::AttentionParams attentionParams(const LibraryOperands &operands,
                                      const format::Attention &op) {
  cuda::AttentionParams params{};
  params.q = operands.buffers[0];
  params.k = operands.buffers[1];
  params.v = operands.buffers[2];
  params.out = operands.buffers[3];
  params.lse = reinterpret_cast<float *>(operands.buffers[4]);
  params.qStrides = stridesOf(op.queries(), op.heads(), op.head_dim(), op.q_row());
  params.kStrides = stridesOf(op.keys(), op.kv_heads(), op.head_dim(), op.k_row());
  uint64_t valueDim = valueDimOf(op);
  params.vStrides = stridesOf(op.keys(), op.kv_heads(), valueDim, op.v_row());
  params.outStrides = params.doutStrides = stridesOf(op.queries(), op.heads(), valueDim, /*row=*/0);
  params.batch = asInt(op.batch());
  params.queries = asInt(op.queries());
  params.keys = asInt(op.keys());
  params.heads = asInt(op.heads());
  params.kvHeads = asInt(op.kv_heads());
  params.headDim = asInt(op.head_dim());
  params.causal = op.causal() ? 1 : 0;
  params.window = asInt(op.window());
  params.scale = op.scale();
  params.softCap = op.soft_cap();
  params.valueDim = asInt(op.value_dim());
  params.prefix = asInt(op.prefix());
  setScores(operands, op, params);
  cuda::setDropout(params, op.dropout());
  if (op.dropout() > 0) {
    params.seed = reinterpret_cast<const int64_t *>(operands.buffers[5]);
    params.step = reinterpret_cast<const float *>(operands.buffers[6]);
    params.firstBatch = operands.scalars[0];
    params.firstHead = operands.scalars[1];
    params.dropoutId = static_cast<uint32_t>(operands.scalars[2]);
    params.totalHeads = asSigned(op.total_heads());
  }
  return params;
}

Status plan(const format::Attention &op, const LibraryOperands &operands,
            LibraryLaunches &planned) {
  ElementType type;
  DTC_RETURN_IF_ERROR(findElementType(op.dtype(), type));
  cuda::AttentionParams params = attentionParams(operands, op);
  params.documents = reinterpret_cast<const int32_t *>(operands.buffers[kDocuments]);
  params.starts = reinterpret_cast<const int32_t *>(operands.buffers[kStarts]);
  params.sinks = reinterpret_cast<const float *>(operands.buffers[kSinks]);
  params.hasSinks = op.sinks() != format::noBuffer ? 1 : 0;
  std::string wrong = cuda::planAttention(type, params, planned.launches);
  return finishLaunches(wrong, params, planned);
}

Status plan(const format::AttentionGrad &op, const LibraryOperands &operands,
            LibraryLaunches &planned) {
  const format::Attention &forward = *op.forward();
  ElementType type;
  DTC_RETURN_IF_ERROR(findElementType(forward.dtype(), type));
  cuda::AttentionParams params = attentionParams(operands, forward);
  params.dqStrides = stridesOf(forward.queries(), forward.heads(), forward.head_dim(), op.dq_row());
  params.dkStrides = stridesOf(forward.keys(), forward.kv_heads(), forward.head_dim(), op.dk_row());
  params.dvStrides =
      stridesOf(forward.keys(), forward.kv_heads(), valueDimOf(forward), op.dv_row());
  params.dout = operands.buffers[10];
  params.dq = operands.buffers[11];
  params.dk = operands.buffers[12];
  params.dv = operands.buffers[13];
  params.delta = reinterpret_cast<float *>(operands.buffers[14]);
  params.dlse = reinterpret_cast<const float *>(operands.buffers[15]);
  params.dbias = reinterpret_cast<float *>(operands.buffers[16]);
  params.hasBiasGradient = op.dbias() != format::noBuffer ? 1 : 0;
  params.documents = reinterpret_cast<const int32_t *>(operands.buffers[kGradDocuments]);
  params.starts = reinterpret_cast<const int32_t *>(operands.buffers[kGradStarts]);
  std::string wrong = cuda::planAttentionGrad(type, params, planned.launches);
  return finishLaunches(wrong, params, planned);
}

Status plan(const format::Embedding &op, const LibraryOperands &operands,
            LibraryLaunches &planned) {
  ElementType type;
  DTC_RETURN_IF_ERROR(findElementType(op.dtype(), type));
  cuda::EmbeddingParams params{};
  params.table = operands.buffers[0];
  params.ids = reinterpret_cast<const int32_t *>(operands.buffers[1]);
  params.out = operands.buffers[2];
  params.rows = asSigned(op.rows());
  params.columns = asSigned(op.columns());
  params.tokens = asSigned(op.tokens());
  params.firstRow = operands.scalars[0];
  std::string wrong = cuda::planEmbedding(type, params, planned.launches);
  return finishLaunches(wrong, params, planned);
}

Status plan(const format::EmbeddingGrad &op, const LibraryOperands &operands,
            LibraryLaunches &planned) {
  ElementType type;
  DTC_RETURN_IF_ERROR(findElementType(op.dtype(), type));
  cuda::EmbeddingGradParams params{};
  params.grad = reinterpret_cast<float *>(operands.buffers[0]);
  params.ids = reinterpret_cast<const int32_t *>(operands.buffers[1]);
  params.dout = operands.buffers[2];
  params.rows = asSigned(op.rows());
  params.columns = asSigned(op.columns());
  params.tokens = asSigned(op.tokens());
  params.firstRow = operands.scalars[0];
  params.accumulate = op.accumulate() && !operands.startsSum ? 1 : 0;
  params.skippedRow = op.padding() < 0 ? -1 : op.padding() - params.firstRow;
  std::string wrong = cuda::planEmbeddingGrad(type, params, planned.launches);
  return finishLaunches(wrong, params, planned);
}

Status plan(const format::GroupedGemm &op, const LibraryOperands &operands,
            LibraryLaunches &planned) {
  ElementType type, resultType;
  DTC_RETURN_IF_ERROR(findElementType(op.dtype(), type));
  DTC_RETURN_IF_ERROR(findElementType(op.result_dtype(), resultType));
  cuda::GroupedGemmParams params{};
  params.a = operands.buffers[0];
  params.b = operands.buffers[1];
  params.counts = reinterpret_cast<const int32_t *>(operands.buffers[2]);
  params.c = operands.buffers[3];
  params.groups = asInt(op.groups());
  params.samples = asInt(op.samples());
  params.rows = asInt(op.rows());
  params.k = asInt(op.k());
  params.n = asInt(op.n());
  params.transB = op.trans_b() ? 1 : 0;
  params.sumsRows = op.sums_rows() ? 1 : 0;
  params.accumulate = op.accumulate() && !operands.startsSum ? 1 : 0;
  std::string wrong = cuda::planGroupedGemm(type, resultType, params, planned.launches);
  return finishLaunches(wrong, params, planned);
}

Status plan(const format::StridedCopy &op, const LibraryOperands &operands,
            LibraryLaunches &planned) {
  uint32_t dims = format::sizeOf(op.sizes());
  cuda::CopyBox box{.elementBytes = static_cast<int>(format::bytesOf(op.dtype())),
                    .numDims = static_cast<int>(dims),
                    .sizes = dims ? reinterpret_cast<const int64_t *>(op.sizes()->data()) : nullptr,
                    .srcStrides = dims ? op.src_strides()->data() : nullptr,
                    .dstStrides = dims ? op.dst_strides()->data() : nullptr,
                    .accumulate = op.accumulate() && !operands.startsSum};
  cuda::StridedCopyParams params{};
  std::string wrong = cuda::planStridedCopy(box, operands.buffers[0], operands.buffers[1], params,
                                            planned.launches);
  return finishLaunches(wrong, params, planned);
}

cuda::ConvolutionParams convolutionParams(const format::Conv2dShape &shape,
                                          const LibraryOperands &operands) {
  cuda::ConvolutionParams params{};
  params.pixels = reinterpret_cast<const float *>(operands.buffers[0]);
  params.factors = reinterpret_cast<const float *>(operands.buffers[1]);
  params.out = reinterpret_cast<float *>(operands.buffers[2]);
  params.batch = asInt(shape.batch());
  params.channels = asInt(shape.channels());
  params.filters = asInt(shape.filters());
  params.groups = asInt(shape.groups());
  params.height = asInt(shape.height());
  params.width = asInt(shape.width());
  params.kernelHeight = asInt(shape.kernel_height());
  params.kernelWidth = asInt(shape.kernel_width());
  params.strideHeight = asInt(shape.stride_height());
  params.strideWidth = asInt(shape.stride_width());
  params.paddingHeight = asInt(shape.padding_height());
  params.paddingWidth = asInt(shape.padding_width());
  params.dilationHeight = asInt(shape.dilation_height());
  params.dilationWidth = asInt(shape.dilation_width());
  return params;
}

Status plan(const format::Conv2d &op, const LibraryOperands &operands, LibraryLaunches &planned) {
  cuda::ConvolutionParams params = convolutionParams(*op.shape(), operands);
  std::string wrong = cuda::planConvolution(params, planned.launches);
  return finishLaunches(wrong, params, planned);
}

Status plan(const format::Conv2dInputGrad &op, const LibraryOperands &operands,
            LibraryLaunches &planned) {
  cuda::ConvolutionParams params = convolutionParams(*op.shape(), operands);
  std::string wrong = cuda::planConvolutionInputGrad(params, planned.launches);
  return finishLaunches(wrong, params, planned);
}

Status plan(const format::Conv2dWeightGrad &op, const LibraryOperands &operands,
            LibraryLaunches &planned) {
  cuda::ConvolutionParams params = convolutionParams(*op.shape(), operands);
  params.scratch = reinterpret_cast<float *>(operands.buffers[3]);
  params.pieces = asInt(op.pieces());
  params.accumulate = op.accumulate() && !operands.startsSum ? 1 : 0;
  std::string wrong = cuda::planConvolutionWeightGrad(params, planned.launches);
  return finishLaunches(wrong, params, planned);
}

Status planWindows(const format::Pool2dShape &shape, bool isGradient, cuda::PoolingParams params,
                   LibraryLaunches &planned) {
  params.planes = asSigned(shape.batch() * shape.channels());
  params.height = asInt(shape.height());
  params.width = asInt(shape.width());
  params.kernelHeight = asInt(shape.kernel_height());
  params.kernelWidth = asInt(shape.kernel_width());
  params.strideHeight = asInt(shape.stride_height());
  params.strideWidth = asInt(shape.stride_width());
  params.paddingHeight = asInt(shape.padding_height());
  params.paddingWidth = asInt(shape.padding_width());
  std::string wrong = cuda::planPooling(shape.max(), isGradient, params, planned.launches);
  return finishLaunches(wrong, params, planned);
}

Status plan(const format::Pool2d &op, const LibraryOperands &operands, LibraryLaunches &planned) {
  cuda::PoolingParams params{};
  params.x = reinterpret_cast<const float *>(operands.buffers[0]);
  params.out = reinterpret_cast<float *>(operands.buffers[1]);
  return planWindows(*op.shape(), /*isGradient=*/false, params, planned);
}

Status plan(const format::Pool2dGrad &op, const LibraryOperands &operands,
            LibraryLaunches &planned) {
  cuda::PoolingParams params{};
  params.x = reinterpret_cast<const float *>(operands.buffers[0]);
  params.dy = reinterpret_cast<const float *>(operands.buffers[1]);
  params.out = reinterpret_cast<float *>(operands.buffers[2]);
  return planWindows(*op.shape(), /*isGradient=*/true, params, planned);
}

template <typename Table>
bool planIf(const format::Instruction &instruction, const LibraryOperands &operands,
            LibraryLaunches &planned, Status &status) {
  const auto *op = instruction.op_as<Table>();
  if (op)
    status = plan(*op, operands, planned);
  return op;
}

template <typename... Tables>
bool planAny(const format::Instruction &instruction, const LibraryOperands &operands,
             LibraryLaunches &planned, Status &status) {
  return (planIf<Tables>(instruction, operands, planned, status) || ...);
}

} // namespace

Status planLibrary(const format::Instruction &instruction, const LibraryOperands &operands,
                   LibraryLaunches &planned) {
  planned = LibraryLaunches();
  Status status;
  if (planAny<format::Attention, format::AttentionGrad, format::Embedding, format::EmbeddingGrad,
              format::GroupedGemm, format::StridedCopy, format::Conv2d, format::Conv2dInputGrad,
              format::Conv2dWeightGrad, format::Pool2d, format::Pool2dGrad>(instruction, operands,
                                                                            planned, status))
    return status;
  return Status::unavailable(
      text("there is no ", format::opName(instruction.op_type()), " on GPUs yet"));
}

} // namespace dtc::rt
