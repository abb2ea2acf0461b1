// Seconds that one op or one collective takes on one kind of hardware. Analytic, with constants in
// Constants.cpp; where the topology carries measured curves, corrected by them.
#pragma once

#include "compiler/describe/topology/Calibration.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <limits>

namespace dtc {

// The kind of work of a launch, which selects its cost model.
enum class WorkKind {
  Memory,    // elementwise, reductions, normalisations, the optimizer, copies: bound by bytes
  Product,   // batch products [m, k] x [k, n]
  Attention, // batch (= batch x heads) of m queries on n keys, head dimension k; blocked, scores
             // never in memory
};

// The work of one launch on one device. `flops` counts operations that are done (causal attention:
// half of the full count).
struct OpWork {
  WorkKind kind = WorkKind::Memory;
  double flops = 0;
  double bytes = 0; // to and from device memory
  int64_t m = 0, n = 0, k = 0, batch = 1;
  ComputeType type = ComputeType::F32;
  bool causal = false, backward = false; // attention: which measured curve it is on
};

// A product of f32 or 16-bit operands with its flops and bytes filled in: 2 batch m n k flops, each
// operand and the result moved once. Example: productWork(1024, 3072, 768, 1,
// ComputeType::BF16).flops is 4831838208.
OpWork productWork(int64_t m, int64_t n, int64_t k, int64_t batch, ComputeType type);

// The way that a kernel is started: by the host, one after another, or within a recorded graph that
// is replayed as a whole (CUDA graphs).
enum class Launch { Single, Replayed };

// Returns the seconds that one launch takes.
double launchSeconds(const DeviceKind &device, Launch launch);

// max(flops / (peak x efficiency), bytes / achieved bandwidth) + launch. The efficiency of products
// falls with tile quantisation, wave quantisation and short k; that of attention with the sequence
// length. No work costs nothing. A type that the device does not support is computed as f32.
// Measured curves are of single launches: of replayed ones what is less than two launches long is
// shorter, as the next launch no longer waits for the host.
double secondsOf(const OpWork &work, const DeviceKind &device, Launch launch = Launch::Single);

// No ops that do that much work of the kind, however they are cut and spread, take a device less:
// products and attention of as long rows at the rate of their best shape, other ops at the memory's
// rate; no launches. What a calibration knows of memory is left out.
double leastSecondsOf(const OpWork &work, const DeviceKind &device);

// The terms of an op's seconds in the analytic model. A share of 1 means fully used.
struct OpTerms {
  // The op takes launch + the larger of the other two.
  double computeSeconds = 0, memorySeconds = 0, launchSeconds = 0;
  double peakFlops = 0; // peak of the type, per second
  // Share of the peak that large matmuls, or attention of this length, sustain.
  double sustained = 1;
  // Matmuls: the tile of the model, the number of waves of tiles, and the number of parts that k is
  // cut into for idle units; then the shares left by overhanging tiles, by a partial last wave, and
  // by filling and draining of k, and the tile's own efficiency.
  int64_t tileM = 0, tileN = 0;
  double waves = 0, parts = 1;
  double tileUse = 1, waveUse = 1, depthUse = 1, tileEfficiency = 1;
  double alignedUse = 1; // less where rows are not of whole 16-byte pieces
  bool measured = false; // the device has measured curves, which secondsOf takes instead
};
// Returns the terms of an op's seconds.
OpTerms explainOp(const OpWork &work, const DeviceKind &device, Launch launch = Launch::Single);

// Ranks base + i * stride, i < size, for each span; several spans: all sums (a group over several
// mesh axes). Every rank of the cluster is in one such group, and all groups communicate at the
// same time, each with its share of a link. Example: on a mesh dp 4 x tp 2 (tp innermost) tp's
// group is {{2, 1}}, dp's {{4, 2}} and both's {{2, 1}, {4, 2}}.
struct RankSpan {
  int64_t size, stride;
};
using RankGroup = llvm::SmallVector<RankSpan, 2>;

// Seconds from the start to the last rank's end. `bytes` is the size of the whole, unsharded
// tensor: the input of all-reduce, reduce-scatter and broadcast, the output of all-gather, what one
// rank holds for all-to-all, the message of send-receive (to the next rank of the group). One rank
// or no bytes cost nothing. The least of the algorithms that the library of the hardware has: on
// GPUs NCCL's rings, trees and switches with its protocols; on a TPU's torus all axes at the same
// time; otherwise one ring, level by level, a tree, or the switch's reduction.
//
// Of a heterogeneous topology, or one with slow links, the group is that of `rank`, whose ranks it
// counts from the first one that it can have; without `rank` the slowest of all groups. What a
// stage does on some ranks alone is costed on Topology::slice of them.
double collectiveSeconds(CollectiveKind kind, double bytes, const RankGroup &group,
                         const Topology &topology);
// Returns the seconds of a collective of the group of `rank`; see above.
double collectiveSeconds(CollectiveKind kind, double bytes, const RankGroup &group,
                         const Topology &topology, int64_t rank);

// The algorithm and protocol that a library uses for a collective, with its seconds.
struct CollectiveChoice {
  double seconds = std::numeric_limits<double>::infinity();
  llvm::StringRef algorithm = "";
  llvm::StringRef protocol = ""; // NCCL's protocol; "" elsewhere
};

// The algorithm behind collectiveSeconds, and its seconds. Of a heterogeneous topology the
// algorithm is "ring over parts", of measured curves that of the model that they correct.
CollectiveChoice explainCollective(CollectiveKind kind, double bytes, const RankGroup &group,
                                   const Topology &topology);

// Seconds that the collective keeps a device's link of each level busy; the levels of `topology`.
// Collectives that run at the same time add theirs up. Of a homogeneous topology.
// Example: an all-reduce of 8 MB by {{8, 1}} on two DGX A100 is {64 us, 0}.
llvm::SmallVector<double> linkSeconds(CollectiveKind kind, double bytes, const RankGroup &group,
                                      const Topology &topology);

// Returns the number of joined ranks of a group at each level, inside out; their product is the
// size of the group. Example: {{16, 1}} on two nodes of 8 is {8, 2}; {{2, 8}} is {1, 2}.
llvm::SmallVector<int64_t> ranksPerLevel(const RankGroup &group, const Topology &topology);

} // namespace dtc
