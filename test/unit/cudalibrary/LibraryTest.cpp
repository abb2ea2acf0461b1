// Runs programs of library instructions on the CPU device, and on the CUDA device over the emulated
// GPU: every buffer must be equal. This checks that operands, sizes, strides and scalars of
// commands reach the kernels' parameters correctly.
#include "runtime/format/Operands.h"
#include "test/unit/cudalibrary/DeviceCode.h"

#include "runtime/base/HalfFloats.h"
#include "runtime/comm/Loopback.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/device/CpuDevice.h"
#include "runtime/exec/Executor.h"
#include "runtime/fakecuda/FakeCuda.h"
#include "test/unit/format/Sample.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace dtc::rt {
namespace {

using format::DType;
using test::ProgramBuilder;
using test::rankScalar;

using Bytes = std::vector<uint8_t>;

// Returns the values of each buffer, in order.
std::vector<std::vector<float>> toFloats(const ProgramBuilder &builder,
                                         const std::vector<Bytes> &buffers) {
  std::vector<std::vector<float>> all;
  for (size_t i = 0; i < buffers.size(); ++i) {
    DType type = builder.manifest.programs[0]->buffers[i]->dtype;
    std::vector<float> &values = all.emplace_back();
    for (size_t at = 0; at < buffers[i].size(); at += format::bytesOf(type)) {
      uint16_t bits = 0;
      float value = 0;
      std::memcpy(&bits, &buffers[i][at], 2);
      if (type == DType::f32)
        std::memcpy(&value, &buffers[i][at], 4);
      values.push_back(type == DType::f32    ? value
                       : type == DType::bf16 ? fromBf16(bits)
                                             : fromF16(bits));
    }
  }
  return all;
}

// Returns normal numbers, or for integers those from -1 to 16.
std::vector<Bytes> randomBuffers(const ProgramBuilder &builder) {
  std::mt19937 engine(5);
  std::normal_distribution<float> normal(0, 1);
  std::vector<Bytes> buffers;
  for (const auto &buffer : builder.manifest.programs[0]->buffers) {
    Bytes &bytes = buffers.emplace_back(buffer->bytes);
    size_t each = format::bytesOf(buffer->dtype);
    for (size_t at = 0; at < bytes.size(); at += each) {
      float value = normal(engine);
      int32_t number = static_cast<int32_t>(engine() % 18) - 1;
      uint16_t bits = buffer->dtype == DType::bf16 ? toBf16(value) : toF16(value);
      if (buffer->dtype == DType::f32)
        std::memcpy(&bytes[at], &value, 4);
      else if (buffer->dtype == DType::i32)
        std::memcpy(&bytes[at], &number, 4);
      else if (each == 2)
        std::memcpy(&bytes[at], &bits, 2);
    }
  }
  return buffers;
}

// Runs two steps from these contents and returns the contents of buffers.
Status runSteps(const Bytes &file, Device &device, std::vector<Bytes> &buffers) {
  auto worlds = makeLoopbackWorld(1);
  std::unique_ptr<Executable> executable;
  DTC_RETURN_IF_ERROR(Executable::fromBytes(file, "test.dte", executable));
  std::unique_ptr<Executor> executor;
  DTC_RETURN_IF_ERROR(Executor::create(*executable, *worlds[0], device, {}, executor));
  for (uint32_t i = 0; i < buffers.size(); ++i)
    DTC_RETURN_IF_ERROR(device.copyIn(executor->address(i), buffers[i].data(), buffers[i].size()));
  for (uint64_t step : {1, 2}) {
    StepResult result;
    DTC_RETURN_IF_ERROR(
        executor->setScalars({.step = step, .totalSteps = 2, .baseLr = 1, .seed = 9}));
    DTC_RETURN_IF_ERROR(executor->runStep(result));
  }
  for (uint32_t i = 0; i < buffers.size(); ++i)
    DTC_RETURN_IF_ERROR(device.copyOut(buffers[i].data(), executor->address(i), buffers[i].size()));
  return {};
}

Status runOnCpu(ProgramBuilder &builder, std::vector<Bytes> &buffers) {
  auto device = makeCpuDevice(2, nullptr);
  return runSteps(builder.file(), *device, buffers);
}

// Adds kernels to the program when the device reports that one is missing.
Status runOnGpu(ProgramBuilder &builder, const std::vector<Bytes> &at, std::vector<Bytes> &buffers,
                std::vector<std::string> &kernels) {
  builder.manifest.device = "simt";
  for (;;) {
    builder.segments = {{format::SegmentKind::simt, test::simtSegment(kernels)}};
    auto fake = makeFakeCuda({.seed = 4});
    std::unique_ptr<Device> device;
    DTC_RETURN_IF_ERROR(makeCudaDevice(*fake, {}, device));
    buffers = at;
    Status status = runSteps(builder.file(), *device, buffers);
    const std::string before = "the program's code has no kernel '";
    size_t found = status.message().find(before);
    if (status.ok() || found == std::string::npos || kernels.size() > 30)
      return status;
    std::string name = status.message().substr(found + before.size());
    kernels.push_back(name.substr(0, name.find('\'')));
  }
}

void expectEqualResults(ProgramBuilder builder, double tolerance,
                        std::vector<std::string> kernels = {"StridedCopy_transpose4"}) {
  std::vector<Bytes> start = randomBuffers(builder), onCpu = start, onGpu;
  Status status = runOnCpu(builder, onCpu);
  ASSERT_TRUE(status.ok()) << status.message();
  status = runOnGpu(builder, start, onGpu, kernels);
  ASSERT_TRUE(status.ok()) << status.message();
  auto wanted = toFloats(builder, onCpu), found = toFloats(builder, onGpu),
       initial = toFloats(builder, start);
  bool changed = false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    double scale = 1e-30, error = 0;
    for (size_t j = 0; j < wanted[i].size(); ++j) {
      scale = std::max(scale, std::abs(static_cast<double>(wanted[i][j])));
      error = std::max(error, std::abs(static_cast<double>(wanted[i][j]) - found[i][j]));
      changed |= wanted[i][j] != initial[i][j];
      EXPECT_EQ(std::isnan(wanted[i][j]), std::isnan(found[i][j]));
    }
    EXPECT_LE(error, tolerance * scale)
        << "buffer '" << builder.manifest.programs[0]->buffers[i]->name << "'";
  }
  EXPECT_TRUE(changed);
}

