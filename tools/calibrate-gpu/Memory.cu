// Measures memory traffic and the cost of starting a kernel.
#include "Memory.h"
#include "Pool.h"

#include <algorithm>
#include <chrono>
#include <cuda_bf16.h>
#include <memory>

namespace {

constexpr int threads = 256;

// Copies `count` words of 16 bytes, with four in flight per thread.
__global__ void copyKernel(uint4 *__restrict__ out, const uint4 *__restrict__ in, int64_t count) {
  int64_t stride = int64_t(gridDim.x) * blockDim.x;
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i + 3 * stride < count; i += 4 * stride) {
    uint4 a = in[i], b = in[i + stride], c = in[i + 2 * stride], d = in[i + 3 * stride];
    out[i] = a;
    out[i + stride] = b;
    out[i + 2 * stride] = c;
    out[i + 3 * stride] = d;
  }
  for (; i < count; i += stride)
    out[i] = in[i];
}

// Computes out = a + s b.
__global__ void triadKernel(float4 *__restrict__ out, const float4 *__restrict__ a,
                            const float4 *__restrict__ b, float s, int64_t count) {
  int64_t stride = int64_t(gridDim.x) * blockDim.x;
  auto one = [s](float4 x, float4 y) {
    return make_float4(x.x + s * y.x, x.y + s * y.y, x.z + s * y.z, x.w + s * y.w);
  };
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i + stride < count; i += 2 * stride) {
    float4 x0 = a[i], y0 = b[i], x1 = a[i + stride], y1 = b[i + stride];
    out[i] = one(x0, y0);
    out[i + stride] = one(x1, y1);
  }
  for (; i < count; i += stride)
    out[i] = one(a[i], b[i]);
}

__device__ float gelu(float x) {
  return 0.5F * x * (1 + tanhf(0.7978845608F * (x + 0.044715F * x * x * x)));
}

// Computes out = gelu(in + bias) in bf16, with eight elements per word. The bias has `width` words.
__global__ void pointwiseKernel(uint4 *__restrict__ out, const uint4 *__restrict__ in,
                                const uint4 *__restrict__ bias, int width, int64_t count) {
  int64_t stride = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    uint4 word = in[i], add = bias[i % width];
    auto *values = reinterpret_cast<__nv_bfloat162 *>(&word);
    const auto *biases = reinterpret_cast<const __nv_bfloat162 *>(&add);
    for (int j = 0; j < 4; ++j) {
      float2 x = __bfloat1622float2(values[j]), b = __bfloat1622float2(biases[j]);
      values[j] = __floats2bfloat162_rn(gelu(x.x + b.x), gelu(x.y + b.y));
    }
    out[i] = word;
  }
}

__global__ void emptyKernel() {}

struct Entry {
  std::string pattern;
  int64_t words; // number of words of 16 bytes in one tensor
  int64_t bytes; // read and written
  int batch = 1;
  std::vector<double> samples;
};

class MemoryRuns {
public:
  explicit MemoryRuns(const Settings &settings) : settings(settings) {
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    int device = 0, units = 0;
    CHECK_CUDA(cudaGetDevice(&device));
    CHECK_CUDA(cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, device));
    mostBlocks = 8 * units;
  }
  ~MemoryRuns() { (void)cudaStreamDestroy(stream); }
  MemoryRuns(const MemoryRuns &) = delete;
  MemoryRuns &operator=(const MemoryRuns &) = delete;

  std::vector<MeasuredMemory> measure();

private:
  void run(const Entry &entry);

  static constexpr int biasWords = 512;
  const Settings &settings;
  cudaStream_t stream = nullptr;
  int mostBlocks;
  std::unique_ptr<Pool> inputs, outputs;
};

