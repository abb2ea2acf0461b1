#include "runtime/device/CpuInstructions.h"

#include "kernels/cpu/Attention.h"
#include "kernels/cpu/Convolution.h"
#include "kernels/cpu/Embedding.h"
#include "kernels/cpu/Gemm.h"
#include "kernels/cpu/GemmArgs.h"
#include "kernels/cpu/GroupedGemm.h"
#include "kernels/cpu/NarrowAttention.h"
#include "kernels/cpu/NarrowGemm.h"
#include "kernels/cpu/Pooling.h"
#include "kernels/cpu/StridedCopy.h"
#include "kernels/cpu/ThreadPool.h"
#include "runtime/base/Text.h"
#include "runtime/format/ElementTypes.h"
#include "runtime/format/Instructions.h"
#include "runtime/format/Operands.h"

#include <cstring>
#include <type_traits>

namespace dtc::rt {
namespace {

float *asFloat(char *address) { return reinterpret_cast<float *>(address); }
const int32_t *asIds(char *address) { return reinterpret_cast<const int32_t *>(address); }
int64_t asSigned(uint64_t size) { return static_cast<int64_t>(size); }

// Sets what matrix products of all types have in common.
template <typename Args> void setShape(Args &args, const format::Gemm &op, const Command &command) {
  args.m = asSigned(op.m());
  args.n = asSigned(op.n());
  args.k = asSigned(op.k());
  args.lda = asSigned(op.lda());
  args.ldb = asSigned(op.ldb());
  args.ldc = asSigned(op.ldc());
  args.transA = op.trans_a();
  args.transB = op.trans_b();
  args.alpha = op.alpha();
  args.beta = command.startsSum ? 0 : op.beta();
  args.batch = asSigned(op.batch());
  args.strideA = asSigned(op.stride_a());
  args.strideB = asSigned(op.stride_b());
  args.strideC = asSigned(op.stride_c());
}

Status run(const format::Gemm &op, const Command &command, cpu::ThreadPool &pool) {
  ElementType type, resultType;
  DTC_RETURN_IF_ERROR(findElementType(op.dtype(), type));
  DTC_RETURN_IF_ERROR(findElementType(op.result_dtype(), resultType));
  switch (type) {
  case ElementType::F32: {
    cpu::GemmArgs args{.a = asFloat(command.buffers[0]),
                       .b = asFloat(command.buffers[1]),
                       .c = asFloat(command.buffers[2])};
    setShape(args, op, command);
    cpu::gemm(args, pool);
    return {};
  }
  case ElementType::BF16:
  case ElementType::F16: {
    cpu::NarrowGemmArgs args{.a = command.buffers[0],
                             .b = command.buffers[1],
                             .c = command.buffers[2],
                             .type = type,
                             .resultType = resultType};
    setShape(args, op, command);
    cpu::narrowGemm(args, pool);
    return {};
  }
  }
  __builtin_unreachable();
}

Status run(const format::GroupedGemm &op, const Command &command, cpu::ThreadPool &pool) {
  ElementType type, resultType;
  DTC_RETURN_IF_ERROR(findElementType(op.dtype(), type));
  DTC_RETURN_IF_ERROR(findElementType(op.result_dtype(), resultType));
  cpu::GroupedGemmArgs args{.a = command.buffers[0],
                            .b = command.buffers[1],
                            .c = command.buffers[3],
                            .counts = asIds(command.buffers[2]),
                            .type = type,
                            .resultType = resultType,
                            .groups = asSigned(op.groups()),
                            .samples = asSigned(op.samples()),
                            .rows = asSigned(op.rows()),
                            .k = asSigned(op.k()),
                            .n = asSigned(op.n()),
                            .transB = op.trans_b(),
                            .sumsRows = op.sums_rows(),
                            .accumulate = op.accumulate() && !command.startsSum};
  cpu::groupedGemm(args, pool);
  return {};
}

// The buffers of documents and starts, which differ in attention and its gradient, and of
// attention's sinks.
constexpr size_t kDocuments = 10, kSinks = 11, kStarts = 12, kGradDocuments = 17, kGradStarts = 18;

// Returns the arguments of attention whose documents and starts are these buffers; without sinks.
cpu::AttentionArgs attentionArgs(const Command &command, const format::Attention &op,
                                 size_t documents, size_t starts) {
  cpu::AttentionArgs args{.q = asFloat(command.buffers[0]),
                          .k = asFloat(command.buffers[1]),
                          .v = asFloat(command.buffers[2]),
                          .out = asFloat(command.buffers[3]),
                          .lse = asFloat(command.buffers[4]),
                          .batch = asSigned(op.batch()),
                          .queries = asSigned(op.queries()),
                          .keys = asSigned(op.keys()),
                          .heads = asSigned(op.heads()),
                          .kvHeads = asSigned(op.kv_heads()),
                          .headDim = asSigned(op.head_dim()),
                          .causal = op.causal(),
                          .scale = op.scale(),
                          .qRow = asSigned(op.q_row()),
                          .kRow = asSigned(op.k_row()),
                          .vRow = asSigned(op.v_row()),
                          .window = asSigned(op.window()),
                          .softCap = op.soft_cap(),
                          .valueDim = asSigned(op.value_dim()),
                          .prefix = asSigned(op.prefix()),
                          .lengths = asIds(command.buffers[7]),
                          .bias = asFloat(command.buffers[8]),
                          .slopes = asFloat(command.buffers[9]),
                          .documents = asIds(command.buffers[documents]),
                          .starts = asIds(command.buffers[starts])};
  for (uint32_t i = 0; i < format::sizeOf(op.bias_sizes()); ++i)
    args.biasSizes[i] = asSigned(op.bias_sizes()->Get(i));
  if (op.dropout() > 0) {
    int64_t seed = 0;
    float step = 0;
    std::memcpy(&seed, command.buffers[5], sizeof(seed));
    std::memcpy(&step, command.buffers[6], sizeof(step));
    // The program may leave any value in the step; only a whole number in range is used.
    args.step = step >= 0 && step < 4294967296.0f ? static_cast<uint64_t>(step) : 0;
    args.dropout = args.step == 0 ? 0 : op.dropout(); // step 0 is evaluation
    args.seed = static_cast<uint64_t>(seed);
    args.dropoutId = static_cast<uint64_t>(command.scalars[2]);
    args.globalBatch0 = command.scalars[0];
    args.globalHead0 = command.scalars[1];
    args.totalHeads = asSigned(op.total_heads());
  }
  return args;
}

cpu::NarrowTensors narrowTensors(const Command &command, ElementType type) {
  return {.type = type,
          .q = command.buffers[0],
          .k = command.buffers[1],
          .v = command.buffers[2],
          .out = command.buffers[3]};
}

Status run(const format::Attention &op, const Command &command, cpu::ThreadPool &pool) {
  ElementType type;
  DTC_RETURN_IF_ERROR(findElementType(op.dtype(), type));
  cpu::AttentionArgs args = attentionArgs(command, op, kDocuments, kStarts);
  args.sinks = asFloat(command.buffers[kSinks]);
  switch (type) {
  case ElementType::F32:
    cpu::attention(args, pool);
    break;
  case ElementType::BF16:
  case ElementType::F16:
    cpu::narrowAttention(args, narrowTensors(command, type), pool);
    break;
  }
  return {};
}

void runWide(const format::AttentionGrad &op, const Command &command, cpu::ThreadPool &pool) {
  cpu::AttentionGradArgs args{
      .forward = attentionArgs(command, *op.forward(), kGradDocuments, kGradStarts),
      .dout = asFloat(command.buffers[10]),
      .dq = asFloat(command.buffers[11]),
      .dk = asFloat(command.buffers[12]),
      .dv = asFloat(command.buffers[13]),
      .scratch = asFloat(command.buffers[14]),
      .dlse = asFloat(command.buffers[15]),
      .dqRow = asSigned(op.dq_row()),
      .dkRow = asSigned(op.dk_row()),
      .dvRow = asSigned(op.dv_row()),
      .dbias = asFloat(command.buffers[16])};
  cpu::attentionGrad(args, pool);
}

void runNarrow(const format::AttentionGrad &op, const Command &command, ElementType type,
               cpu::ThreadPool &pool) {
  cpu::NarrowTensors tensors = narrowTensors(command, type);
  tensors.dout = command.buffers[10];
  tensors.dq = command.buffers[11];
  tensors.dk = command.buffers[12];
  tensors.dv = command.buffers[13];
  tensors.dqRow = asSigned(op.dq_row());
  tensors.dkRow = asSigned(op.dk_row());
  tensors.dvRow = asSigned(op.dv_row());
  tensors.dlse = asFloat(command.buffers[15]);
  tensors.dbias = asFloat(command.buffers[16]);
  cpu::narrowAttentionGrad(attentionArgs(command, *op.forward(), kGradDocuments, kGradStarts),
                           tensors, asFloat(command.buffers[14]), pool);
}

Status run(const format::AttentionGrad &op, const Command &command, cpu::ThreadPool &pool) {
  ElementType type;
  DTC_RETURN_IF_ERROR(findElementType(op.forward()->dtype(), type));
  switch (type) {
  case ElementType::F32:
    runWide(op, command, pool);
    break;
  case ElementType::BF16:
  case ElementType::F16:
    runNarrow(op, command, type, pool);
    break;
  }
  return {};
}

Status run(const format::Embedding &op, const Command &command, cpu::ThreadPool &pool) {
  ElementType type;
  DTC_RETURN_IF_ERROR(findElementType(op.dtype(), type));
  cpu::embedding(command.buffers[0], asIds(command.buffers[1]), command.buffers[2],
                 asSigned(op.rows()), asSigned(op.columns()), asSigned(op.tokens()),
                 command.scalars[0], pool, type);
  return {};
}

Status run(const format::EmbeddingGrad &op, const Command &command, cpu::ThreadPool &pool) {
  ElementType type;
  DTC_RETURN_IF_ERROR(findElementType(op.dtype(), type));
  cpu::embeddingGrad(asFloat(command.buffers[0]), asIds(command.buffers[1]), command.buffers[2],
                     asSigned(op.rows()), asSigned(op.columns()), asSigned(op.tokens()),
                     command.scalars[0], op.accumulate() && !command.startsSum, pool, type,
                     op.padding());
  return {};
}

cpu::Conv2dShape shapeOf(const format::Conv2dShape &shape) {
  return {.batch = asSigned(shape.batch()),
          .channels = asSigned(shape.channels()),
          .filters = asSigned(shape.filters()),
          .groups = asSigned(shape.groups()),
          .height = asSigned(shape.height()),
          .width = asSigned(shape.width()),
          .kernelHeight = asSigned(shape.kernel_height()),
          .kernelWidth = asSigned(shape.kernel_width()),
          .strideHeight = asSigned(shape.stride_height()),
          .strideWidth = asSigned(shape.stride_width()),
          .paddingHeight = asSigned(shape.padding_height()),
          .paddingWidth = asSigned(shape.padding_width()),
          .dilationHeight = asSigned(shape.dilation_height()),
          .dilationWidth = asSigned(shape.dilation_width())};
}

void run(const format::Conv2d &op, const Command &command, cpu::ThreadPool &pool) {
  cpu::conv2d(shapeOf(*op.shape()), asFloat(command.buffers[0]), asFloat(command.buffers[1]),
              asFloat(command.buffers[2]), pool);
}

void run(const format::Conv2dInputGrad &op, const Command &command, cpu::ThreadPool &pool) {
  cpu::conv2dInputGrad(shapeOf(*op.shape()), asFloat(command.buffers[0]),
                       asFloat(command.buffers[1]), asFloat(command.buffers[2]), pool);
}

void run(const format::Conv2dWeightGrad &op, const Command &command, cpu::ThreadPool &pool) {
  cpu::conv2dWeightGrad(shapeOf(*op.shape()), asFloat(command.buffers[0]),
                        asFloat(command.buffers[1]), asFloat(command.buffers[2]),
                        asFloat(command.buffers[3]), asSigned(op.pieces()),
                        op.accumulate() && !command.startsSum, pool);
}

cpu::Pool2dShape shapeOf(const format::Pool2dShape &shape) {
  return {.planes = asSigned(shape.batch() * shape.channels()),
          .height = asSigned(shape.height()),
          .width = asSigned(shape.width()),
          .kernelHeight = asSigned(shape.kernel_height()),
          .kernelWidth = asSigned(shape.kernel_width()),
          .strideHeight = asSigned(shape.stride_height()),
          .strideWidth = asSigned(shape.stride_width()),
          .paddingHeight = asSigned(shape.padding_height()),
          .paddingWidth = asSigned(shape.padding_width())};
}

void run(const format::Pool2d &op, const Command &command, cpu::ThreadPool &pool) {
  auto pool2d = op.shape()->max() ? cpu::maxPool2d : cpu::avgPool2d;
  pool2d(shapeOf(*op.shape()), asFloat(command.buffers[0]), asFloat(command.buffers[1]), pool);
}

void run(const format::Pool2dGrad &op, const Command &command, cpu::ThreadPool &pool) {
  const float *dy = asFloat(command.buffers[1]);
  float *dx = asFloat(command.buffers[2]);
  if (op.shape()->max())
    cpu::maxPool2dGrad(shapeOf(*op.shape()), asFloat(command.buffers[0]), dy, dx, pool);
  else
    cpu::avgPool2dGrad(shapeOf(*op.shape()), dy, dx, pool);
}

void run(const format::StridedCopy &op, const Command &command, cpu::ThreadPool &pool) {
  uint32_t dims = format::sizeOf(op.sizes());
  cpu::StridedCopyArgs args{.src = command.buffers[0],
                            .dst = command.buffers[1],
                            .elementBytes = format::bytesOf(op.dtype()),
                            .numDims = static_cast<int>(dims),
                            .sizes = dims ? reinterpret_cast<const int64_t *>(op.sizes()->data())
                                          : nullptr,
                            .srcStrides = dims ? op.src_strides()->data() : nullptr,
                            .dstStrides = dims ? op.dst_strides()->data() : nullptr,
                            .accumulate = op.accumulate() && !command.startsSum};
  cpu::stridedCopy(args, pool);
}

void run(const format::Zero &op, const Command &command, cpu::ThreadPool &pool) {
  char *to = command.buffers[0];
  constexpr int64_t grain = 1024 * 1024; // about 170 us at 6 GB/s
  pool.parallelFor(asSigned(command.bytes), grain, [to](int64_t begin, int64_t end) {
    std::memset(to + begin, 0, static_cast<size_t>(end - begin));
  });
}

// Runs the instruction if it is of the kind that `Table` holds.
template <typename Table>
bool runIf(const Command &command, cpu::ThreadPool &pool, Status &status) {
  const auto *op = command.source->op_as<Table>();
  if (!op)
    return false;
  if constexpr (std::is_void_v<decltype(run(*op, command, pool))>)
    run(*op, command, pool);
  else
    status = run(*op, command, pool);
  return true;
}

template <typename... Tables>
bool runAny(const Command &command, cpu::ThreadPool &pool, Status &status) {
  return (runIf<Tables>(command, pool, status) || ...);
}

} // namespace

Status runOnCpu(const Command &command, cpu::ThreadPool &pool) {
  Status status;
  if (runAny<format::Gemm, format::GroupedGemm, format::Attention, format::AttentionGrad,
             format::Embedding, format::EmbeddingGrad, format::StridedCopy, format::Zero,
             format::Conv2d, format::Conv2dInputGrad, format::Conv2dWeightGrad, format::Pool2d,
             format::Pool2dGrad>(command, pool, status))
    return status;
  return Status::internal(format::text("the CPU was given a ",
                                       format::opName(command.source->op_type()),
                                       " to compute, which does not"));
}

} // namespace dtc::rt
