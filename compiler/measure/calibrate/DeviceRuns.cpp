// Measures products, memory traffic and attention through the kernels of the CPU device.
#include "compiler/measure/calibrate/DeviceRuns.h"

#include "compiler/measure/calibrate/MemoryLoops.h"
#include "kernels/cpu/Attention.h"
#include "kernels/cpu/Gemm.h"
#include "kernels/cpu/GemmArgs.h"
#include "kernels/cpu/StridedCopy.h"

#include <algorithm>

namespace dtc {
namespace {

// A pool of floats that is handed out in turn. A run that is repeated then finds its operands in
// memory and not in the caches, as in a training step.
class Arena {
public:
  explicit Arena(int64_t count) : values(static_cast<size_t>(count)) {
    uint32_t state = 1;
    for (float &value : values) {
      state = state * 1664525U + 1013904223U;
      value = static_cast<float>(state >> 8) / 8388608.0F - 1;
    }
  }

  // Returns `count` floats that begin on a cache line, at most as many as the arena has.
  float *take(int64_t count) {
    int64_t size = static_cast<int64_t>(values.size()), rounded = (count + 15) / 16 * 16;
    assert(rounded <= size && "the arena holds the largest operand");
    if (next + rounded > size)
      next = 0;
    float *result = values.data() + next;
    next += rounded;
    return result;
  }

private:
  std::vector<float> values;
  int64_t next = 0;
};

class DeviceRuns {
public:
  DeviceRuns(const CalibrationShapes &shapes, int units, Stopwatch &watch, Calibration &result)
      : units(units), watch(watch), result(result), pool(units), inputs(inputCount(shapes)),
        outputs(outputCount(shapes)) {}

  rt::Status launch();
  rt::Status product(const ProductShape &shape);
  rt::Status memory(MemoryPattern pattern, int64_t bytes);
  rt::Status attention(const AttentionShape &shape);

private:
  // Floats for the operands of the largest run, and enough to leave the caches between two runs.
  static constexpr int64_t leastCount = int64_t(16) << 20;
  static int64_t inputCount(const CalibrationShapes &shapes) {
    int64_t count = leastCount;
    for (const ProductShape &shape : shapes.products)
      count = std::max(count, shape.batch * shape.k * (shape.m + shape.n) + 64);
    for (int64_t bytes : shapes.memoryBytes)
      count = std::max(count, bytes / 4 + 64);
    return count;
  }
  static int64_t outputCount(const CalibrationShapes &shapes) {
    int64_t count = leastCount;
    for (const ProductShape &shape : shapes.products)
      count = std::max(count, shape.batch * shape.m * shape.n + 64);
    for (int64_t bytes : shapes.memoryBytes)
      count = std::max(count, bytes / 4 + 64);
    return count;
  }

  void runMemory(MemoryPattern pattern, int64_t count);
  rt::Status attentionPass(const AttentionShape &shape, int64_t heads, bool backward,
                           llvm::function_ref<void()> run);