void MemoryRuns::run(const Entry &entry) {
  int64_t bytes = 16 * entry.words;
  auto blocks = int(std::clamp<int64_t>((entry.words + threads - 1) / threads, 1, mostBlocks));
  void *in = inputs->take(bytes), *out = outputs->take(bytes);
  if (entry.pattern == "copy")
    copyKernel<<<blocks, threads, 0, stream>>>(static_cast<uint4 *>(out),
                                               static_cast<const uint4 *>(in), entry.words);
  else if (entry.pattern == "triad")
    triadKernel<<<blocks, threads, 0, stream>>>(
        static_cast<float4 *>(out), static_cast<const float4 *>(in),
        static_cast<const float4 *>(inputs->take(bytes)), 0.5F, entry.words);
  else
    pointwiseKernel<<<blocks, threads, 0, stream>>>(
        static_cast<uint4 *>(out), static_cast<const uint4 *>(in),
        static_cast<const uint4 *>(inputs->take(16 * biasWords)), biasWords, entry.words);
  CHECK_LAUNCH();
}

std::vector<MeasuredMemory> MemoryRuns::measure() {
  std::vector<Entry> entries;
  int64_t most = settings.coldBytes, left = 0;
  for (const char *pattern : {"copy", "triad", "pointwise"}) {
    int64_t tensors = std::string(pattern) == "triad" ? 3 : 2;
    for (int64_t bytes : memorySizes(settings.quick)) {
      if (bytes > settings.mostBytes) {
        ++left;
        continue;
      }
      int64_t words = bytes / (16 * tensors);
      entries.push_back({pattern, words, 16 * tensors * words, 1, {}});
      most = std::max(most, 2 * 16 * words + 16 * biasWords + 1024);
    }
  }
  if (left)
    std::fprintf(stderr, "left out: %lld memory sizes above what the device has free\n",
                 static_cast<long long>(left));
  inputs = std::make_unique<Pool>(most, Fill::BF16, stream);
  outputs = std::make_unique<Pool>(most, Fill::Nothing, stream);
  takeSamples(entries, settings, stream, [&](const Entry &entry) { run(entry); });
  std::vector<MeasuredMemory> measured;
  for (Entry &entry : entries)
    measured.push_back({entry.pattern, entry.bytes, summarize(std::move(entry.samples))});
  return measured;
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

constexpr int launches = 1000;

// With empty kernels, host and device run at the same speed. The cost of a launch is the time of
// many launches, until the last one ends, over their number.
double streamLaunch(cudaStream_t stream) {
  CHECK_CUDA(cudaStreamSynchronize(stream));
  double start = now();
  for (int i = 0; i < launches; ++i)
    emptyKernel<<<1, 32, 0, stream>>>();
  CHECK_LAUNCH();
  CHECK_CUDA(cudaStreamSynchronize(stream));
  return (now() - start) / launches;
}

double graphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  CHECK_CUDA(cudaStreamSynchronize(stream));
  double start = now();
  CHECK_CUDA(cudaGraphLaunch(graph, stream));
  CHECK_CUDA(cudaStreamSynchronize(stream));
  return (now() - start) / launches;
}

} // namespace

std::vector<MeasuredMemory> measureMemory(const Settings &settings) {
  return MemoryRuns(settings).measure();
}

std::vector<MeasuredLaunch> measureLaunch(const Settings &settings) {
  cudaStream_t stream = nullptr;
  CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t instance = nullptr;
  CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < launches; ++i)
    emptyKernel<<<1, 32, 0, stream>>>();
  CHECK_LAUNCH();
  CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
  CHECK_CUDA(cudaGraphInstantiate(&instance, graph, 0));
  std::vector<double> one, all;
  for (int i = 0; i < warmUps; ++i) {
    (void)streamLaunch(stream);
    (void)graphLaunch(instance, stream);
  }
  for (int i = 0; i < settings.rounds * settings.samples; ++i) {
    one.push_back(streamLaunch(stream));
    all.push_back(graphLaunch(instance, stream));
  }
  CHECK_CUDA(cudaGraphExecDestroy(instance));
  CHECK_CUDA(cudaGraphDestroy(graph));
  CHECK_CUDA(cudaStreamDestroy(stream));
  return {{false, summarize(one)}, {true, summarize(all)}};
}
