// Block sizes of the embedding kernels, for host and device.
#pragma once

namespace dtc::cuda {

inline constexpr int kEmbeddingWarps = 8; // warps per block

// Gradient: a block owns rows of the table and reads the tokens in chunks; it lists the tokens that
// have one of its rows.
inline constexpr int kEmbeddingGradThreads = 256;
inline constexpr int kEmbeddingIdsPerThread = 4;
inline constexpr int kEmbeddingChunk = kEmbeddingGradThreads * kEmbeddingIdsPerThread;
inline constexpr int kEmbeddingList = 2 * kEmbeddingChunk;
inline constexpr int kEmbeddingMaxRows = 256; // rows per block

} // namespace dtc::cuda
