// Chooses the embedding kernels and their launches.
#include "kernels/cuda/Embedding.h"

#include "kernels/cuda/EmbeddingTiling.h"

#include <algorithm>

namespace dtc::cuda {

namespace {

// Most blocks of the gradient: enough to fill any GPU several times, so that frequent rows do not
// leave it idle, although each block reads all ids.
constexpr int64_t kGradBlocks = 1024;

std::string check(int64_t rows, int64_t columns, int64_t tokens) {
  if (rows < 0 || columns < 0 || tokens < 0)
    return "embedding: a size is negative";
  if (tokens > 0x7FFFFFFF)
    return "embedding: " + std::to_string(tokens) + " tokens, kernels have 2^31 - 1";
  return "";
}

std::string limitGrid(const Launch &launch, int64_t blocks) {
  return blocks <= kMaxGridX
             ? ""
             : "embedding: kernel '" + launch.kernel + "' needs " + std::to_string(blocks) +
                   " blocks, a grid has " + std::to_string(kMaxGridX);
}

} // namespace

std::string planEmbedding(ElementType type, EmbeddingParams &params,
                          std::vector<Launch> &launches) {
  launches.clear();
  if (std::string error = check(params.rows, params.columns, params.tokens); !error.empty())
    return error;
  if (params.columns == 0 || params.tokens == 0)
    return "";
  int64_t rowBytes = params.columns * bytesOf(type);
  int64_t unit = rowBytes % 16 == 0 ? 16 : rowBytes % 4 == 0 ? 4 : 2;
  params.rowUnits = rowBytes / unit;
  int64_t blocks = (params.tokens + kEmbeddingWarps - 1) / kEmbeddingWarps;
  Launch launch{"Embedding_" + std::to_string(unit), static_cast<uint32_t>(blocks), 1,
                kEmbeddingWarps * 32, 0};
  launches.push_back(launch);
  return limitGrid(launch, blocks);
}

std::string planEmbeddingGrad(ElementType type, EmbeddingGradParams &params,
                              std::vector<Launch> &launches) {
  launches.clear();
  if (std::string error = check(params.rows, params.columns, params.tokens); !error.empty())
    return error;
  if (params.columns == 0 || params.rows == 0)
    return "";
  int64_t perBlock =
      std::clamp<int64_t>((params.rows + kGradBlocks - 1) / kGradBlocks, 1, kEmbeddingMaxRows);
  params.rowsPerBlock = static_cast<int32_t>(perBlock);
  int64_t blocks = (params.rows + perBlock - 1) / perBlock;
  Launch launch{std::string("EmbeddingGrad_") + nameOf(type) +
                    (params.columns % 4 == 0 ? "_4" : "_1"),
                static_cast<uint32_t>(blocks), 1, kEmbeddingGradThreads, 0};
  launches.push_back(launch);
  return limitGrid(launch, blocks);
}

} // namespace dtc::cuda