struct AttentionSize {
  DType type;
  bool causal;
  float dropout;
};

// Two kv heads for four heads, and more keys than queries.
ProgramBuilder attentionProgram(const AttentionSize &size) {
  constexpr uint64_t batch = 2, queries = 5, keys = 7, heads = 4, kvHeads = 2, headDim = 32;
  ProgramBuilder builder({{"dp", 1}});
  uint32_t step = builder.buffer("step", 1), seed = builder.buffer("seed", 1, DType::i64);
  builder.scalar(format::ScalarRole::step, step);
  builder.scalar(format::ScalarRole::seed, seed);
  uint64_t ofQueries = batch * queries * heads * headDim, ofKeys = batch * keys * kvHeads * headDim;
  auto make = [&] {
    auto op = std::make_unique<format::AttentionT>();
    op->batch = batch;
    op->queries = queries;
    op->keys = size.causal ? queries : keys;
    op->heads = heads;
    op->kv_heads = kvHeads;
    op->head_dim = headDim;
    op->causal = size.causal;
    op->scale = 0.25f;
    op->dropout = size.dropout;
    op->dtype = size.type;
    op->total_heads = heads;
    op->dropout_id = rankScalar(3);
    op->first_batch = rankScalar(2);
    op->first_head = rankScalar(4);
    if (size.dropout > 0) {
      op->seed = seed;
      op->step = step;
      op->total_heads = 2 * heads;
    }
    return op;
  };
  auto forward = make();
  forward->q = builder.buffer("q", ofQueries, size.type);
  forward->k = builder.buffer("k", ofKeys, size.type);
  forward->v = builder.buffer("v", ofKeys, size.type);
  forward->out = builder.buffer("out", ofQueries, size.type);
  forward->lse = builder.buffer("lse", batch * heads * queries);
  format::AttentionGradT grad;
  grad.forward = make();
  grad.forward->q = forward->q;
  grad.forward->k = forward->k;
  grad.forward->v = forward->v;
  grad.forward->out = forward->out;
  grad.forward->lse = forward->lse;
  grad.dout = builder.buffer("dout", ofQueries, size.type);
  grad.dq = builder.buffer("dq", ofQueries, size.type);
  grad.dk = builder.buffer("dk", ofKeys, size.type);
  grad.dv = builder.buffer("dv", ofKeys, size.type);
  grad.scratch = builder.buffer("delta", batch * heads * queries);
  builder.add(std::move(*forward));
  builder.add(std::move(grad));
  return builder;
}

TEST(CudaLibrary, AttendsAsTheCpuDoes) {
  expectEqualResults(attentionProgram({DType::f32, false, 0}), 1e-5);
  expectEqualResults(attentionProgram({DType::f32, true, 0.25f}), 1e-5);
}

TEST(CudaLibrary, AttendsIn16BitsAsTheCpuDoes) {
  expectEqualResults(attentionProgram({DType::bf16, true, 0}), 1e-2);
}

TEST(CudaLibrary, LooksUpAndScattersAsTheCpuDoes) {
  constexpr uint64_t rows = 12, columns = 20, tokens = 33;
  for (DType type : {DType::f32, DType::bf16}) {
    ProgramBuilder builder({{"dp", 1}});
    format::EmbeddingT look;
    look.table_ = builder.buffer("table", rows * columns, type);
    look.ids = builder.buffer("ids", tokens, DType::i32);
    look.out = builder.buffer("out", tokens * columns, type);
    look.rows = rows;
    look.columns = columns;
    look.tokens = tokens;
    look.first_row = rankScalar(3);
    look.dtype = type;
    for (bool accumulate : {false, true}) {
      format::EmbeddingGradT grad;
      grad.grad = builder.buffer(accumulate ? "added" : "grad", rows * columns);
      grad.ids = look.ids;
      grad.dout = look.out;
      grad.rows = rows;
      grad.columns = columns;
      grad.tokens = tokens;
      grad.first_row = rankScalar(3);
      grad.accumulate = accumulate;
      grad.dtype = type;
      if (!accumulate)
        builder.add(format::EmbeddingT(look));
      builder.add(std::move(grad));
    }
    expectEqualResults(std::move(builder), 1e-5);
  }
}

