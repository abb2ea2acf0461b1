// The work and the groups of ranks whose seconds OpCost.h and CollectiveCost.h return.
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

// The way that a kernel is started: by the host, one after another, or within a recorded graph that
// is replayed as a whole (CUDA graphs).
enum class Launch { Single, Replayed };

// Ranks base + i * stride, i < size, for each span; several spans: all sums (a group over several
// mesh axes). Every rank of the cluster is in one such group, and all groups communicate at the
// same time, each with its share of a link. Example: on a mesh dp 4 x tp 2 (tp innermost) tp's
// group is {{2, 1}}, dp's {{4, 2}} and both's {{2, 1}, {4, 2}}.
struct RankSpan {
  int64_t size, stride;
};
using RankGroup = llvm::SmallVector<RankSpan, 2>;

// The algorithm and protocol that a library uses for a collective, with its seconds.
struct CollectiveChoice {
  double seconds = std::numeric_limits<double>::infinity();
  llvm::StringRef algorithm = "";
  llvm::StringRef protocol = ""; // NCCL's protocol; "" elsewhere
};

} // namespace dtc
