// Cuts a chain of layers into stages.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace dtc {

// Layers [first, last] of each chunk, in order; last < first where a chunk has none.
using LayerChunks = std::vector<std::pair<int64_t, int64_t>>;

// Returns the largest number of runs that layers can be cut into: embedding and head can be runs of
// their own.
constexpr int64_t mostChunksOf(int64_t layers) { return layers > 0 ? layers + 2 : 1; }

// Returns true if the embedding may be a run of its own. The head always may.
constexpr bool mayBeginEmpty(int64_t layers, int64_t chunks) { return chunks > layers; }

// Cuts a chain of layers into `chunks` contiguous runs so that the slowest run is as fast as
// possible. `seconds` has each layer's; `before` counts with the first run and `after` with the
// last. The last run may have no layers if that makes the slowest run faster, and so may the first
// if there are more chunks than layers; all other runs have at least one layer.
// Prefers level runs among the best cuts, else the lightest first runs, whose stages keep the most
// micro-batches alive. Exact (binary search over the sums that a run can have; the greedy filling
// is optimal for contiguous runs). Needs 1 <= layers, chunks <= mostChunksOf(layers).
LayerChunks cutChain(const std::vector<double> &seconds, int64_t chunks, double before,
                     double after);

// One chunk of a chain that is cut over heterogeneous devices.
struct ChunkDevices {
  std::vector<double> seconds; // every layer of the chain, on this chunk's devices
  double extra = 0;            // seconds of embedding or head, if the chunk has it
  int64_t mostLayers = 0;      // the most layers that its memory holds
};

// Cuts a chain over heterogeneous devices, with chunks in the order given: the slowest chunk is as
// fast as possible, later chunks as full as that allows. Empty if memory cannot hold all layers.
// Exact, as cutChain. Needs the same number of layers in each chunk, and at most as many chunks as
// cutChain.
LayerChunks cutOverHeterogeneous(const std::vector<ChunkDevices> &chunks);

// Returns the seconds of layers [first, last] as chunk `chunk`, with last = first - 1 for none: no
// less than of a part of them; infinite if the chunk's memory does not hold them.
using RunSeconds = llvm::function_ref<double(int64_t chunk, int64_t first, int64_t last)>;

// Cuts a chain whose chunks' seconds are not sums over layers, so that the slowest chunk is as fast
// as possible. Empty if every cut has a slowest chunk of `limit` seconds or more. Exact to a share
// of 1e-9.
LayerChunks cutByRuns(int64_t layers, int64_t chunks, RunSeconds seconds, double limit);

// Returns the seconds of a stage with so many layers: no less than with fewer of them; infinite if
// its memory does not hold them.
using StageSeconds = llvm::function_ref<double(int64_t stage, int64_t layers)>;

// Returns the number of layers of each stage, for equal layers of which a stage may have any. The
// slowest stage is as fast as possible, with at least `least` layers each. Empty if that stage
// takes `limit` seconds or more. Exact to a share of 1e-9: the next layer goes to the stage that is
// fastest with it, on ties to the last.
std::vector<int64_t> shareOut(int64_t layers, std::vector<int64_t> least, StageSeconds seconds,
                              double limit);

// Cuts layers into runs of equal length. If `layers` does not divide and `layers` + 2 does, the
// first and the last run have one layer less, for embedding and head; otherwise the last runs have
// one less. A run may be empty.
// Example: 126 layers in 32 runs are 3, then 30 times 4, then 3.
LayerChunks cutEvenly(int64_t layers, int64_t chunks);

} // namespace dtc
