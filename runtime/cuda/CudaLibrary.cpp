#include "runtime/cuda/CudaLibrary.h"

#include "kernels/cuda/Attention.h"
#include "kernels/cuda/Embedding.h"
#include "kernels/cuda/StridedCopy.h"
#include "runtime/base/Text.h"
#include "runtime/format/Operands.h"

namespace dtc::rt {
namespace {

using format::text;

int64_t asSigned(uint64_t size) { return static_cast<int64_t>(size); }
int32_t asInt(uint64_t size) { return static_cast<int32_t>(size); } // the loader has checked it

cuda::ElementType elementType(format::DType type) {
  return type == format::DType::bf16  ? cuda::ElementType::BF16
         : type == format::DType::f16 ? cuda::ElementType::F16
                                      : cuda::ElementType::F32;
}

// Launches one after another, all with the same parameter.
template <typename Params>
Status prepareAll(const std::string &wrong, const std::vector<cuda::Launch> &launches,
                  const Params &params, CudaCode &code, std::vector<StreamWork> &works) {
  if (!wrong.empty())
    return Status::unavailable(wrong);
  for (const cuda::Launch &launch : launches) {
    LaunchShape shape{.x = launch.gridX,
                      .y = launch.gridY,
                      .z = 1,
                      .threads = launch.threads,
                      .sharedBytes = launch.sharedBytes};
    DTC_RETURN_IF_ERROR(
        code.prepare(launch.kernel, shape, &params, sizeof(params), works.emplace_back()));
  }
  return {};
}

cuda::AttentionParams attentionParams(const Command &command, const format::Attention &op) {
  cuda::AttentionParams params{};
  params.q = command.buffers[0];
  params.k = command.buffers[1];
  params.v = command.buffers[2];
  params.out = command.buffers[3];
  params.lse = reinterpret_cast<float *>(command.buffers[4]);
  cuda::HeadStrides ofQueries =
      cuda::denseStrides(asSigned(op.queries()), asSigned(op.heads()), asSigned(op.head_dim()));
  cuda::HeadStrides ofKeys =
      cuda::denseStrides(asSigned(op.keys()), asSigned(op.kv_heads()), asSigned(op.head_dim()));
  params.qStrides = params.outStrides = params.doutStrides = params.dqStrides = ofQueries;
  params.kStrides = params.vStrides = params.dkStrides = params.dvStrides = ofKeys;
  params.batch = asInt(op.batch());
  params.queries = asInt(op.queries());
  params.keys = asInt(op.keys());
  params.heads = asInt(op.heads());
  params.kvHeads = asInt(op.kv_heads());
  params.headDim = asInt(op.head_dim());
  params.causal = op.causal() ? 1 : 0;
  params.scale = op.scale();
  cuda::setDropout(params, op.dropout());
  if (op.dropout() > 0) {
    params.seed = reinterpret_cast<const int64_t *>(command.buffers[5]);
    params.step = reinterpret_cast<const float *>(command.buffers[6]);
    params.firstBatch = command.scalars[0];
    params.firstHead = command.scalars[1];
    params.dropoutId = static_cast<uint32_t>(command.scalars[2]);
    params.totalHeads = asSigned(op.total_heads());
  }
  return params;
}

Status prepare(const format::Attention &op, const Command &command, CudaCode &code,
               std::vector<StreamWork> &works) {
  cuda::AttentionParams params = attentionParams(command, op);
  std::vector<cuda::Launch> launches;
  std::string wrong = cuda::planAttention(elementType(op.dtype()), params, launches);
  return prepareAll(wrong, launches, params, code, works);
}

Status prepare(const format::AttentionGrad &op, const Command &command, CudaCode &code,
               std::vector<StreamWork> &works) {
  cuda::AttentionParams params = attentionParams(command, *op.forward());
  params.dout = command.buffers[7];
  params.dq = command.buffers[8];
  params.dk = command.buffers[9];
  params.dv = command.buffers[10];
  params.delta = reinterpret_cast<float *>(command.buffers[11]);
  std::vector<cuda::Launch> launches;
  std::string wrong = cuda::planAttentionGrad(elementType(op.forward()->dtype()), params, launches);
  return prepareAll(wrong, launches, params, code, works);
}

Status prepare(const format::Embedding &op, const Command &command, CudaCode &code,
               std::vector<StreamWork> &works) {
  cuda::EmbeddingParams params{};
  params.table = command.buffers[0];
  params.ids = reinterpret_cast<const int32_t *>(command.buffers[1]);
  params.out = command.buffers[2];
  params.rows = asSigned(op.rows());
  params.columns = asSigned(op.columns());
  params.tokens = asSigned(op.tokens());
  params.firstRow = command.scalars[0];
  std::vector<cuda::Launch> launches;
  std::string wrong = cuda::planEmbedding(elementType(op.dtype()), params, launches);
  return prepareAll(wrong, launches, params, code, works);
}

Status prepare(const format::EmbeddingGrad &op, const Command &command, CudaCode &code,
               std::vector<StreamWork> &works) {
  cuda::EmbeddingGradParams params{};
  params.grad = reinterpret_cast<float *>(command.buffers[0]);
  params.ids = reinterpret_cast<const int32_t *>(command.buffers[1]);
  params.dout = command.buffers[2];
  params.rows = asSigned(op.rows());
  params.columns = asSigned(op.columns());
  params.tokens = asSigned(op.tokens());
  params.firstRow = command.scalars[0];
  params.accumulate = op.accumulate() && !command.startsSum ? 1 : 0;
  std::vector<cuda::Launch> launches;
  std::string wrong = cuda::planEmbeddingGrad(elementType(op.dtype()), params, launches);
  return prepareAll(wrong, launches, params, code, works);
}

Status prepare(const format::StridedCopy &op, const Command &command, CudaCode &code,
               std::vector<StreamWork> &works) {
  uint32_t dims = format::sizeOf(op.sizes());
  cuda::CopyBox box{.elementBytes = static_cast<int>(format::bytesOf(op.dtype())),
                    .numDims = static_cast<int>(dims),
                    .sizes = dims ? reinterpret_cast<const int64_t *>(op.sizes()->data()) : nullptr,
                    .srcStrides = dims ? op.src_strides()->data() : nullptr,
                    .dstStrides = dims ? op.dst_strides()->data() : nullptr,
                    .accumulate = op.accumulate() && !command.startsSum};
  cuda::StridedCopyParams params{};
  std::vector<cuda::Launch> launches;
  std::string wrong =
      cuda::planStridedCopy(box, command.buffers[0], command.buffers[1], params, launches);
  return prepareAll(wrong, launches, params, code, works);
}

template <typename Table>
bool prepareIf(const Command &command, CudaCode &code, std::vector<StreamWork> &works,
               Status &status) {
  const auto *op = command.source->op_as<Table>();
  if (op)
    status = prepare(*op, command, code, works);
  return op;
}

template <typename... Tables>
bool prepareAny(const Command &command, CudaCode &code, std::vector<StreamWork> &works,
                Status &status) {
  return (prepareIf<Tables>(command, code, works, status) || ...);
}

} // namespace

Status prepareLibrary(const Command &command, CudaCode &code, std::vector<StreamWork> &works) {
  Status status;
  if (prepareAny<format::Attention, format::AttentionGrad, format::Embedding, format::EmbeddingGrad,
                 format::StridedCopy>(command, code, works, status))
    return status;
  return Status::unavailable(text("there is no ", format::opName(command.source->op_type()),
                                  " on GPUs yet; recompile with dtc for device cpu"));
}

} // namespace dtc::rt
