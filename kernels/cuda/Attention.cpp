// Chooses attention's kernels and their launches.
#include "kernels/cuda/Attention.h"

#include "kernels/cuda/AttentionTiling.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>

namespace dtc::cuda {

namespace {

constexpr int kMaxHeadDim = 256;
constexpr int kMostGradRows = 128;
constexpr int kVectorBytes = 16; // bytes per copy to shared memory

bool isWhole(const HeadStrides &strides) {
  constexpr int64_t elements = kVectorBytes / 2;
  return strides.batch % elements == 0 && strides.token % elements == 0 &&
         strides.head % elements == 0;
}

// True if rows of all tensors are whole vectors, as the tensor-core kernels require.
bool hasWholeVectors(const AttentionParams &p, bool gradient) {
  bool whole = p.headDim % (kVectorBytes / 2) == 0;
  for (const HeadStrides *strides : {&p.qStrides, &p.kStrides, &p.vStrides, &p.outStrides})
    whole = whole && isWhole(*strides);
  if (gradient)
    for (const HeadStrides *strides : {&p.doutStrides, &p.dqStrides, &p.dkStrides, &p.dvStrides})
      whole = whole && isWhole(*strides);
  return whole;
}

// Returns the first of `sizes` that headDim fits in.
int paddedTo(int headDim, std::initializer_list<int> sizes) {
  int padded = 0;
  for (int size : sizes)
    if (padded < headDim)
      padded = size;
  return padded;
}

struct Choice {
  ElementType type;
  bool narrow; // tensor cores
  bool dropout;
  int headDim; // padded size