  int units;
  Stopwatch &watch;
  Calibration &result;
  cpu::ThreadPool pool;
  Arena inputs, outputs;
};

rt::Status DeviceRuns::launch() {
  auto run = [&] {
    pool.parallelFor(units, 1, [](int64_t /*begin*/, int64_t /*end*/) {});
    return rt::Status();
  };
  std::optional<Measured> time;
  DTC_RETURN_IF_ERROR(watch.time(run, time));
  if (time)
    result.launches.push_back({/*graph=*/false, units, *time});
  return {};
}

rt::Status DeviceRuns::product(const ProductShape &shape) {
  auto run = [&] {
    cpu::GemmArgs args{};
    args.a = inputs.take(shape.batch * shape.m * shape.k);
    args.b = inputs.take(shape.batch * shape.k * shape.n);
    args.c = outputs.take(shape.batch * shape.m * shape.n);
    args.m = shape.m;
    args.n = shape.n;
    args.k = shape.k;
    args.transA = shape.transA;
    args.transB = shape.transB;
    args.lda = shape.transA ? shape.m : shape.k;
    args.ldb = shape.transB ? shape.k : shape.n;
    args.ldc = shape.n;
    args.alpha = 1;
    args.beta = 0;
    args.batch = shape.batch;
    args.strideA = shape.m * shape.k;
    args.strideB = shape.k * shape.n;
    args.strideC = shape.m * shape.n;
    cpu::gemm(args, pool);
    return rt::Status();
  };
  std::optional<Measured> time;
  DTC_RETURN_IF_ERROR(watch.time(run, time));
  if (time)
    result.products.push_back(
        {ComputeType::F32, shape.m, shape.n, shape.k, shape.batch, units, *time});
  return {};
}

void DeviceRuns::runMemory(MemoryPattern pattern, int64_t count) {
  constexpr int64_t grain = 4096, width = 768;
  const float *a = inputs.take(count);
  const float *b = inputs.take(pattern == MemoryPattern::Triad ? count : width);
  float *out = outputs.take(count);
  int64_t one = 1;
  if (pattern == MemoryPattern::Copy)
    return cpu::stridedCopy({a, out, sizeof(float), 1, &count, &one, &one, false}, pool);
  pool.parallelFor(count, grain, [&](int64_t begin, int64_t end) {
    if (pattern == MemoryPattern::Triad)
      triadLoop(out, a, b, 0.5F, begin, end);
    else
      pointwiseLoop(out, a, b, width, begin, end);
  });
}

rt::Status DeviceRuns::memory(MemoryPattern pattern, int64_t bytes) {
  int64_t perElement = pattern == MemoryPattern::Triad ? 12 : 8, count = bytes / perElement;
  auto run = [&] {
    runMemory(pattern, count);
    return rt::Status();
  };
  std::optional<Measured> time;
  DTC_RETURN_IF_ERROR(watch.time(run, time));
  if (time)
    result.memory.push_back({pattern, count * perElement, units, *time});
  return {};
}

rt::Status DeviceRuns::attentionPass(const AttentionShape &shape, int64_t heads, bool backward,
                                     llvm::function_ref<void()> run) {
  std::optional<Measured> time;
  DTC_RETURN_IF_ERROR(watch.time(
      [&] {
        run();
        return rt::Status();
      },
      time));
  if (!time)
    return {};
  AttentionPoint point;
  point.sequence = shape.sequence;
  point.headDim = shape.headDim;
  point.heads = heads;
  point.units = units;
  point.causal = shape.causal;
  point.backward = backward;
  point.time = *time;
  result.attention.push_back(point);
  return {};
}

rt::Status DeviceRuns::attention(const AttentionShape &shape) {
  int64_t heads = std::max(4, 2 * units), size = shape.sequence * heads * shape.headDim;
  std::vector<float> statistics(static_cast<size_t>(2 * heads * shape.sequence));
  std::vector<float> results(static_cast<size_t>(4 * size));
  cpu::AttentionArgs args{};
  args.q = inputs.take(size);
  args.k = inputs.take(size);
  args.v = inputs.take(size);
  args.out = results.data();
  args.lse = statistics.data();
  args.batch = 1;
  args.queries = args.keys = shape.sequence;
  args.heads = args.kvHeads = args.totalHeads = heads;
  args.headDim = shape.headDim;
  args.causal = shape.causal;
  args.scale = 0.125F;
  DTC_RETURN_IF_ERROR(attentionPass(shape, heads, false, [&] { cpu::attention(args, pool); }));
  cpu::attention(args, pool); // the backward pass reads its results, measured or not
  cpu::AttentionGradArgs grad{};
  grad.forward = args;
  grad.dout = inputs.take(size);
  grad.dq = results.data() + size;
  grad.dk = results.data() + 2 * size;
  grad.dv = results.data() + 3 * size;
  grad.scratch = statistics.data() + heads * shape.sequence;
  return attentionPass(shape, heads, true, [&] { cpu::attentionGrad(grad, pool); });
}

} // namespace

rt::Status measureDevice(const CalibrationShapes &shapes, int units, Stopwatch &watch,
                         Calibration &result) {
  DeviceRuns runs(shapes, units, watch, result);
  DTC_RETURN_IF_ERROR(runs.launch());
  for (int pattern = 0; pattern < numMemoryPatterns; ++pattern)
    for (int64_t bytes : shapes.memoryBytes)
      DTC_RETURN_IF_ERROR(runs.memory(static_cast<MemoryPattern>(pattern), bytes));
  for (const AttentionShape &shape : shapes.attention)
    DTC_RETURN_IF_ERROR(runs.attention(shape));
  for (const ProductShape &shape : shapes.products)
    DTC_RETURN_IF_ERROR(runs.product(shape));
  return {};
}

} // namespace dtc