TEST(CudaLibrary, CopiesAddsAndZeroesAsTheCpuDoes) {
  ProgramBuilder builder({{"dp", 1}});
  uint32_t x = builder.buffer("x", 12 * 40), y = builder.buffer("y", 12 * 40),
           z = builder.buffer("z", 12 * 40), narrow = builder.buffer("narrow", 99, DType::bf16),
           other = builder.buffer("other", 99, DType::bf16), zero = builder.buffer("zero", 7);
  format::StridedCopyT transpose;
  transpose.src = x;
  transpose.dst = y;
  transpose.sizes = {40, 12};
  transpose.src_strides = {1, 40};
  transpose.dst_strides = {12, 1};
  builder.add(format::StridedCopyT(transpose));
  transpose.dst = z;
  transpose.accumulate = true;
  builder.add(format::StridedCopyT(transpose));
  for (bool accumulate : {false, true}) {
    format::StridedCopyT part; // [5, 6] from row 2, column 3
    part.src = x;
    part.dst = accumulate ? z : y;
    part.sizes = {5, 6};
    part.src_strides = {40, 1};
    part.dst_strides = {40, 1};
    part.src_offset = rankScalar(2 * 40 + 3);
    part.dst_offset = rankScalar(7);
    part.accumulate = accumulate;
    builder.add(std::move(part));
  }
  format::StridedCopyT half = test::copy(narrow, other, 90);
  half.dtype = DType::bf16;
  half.src_offset = rankScalar(9);
  builder.add(std::move(half));
  builder.add(test::zero(zero));
  expectEqualResults(std::move(builder), 1e-6);
}

// Convolution, its gradients, of which that of the weight adds to what is there, and both poolings.
TEST(CudaLibrary, ConvolvesAndPools) {
  ProgramBuilder builder({{"dp", 1}});
  auto convolution = [] {
    auto shape = std::make_unique<format::Conv2dShapeT>();
    shape->batch = 2, shape->channels = 4, shape->filters = 6, shape->groups = 2;
    shape->height = 5, shape->width = 6, shape->kernel_height = shape->kernel_width = 3;
    shape->stride_height = 2, shape->stride_width = shape->dilation_height = 1;
    shape->dilation_width = 1, shape->padding_height = 1, shape->padding_width = 2;
    return shape;
  };
  uint32_t x = builder.buffer("x", 2 * 4 * 5 * 6), weight = builder.buffer("weight", 6 * 2 * 9);
  uint32_t y = builder.buffer("y", 2 * 6 * 3 * 8), dx = builder.buffer("dx", 2 * 4 * 5 * 6);
  format::Conv2dT forward;
  forward.x = x, forward.weight = weight, forward.y = y, forward.shape = convolution();
  format::Conv2dInputGradT ofImage;
  ofImage.dy = builder.buffer("dy", 2 * 6 * 3 * 8), ofImage.weight = weight, ofImage.dx = dx;
  ofImage.shape = convolution();
  format::Conv2dWeightGradT ofWeight;
  ofWeight.x = x, ofWeight.dy = ofImage.dy, ofWeight.shape = convolution();
  ofWeight.dweight = builder.buffer("dweight", 6 * 2 * 9), ofWeight.accumulate = true;
  ofWeight.pieces = 2, ofWeight.scratch = builder.buffer("scratch", 2 * 6 * 2 * 9);
  builder.add(std::move(forward));
  builder.add(std::move(ofImage));
  builder.add(std::move(ofWeight));
  for (bool max : {false, true}) {
    auto windows = [max] {
      auto shape = std::make_unique<format::Pool2dShapeT>();
      shape->batch = 2, shape->channels = 6, shape->height = 3, shape->width = 8;
      shape->kernel_height = 2, shape->kernel_width = 3, shape->stride_height = 1;
      shape->stride_width = 2, shape->padding_height = 0, shape->padding_width = 1;
      shape->max = max;
      return shape;
    };
    std::string name = max ? "most" : "mean";
    format::Pool2dT pool;
    pool.x = y, pool.y = builder.buffer(name.c_str(), 2 * 6 * 2 * 4), pool.shape = windows();
    format::Pool2dGradT grad;
    if (max)
      grad.x = y;
    grad.dy = pool.y, grad.dx = builder.buffer(("d" + name).c_str(), 2 * 6 * 3 * 8);
    grad.shape = windows();
    builder.add(std::move(pool));
    builder.add(std::move(grad));
  }
  expectEqualResults(std::move(builder), 1e-6);
}

} // namespace
} // namespace dtc::rt