  std::string suffix() const {
    return std::string("_") + nameOf(type) + "_" + std::to_string(headDim) +
           (dropout ? "_dropout" : "");
  }
};

// Returns the larger head dim: values may have another one than queries and keys.
int widestDim(const AttentionParams &p) { return std::max(p.headDim, p.valueDim); }

// True if the mask and the scores are those of the tensor-core kernels.
bool isPlain(const AttentionParams &p) {
  return p.softCap == 0 && p.prefix == 0 && (p.causal || p.window == 0) && !p.hasLengths &&
         !p.hasSlopes && !p.hasDocuments && !p.hasStarts && p.biasSizes[0] == 0 &&
         (p.valueDim == 0 || p.valueDim == p.headDim);
}

// Chooses the kernel. The tensor-core kernels need a positive scale: they take the largest score of
// a row before scaling. They have no registers left for soft caps, nor for sinks beside dropout.
Choice choose(ElementType type, const AttentionParams &p, bool gradient) {
  bool narrow = type != ElementType::F32 && hasWholeVectors(p, gradient) && p.scale > 0 &&
                isPlain(p) && !(p.hasSinks && p.keptFrom > 0);
  int headDim = narrow ? paddedTo(p.headDim, {32, 64, 96, 128, 192, 256})
                       : paddedTo(widestDim(p), {32, 64, 128, 256});
  return {type, narrow, p.keptFrom > 0, headDim};
}

std::string checkPointers(const Choice &choice, const AttentionParams &p) {
  if (!choice.narrow)
    return "";
  for (const void *pointer :
       {p.q, p.k, p.v, static_cast<const void *>(p.out), p.dout, static_cast<const void *>(p.dq),
        static_cast<const void *>(p.dk), static_cast<const void *>(p.dv)})
    if (reinterpret_cast<uintptr_t>(pointer) % kVectorBytes != 0)
      return "attention: a tensor begins " +
             std::to_string(reinterpret_cast<uintptr_t>(pointer) % kVectorBytes) +
             " bytes after a multiple of 16; tensors of 16-bit numbers begin at one";
  return "";
}

std::string check(const AttentionParams &p) {
  auto number = [](int64_t value) { return std::to_string(value); };
  if (p.batch < 0 || p.queries < 0 || p.keys < 0 || p.heads < 0 || p.kvHeads < 0)
    return "attention: a size is negative";
  if (p.headDim < 1 || p.valueDim < 0 || widestDim(p) > kMaxHeadDim)
    return "attention: the head dim is " + number(p.headDim < 1 ? p.headDim : widestDim(p)) +
           ", kernels have 1 to " + number(kMaxHeadDim);
  if (p.kvHeads == 0 ? p.heads != 0 : p.heads % p.kvHeads != 0)
    return "attention: " + number(p.heads) + " heads do not divide evenly over " +
           number(p.kvHeads) + " kv heads";
  // Rejects sizes that overflow: kernels compare query + keys + a tile.
  if (int64_t(p.queries) + p.keys + kMostGradRows + kMaxHeadDim > 0x7FFFFFFF)
    return "attention: " + number(p.queries) + " queries and " + number(p.keys) +
           " keys are together more than 2^31 - 385";
  if (p.window < 0)
    return "attention: a window of " + number(p.window) + " keys; it is not to be negative";
  if (p.prefix < 0 || (p.prefix > 0 && (!p.causal || p.window > 0)))
    return "attention: a prefix of " + number(p.prefix) +
           " keys; it has to be causal without a window, and not negative";
  if (p.hasDocuments && (p.prefix > 0 || p.keys < p.queries))
    return "attention: documents with a prefix of " + number(p.prefix) + ", " + number(p.queries) +
           " queries and " + number(p.keys) +
           " keys; they have no prefix, and as many keys at least";
  // Rejects what would overflow, or index keys by where the op has them.
  if (p.hasStarts && (p.hasDocuments || p.keptFrom > 0))
    return std::string("attention: starts with ") + (p.hasDocuments ? "documents" : "dropout");
  if (int32_t most = std::max({p.queries, p.keys}); p.hasStarts && most >= kMostPosition)
    return "attention: starts with " + number(most) + " tokens; they are for fewer than 2^29";
  if (p.hasStarts && p.window >= 2 * int64_t(kMostPosition))
    return "attention: starts with a window of " + number(p.window) + " keys; want one below 2^30";
  if (p.biasSizes[0] != 0) {
    int32_t sizes[] = {p.batch, p.heads, p.queries, p.keys};
    for (int dim = 0; dim < 4; ++dim)
      if (p.biasSizes[dim] != 1 && p.biasSizes[dim] != sizes[dim])
        return "attention: dim " + number(dim) + " of the bias is " + number(p.biasSizes[dim]) +
               "; it has to be 1 or " + number(sizes[dim]);
  }
  if (!(p.softCap >= 0) || std::isinf(p.softCap) || (p.softCap > 0 && p.scale == 0))
    return "attention: a soft cap of " + std::to_string(p.softCap) + " with a scale of " +
           std::to_string(p.scale) + "; it has to be a number of 0 or more, and not of zeros";
  return "";
}

// Adds a launch with one block per `rows` of `count` rows, head and batch.
std::string add(std::vector<Launch> &launches, std::string kernel, int64_t count, int64_t rows,
                int64_t heads, int64_t batch, int threads, int sharedBytes) {
  int64_t rowBlocks = (count + rows - 1) / rows, headCount = heads * batch;
  if (rowBlocks == 0 || headCount == 0)
    return "";
  if (headCount > kMaxGridX / rowBlocks)
    return "attention: kernel '" + kernel + "' needs " + std::to_string(rowBlocks) +
           " blocks for " + std::to_string(headCount) + " heads each, a grid has " +
           std::to_string(kMaxGridX);
  launches.push_back({std::move(kernel), static_cast<uint32_t>(rowBlocks * headCount), 1,
                      static_cast<uint32_t>(threads), static_cast<uint32_t>(sharedBytes)});
  return "";
}

} // namespace

HeadStrides denseStrides(int64_t tokens, int64_t heads, int64_t headDim) {
  return {tokens * heads * headDim, heads * headDim, headDim};
}

void setDropout(AttentionParams &params, float dropout) {
  bool some = dropout > 0, all = dropout >= 1;
  params.keptFrom =
      !some ? 0
            : (all ? uint64_t(1) << 32
                   : static_cast<uint64_t>(std::ceil(static_cast<double>(dropout) * 4294967296.0)));
  params.keptScale = all ? 0 : 1 / (1 - (some ? dropout : 0));
}

std::string planAttention(ElementType type, const AttentionParams &params,
                          std::vector<Launch> &launches) {
  launches.clear();
  if (std::string error = check(params); !error.empty())
    return error;
  Choice choice = choose(type, params, /*gradient=*/false);
  if (std::string error = checkPointers(choice, params); !error.empty())
    return error;
  if (choice.narrow)
    return add(launches, "AttentionForward" + choice.suffix(), params.queries,
               forwardQueries(choice.headDim, choice.dropout), params.heads, params.batch,
               kNarrowThreads, forwardSharedBytes(choice.headDim, choice.dropout));
  return add(launches, "AttentionGeneral_forward" + choice.suffix(), params.queries,
             generalRows(choice.headDim), params.heads, params.batch, kWideThreads,
             generalForwardSharedBytes(choice.headDim));
}

std::string planAttentionGrad(ElementType type, const AttentionParams &params,
                              std::vector<Launch> &launches) {
  launches.clear();
  if (std::string error = check(params); !error.empty())
    return error;
  Choice choice = choose(type, params, /*gradient=*/true);
  if (std::string error = checkPointers(choice, params); !error.empty())
    return error;
  std::string family = choice.narrow ? "AttentionBackward_" : "AttentionGeneral_";
  int64_t rows =
      choice.narrow ? gradRows(choice.headDim, choice.dropout) : generalRows(choice.headDim);
  int threads = choice.narrow ? kNarrowThreads : kWideThreads;
  int shared = choice.narrow ? gradSharedBytes(choice.headDim, choice.dropout)
                             : generalGradSharedBytes(choice.headDim);
  std::string error = add(launches, family + "queries" + choice.suffix(), params.queries, rows,
                          params.heads, params.batch, threads, shared);
  std::initializer_list<const char *> whole = {"keys"}, halves = {"keysA", "keysB"};
  for (const char *name : !choice.narrow || gradIsWhole(choice.headDim) ? whole : halves)
    if (error.empty())
      error = add(launches, family + name + choice.suffix(), params.keys, rows, params.kvHeads,
                  params.batch, threads, shared);
  if (error.empty() && params.hasBiasGradient) {
    const int32_t *sizes = params.biasSizes;
    int64_t columns = (sizes[3] + kGeneralColumns - 1) / kGeneralColumns;
    error = add(launches, family + "bias" + choice.suffix(), sizes[2], rows, sizes[1] * columns,
                sizes[0], threads, shared);
  }
  return error;
}

} // namespace dtc::cuda
