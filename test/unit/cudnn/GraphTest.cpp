// Asks cuDNN, without a GPU, which of its engines support our graphs.
#include "runtime/cuda/AttentionGraph.h"
#include "runtime/cuda/ConvolutionGraph.h"

#include "runtime/base/Text.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace dtc::rt {
namespace {

using format::text;

// Returns the description that cuDNN makes of an H100, or of another architecture. Versions are
// multiplied by 100.
std::string propertiesOf(int version) {
  bool isAmpere = version < 900;
  return text(R"({"deviceName": "a GPU", "deviceVer": )", version,
              R"(, "driverVer": 13000, "cudaDeviceId": 0, "totalGlobalMem": 80000000000, )"
              R"("multiProcessorCount": )",
              isAmpere ? 108 : 132,
              R"(, "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], )"
              R"("regsPerBlock": 65536, "warpSize": 32, "maxSharedMemoryPerBlock": 49152, )"
              R"("maxSharedMemoryPerBlockOptin": )",
              isAmpere ? 166912 : 232448,
              R"(, "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, )"
              R"("maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, )"
              R"("pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1, )"
              R"("smClockRateKHz": 1980000, "memClockRateKHz": 2619000, "l2CacheSize": 52428800})");
}

struct Shape {
  int batch, queries, keys, heads, kvHeads, headDim, causal;
  int64_t row = 0; // elements from a token's q, k or v to the next; 0 for the size of its heads
};

AttentionCase caseOf(const Shape &shape, ElementType type, bool isGradient) {
  AttentionCase attention;
  attention.type = type;
  attention.isGradient = isGradient;
  cuda::AttentionParams &p = attention.params;
  p.batch = shape.batch;
  p.queries = shape.queries;
  p.keys = shape.keys;
  p.heads = shape.heads;
  p.kvHeads = shape.kvHeads;
  p.headDim = shape.headDim;
  p.causal = shape.causal;
  p.scale = 0.125F;
  auto strides = [&](int64_t tokens, int64_t heads, int64_t row) {
    row = row ? row : heads * p.headDim;
    return cuda::HeadStrides{tokens * row, row, p.headDim};
  };
  p.qStrides = p.dqStrides = strides(p.queries, p.heads, shape.row);
  p.outStrides = p.doutStrides = strides(p.queries, p.heads, 0);
  p.kStrides = p.vStrides = p.dkStrides = p.dvStrides = strides(p.keys, p.kvHeads, shape.row);
  return attention;
}

// Returns the number of engines of cuDNN that give the same bits each time.
template <typename Build>
size_t numEngines(const cu::Cudnn &cudnn, int version, const Build &build) {
  std::string json = propertiesOf(version);
  CudnnObject properties;
  Status status = properties.create(cudnn, cu::cudnnDeviceProperties);
  if (status.ok())
    status = properties.set(cu::cudnnDeviceJson, cu::cudnnTypeChar, json.size(), json.data());
  if (status.ok())
    status = properties.finalize();
  EXPECT_TRUE(status.ok()) << status.message();
  CudnnGraph graph(cudnn, {.properties = properties.get()});
  std::vector<CudnnEngine> engines;
  status = build(graph);
  if (status.ok())
    status = graph.engines(8, engines);
  EXPECT_TRUE(status.ok()) << status.message();
  return engines.size();
}

class CudnnGraphs : public testing::Test {
protected:
  void SetUp() override {
    // The library has the name of the driver's library, so that cuDNN opens it.
    if (!::dlopen(DTC_CUDA_STUB, RTLD_NOW | RTLD_LOCAL))
      GTEST_SKIP() << "this machine has no CUDA toolkit";
    if (Status status = cu::openCudnn(cudnn); !status.ok())
      GTEST_SKIP() << status.message();
    if (cudnn.cudnnGetVersion() < 90800)
      GTEST_SKIP() << "this cuDNN plans for the GPU that it finds alone";
  }
  // Returns the number of engines for an attention.
  size_t numEnginesOf(int version, const AttentionCase &attention) const {
    return numEngines(cudnn, version,
                      [&](CudnnGraph &graph) { return buildAttention(attention, graph); });
  }

