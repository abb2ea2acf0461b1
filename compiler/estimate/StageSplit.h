// Cuts a chain of layers into stages.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace dtc {

// Layers [first, last] of each chunk, in order; last < first where a chunk has none.
using LayerChunks = std::vector<std::pair<int64_t, int64_t>>;

// Into so many runs layers can be cut: embedding and head can be runs of their own.
constexpr int64_t mostChunksOf(int64_t layers) { return layers > 0 ? layers + 2 : 1; }

// Returns true if the embedding may be a run of its own. The head always may.
constexpr bool mayBeginEmpty(int64_t layers, int64_t chunks) { return chunks > layers; }

// Cuts `seconds` (per layer, in order) into `chunks` contiguous runs so that the largest sum is as
// small as possible, `before` counted with the first run and `after` with the last. That may be all
// that the last run has, where the largest sum is less for it, and all that the first has, where
// there are more chunks than layers; other runs have at least one layer. Of the best cuts one with
// level runs, or else the one with the lightest first runs, whose stages keep most micro-batches
// alive. Exact (binary search over the sums that a run can have; the greedy filling is optimal for
// contiguous runs). Wants 1 <= layers, chunks <= mostChunksOf(layers).
LayerChunks cutChain(const std::vector<double> &seconds, int64_t chunks, double before,
                     double after);

// One chunk of a chain on heterogeneous devices.
struct ChunkPlace {
  std::vector<double> seconds; // per layer of the chain, on this chunk's devices
  double extra = 0;            // seconds of what comes with the chunk: embedding or head
  int64_t mostLayers = 0;      // number of layers that fit in its memory
};

// Cuts a chain over heterogeneous devices, in the order of `chunks`: the slowest chunk is as fast
// as possible, later chunks as full as that allows. Empty if memory can't hold all layers. Exact,
// as cutChain. Requires equal numbers of seconds in all chunks, and no more chunks than seconds.
LayerChunks cutOverUnlike(const std::vector<ChunkPlace> &chunks);

// Seconds of layers [first, last] as chunk `chunk`, last = first - 1 for none: no less than of a
// part of them; infinite where its memory does not hold them.
using RunSeconds = llvm::function_ref<double(int64_t chunk, int64_t first, int64_t last)>;

// The same where a chunk's seconds are not a sum over its layers. Empty where no cut has a slowest
// chunk of less than `limit` seconds. Exact, to a share of 1e-9.
LayerChunks cutByRuns(int64_t layers, int64_t chunks, RunSeconds seconds, double limit);

// Seconds of a stage with so many layers: no less than with fewer of them; infinite where its
// memory does not hold them.
using StageSeconds = llvm::function_ref<double(int64_t stage, int64_t layers)>;

// Layers of each stage, where all layers are alike and a stage may have any of them: so that the
// slowest stage is as fast as possible, with `least` layers of each. Empty where none has a slowest
// stage of less than `limit` seconds. Exact, to a share of 1e-9: the next layer goes to the stage
// that is fastest with it, of equal ones to the last.
std::vector<int64_t> shareOut(int64_t layers, std::vector<int64_t> least, StageSeconds seconds,
                              double limit);

// Runs of as many layers each. Where `layers` does not divide and `layers` + 2 does, the first and
// the last run have one layer less, for embedding and head; otherwise the last runs have one less.
// A run may be empty. Example: 126 layers in 32 runs are 3, then 30 times 4, then 3.
LayerChunks cutEvenly(int64_t layers, int64_t chunks);

} // namespace dtc
