#include "test/unit/cuda/KernelList.h"

#include "kernels/cuda/Attention.h"
#include "kernels/cuda/Convolution.h"
#include "kernels/cuda/Embedding.h"
#include "kernels/cuda/GroupedGemm.h"
#include "kernels/cuda/Pooling.h"
#include "kernels/cuda/StridedCopy.h"

#include <map>

namespace dtc::cuda {

namespace {

constexpr ElementType kTypes[] = {ElementType::F32, ElementType::BF16, ElementType::F16};

void addAttention(std::vector<Launch> &all) {
  for (ElementType type : kTypes)
    for (int headDim : {4, 20, 32, 36, 64, 72, 96, 100, 128, 132, 160, 192, 256})
      for (float dropout : {0.0f, 0.1f}) {
        AttentionParams p{};
        p.batch = 1, p.queries = p.keys = 128, p.heads = p.kvHeads = 1, p.headDim = headDim;
        p.scale = 1;
        HeadStrides strides = denseStrides(128, 1, headDim);
        p.qStrides = p.kStrides = p.vStrides = p.outStrides = strides;
        p.doutStrides = p.dqStrides = p.dkStrides = p.dvStrides = strides;
        setDropout(p, dropout);
        std::vector<Launch> launches;
        if (planAttention(type, p, launches).empty())
          all.insert(all.end(), launches.begin(), launches.end());
        if (planAttentionGrad(type, p, launches).empty())
          all.insert(all.end(), launches.begin(), launches.end());
        p.qStrides.token += 1; // rows are not a multiple of 16 bytes
        if (planAttention(type, p, launches).empty())
          all.insert(all.end(), launches.begin(), launches.end());
        p.biasSizes[0] = p.biasSizes[1] = 1, p.biasSizes[2] = p.biasSizes[3] = 128;
        p.hasBiasGradient = 1;
        if (planAttentionGrad(type, p, launches).empty())
          all.insert(all.end(), launches.begin(), launches.end());
      }
}

void addEmbedding(std::vector<Launch> &all) {
  for (ElementType type : kTypes)
    for (int64_t columns : {1, 2, 8}) {
      EmbeddingParams look{nullptr, nullptr, nullptr, 8, columns, 8, 0, 0};
      EmbeddingGradParams grad{nullptr, nullptr, nullptr, 8, columns, 8, 0, 0, 0};
      std::vector<Launch> launches;
      if (planEmbedding(type, look, launches).empty())
        all.insert(all.end(), launches.begin(), launches.end());
      if (planEmbeddingGrad(type, grad, launches).empty())
        all.insert(all.end(), launches.begin(), launches.end());
    }
}

void addGrouped(std::vector<Launch> &all) {
  for (ElementType type : kTypes)
    for (ElementType resultType : {type, ElementType::F32})
      for (int32_t columns : {1, 8})
        for (int32_t form : {0, 1, 2}) {
          GroupedGemmParams p{};
          p.groups = p.samples = 1, p.rows = 8, p.k = p.n = columns;
          p.transB = form == 1, p.sumsRows = form == 2;
          std::vector<Launch> launches;
          if (planGroupedGemm(type, resultType, p, launches).empty())
            all.insert(all.end(), launches.begin(), launches.end());
        }
}

void addImages(std::vector<Launch> &all) {
  ConvolutionParams convolution{};
  convolution.batch = convolution.channels = convolution.filters = convolution.groups = 1;
  convolution.height = convolution.width = 8;
  convolution.kernelHeight = convolution.kernelWidth = 3;
  convolution.strideHeight = convolution.strideWidth = 1;
  convolution.dilationHeight = convolution.dilationWidth = 1;
  convolution.pieces = 1;
  std::vector<Launch> launches;
  for (auto plan : {planConvolution, planConvolutionInputGrad, planConvolutionWeightGrad})
    if (plan(convolution, launches).empty())
      all.insert(all.end(), launches.begin(), launches.end());
  PoolingParams pooling{};
  pooling.planes = 1, pooling.height = pooling.width = 8;
  pooling.kernelHeight = pooling.kernelWidth = pooling.strideHeight = pooling.strideWidth = 2;
  for (bool isMax : {false, true})
    for (bool isGradient : {false, true})
      if (planPooling(isMax, isGradient, pooling, launches).empty())
        all.insert(all.end(), launches.begin(), launches.end());
}

void addCopies(std::vector<Launch> &all) {
  const int64_t square[] = {32, 32}, rows[] = {64, 1}, columns[] = {1, 32}, sums[] = {0, 1};
  const int64_t apart[] = {128, 2};
  auto add = [&](const CopyBox &box) {
    StridedCopyParams params;
    std::vector<Launch> launches;
    if (planStridedCopy(box, nullptr, nullptr, params, launches).empty())
      all.insert(all.end(), launches.begin(), launches.end());
  };
  for (int bytes : {1, 2, 4, 8})
    for (bool accumulate : {false, true}) {
      add({bytes, 2, square, rows, rows, accumulate});
      add({bytes, 2, square, apart, rows, accumulate});
      add({bytes, 2, square, rows, columns, accumulate});
      add({bytes, 2, square, rows, sums, accumulate});
    }
}

} // namespace

std::vector<Launch> allLaunches() {
  std::vector<Launch> all;
  addAttention(all);
  addEmbedding(all);
  addGrouped(all);
  addImages(all);
  addCopies(all);
  std::map<std::string, Launch> byName;
  for (const Launch &launch : all)
    byName.emplace(launch.kernel, launch);
  std::vector<Launch> launches;
  for (const auto &[name, launch] : byName)
    launches.push_back(launch);
  return launches;
}

} // namespace dtc::cuda