  cu::Cudnn cudnn;
};

TEST_F(CudnnGraphs, OfAttentionAreKnownToCudnnItself) {
  const Shape shapes[] = {
      {8, 1024, 1024, 12, 12, 64, 1, 2304}, // GPT-2, q, k and v side by side
      {2, 2048, 2048, 32, 8, 128, 1},       // Llama-3
      {8, 512, 512, 12, 12, 64, 0},         // every query sees all keys
      {2, 33, 65, 2, 1, 32, 1},             // more keys than queries
      {4, 1, 33, 2, 2, 64, 1},
  };
  for (int version : {800, 900, 1000})
    for (const Shape &shape : shapes)
      for (bool isGradient : {false, true}) {
        AttentionCase attention = caseOf(shape, ElementType::BF16, isGradient);
        ASSERT_TRUE(isCudnnCase(attention));
        EXPECT_GT(numEnginesOf(version, attention), 0u)
            << describeAttention(attention) << " on " << version;
      }
  EXPECT_GT(numEnginesOf(900, caseOf(shapes[0], ElementType::F16, true)), 0u);
}

// Has the convolutions of ResNets and MobileNets: large, with a stride, of one pixel, of groups,
// dilated.
TEST_F(CudnnGraphs, OfConvolutionAreKnownToCudnnItself) {
  struct Sizes {
    int batch, channels, filters, groups, pixels, kernel, stride, padding, dilation;
  };
  const Sizes all[] = {{32, 64, 64, 1, 56, 3, 1, 1, 1},  {32, 3, 64, 1, 224, 7, 2, 3, 1},
                       {32, 64, 128, 1, 56, 1, 2, 0, 1}, {8, 32, 32, 32, 28, 3, 1, 1, 1},
                       {8, 24, 48, 2, 19, 3, 1, 2, 2},   {1, 1, 1, 1, 5, 5, 1, 0, 1}};
  for (int version : {800, 900, 1000})
    for (const Sizes &s : all)
      for (auto kind : {CudnnConvolution::Forward, CudnnConvolution::ImageGradient,
                        CudnnConvolution::WeightGradient}) {
        ConvolutionCase convolution{.kind = kind};
        cuda::ConvolutionParams &p = convolution.params;
        p.batch = s.batch, p.channels = s.channels, p.filters = s.filters, p.groups = s.groups;
        p.height = p.width = s.pixels, p.kernelHeight = p.kernelWidth = s.kernel;
        p.strideHeight = p.strideWidth = s.stride, p.paddingHeight = p.paddingWidth = s.padding;
        p.dilationHeight = p.dilationWidth = s.dilation;
        p.outHeight = p.outWidth =
            (s.pixels + 2 * s.padding - s.dilation * (s.kernel - 1) - 1) / s.stride + 1;
        EXPECT_GT(
            numEngines(cudnn, version,
                       [&](CudnnGraph &graph) { return buildConvolution(convolution, graph); }),
            0u)
            << describeConvolution(convolution) << " on " << version;
      }
}

TEST_F(CudnnGraphs, OfMeansAreKnownToCudnnItself) {
  struct Sizes {
    int64_t planes, pixels, kernel, stride, padding;
  };
  for (int version : {800, 900, 1000})
    for (const Sizes &s :
         {Sizes{2048, 112, 3, 2, 1}, Sizes{2048, 7, 7, 1, 0}, Sizes{48, 9, 2, 2, 0}})
      for (bool isGradient : {false, true}) {
        int64_t results = (s.pixels + 2 * s.padding - s.kernel) / s.stride + 1;
        auto build = [&](CudnnGraph &graph) {
          graph.means(isGradient,
                      {.strides = {s.stride, s.stride},
                       .padding = {s.padding, s.padding},
                       .dilations = {1, 1}},
                      {s.kernel, s.kernel},
                      graph.memory(1, cu::cudnnF32, {1, s.planes, s.pixels, s.pixels}),
                      graph.memory(2, cu::cudnnF32, {1, s.planes, results, results}));
          return graph.finish();
        };
        EXPECT_GT(numEngines(cudnn, version, build), 0u) << s.pixels << " on " << version;
      }
}

} // namespace
} // namespace dtc::rt
