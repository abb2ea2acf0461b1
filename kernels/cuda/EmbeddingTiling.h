// Block sizes of the embedding kernels, for host and device.
#pragma once

namespace dtc::cuda {

inline constexpr int kEmbeddingWarps = 8; // of a block

// Gradient: a block owns rows of the table and takes the tokens in chunks, of which it keeps those
// that have one of its rows in a list.
inline constexpr int kEmbeddingGradThreads = 256;
inline constexpr int kEmbeddingIdsPerThread = 4;
inline constexpr int kEmbeddingChunk = kEmbeddingGradThreads * kEmbeddingIdsPerThread;
inline constexpr int kEmbeddingList = 2 * kEmbeddingChunk;
inline constexpr int kEmbeddingMaxRows = 256; // of a block

} // namespace dtc::cuda
