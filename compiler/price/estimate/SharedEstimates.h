// Caches results that estimates of many decisions have in common.
#pragma once

#include "compiler/decide/decisions/Decisions.h"
#include "compiler/price/estimate/GradientCollectives.h"
#include "compiler/price/estimate/StageSplit.h"

#include "llvm/ADT/SmallVector.h"

#include <map>

namespace dtc {

// A cache of one search: of one model, whose cells follow from tp, sequence parallelism and
// placement, and of one EstimateRequest. Its lifetime is independent of the costs that it was
// filled from.
class SharedEstimates {
public:
  // The decisions that Parts leave to finer keys (restOf).
  using RestKey = llvm::SmallVector<int64_t, 16>;
  // Gradients of so many parameters, on devices of StageDevices::kinds.
  struct GradientKey {
    size_t kind;
    int64_t zero;
    double dense, expert;
    auto operator<=>(const GradientKey &) const = default;
  };
  // Bytes of a block's parameters that are gathered or scattered between replicas.
  struct GatherKey {
    size_t kind;
    CollectiveKind collective;
    double denseBytes, expertBytes;
    auto operator<=>(const GatherKey &) const = default;
  };
  // Results of decisions that agree in all that KeptResult::Estimates has: the sizes and ranks of
  // all groups, the micro-batch, and how stages share the vocabulary.
  struct Parts {
    std::map<RestKey, LayerChunks> cuts;
    std::map<GradientKey, std::vector<GradientCollectives>> gradients; // one per bucket size
    std::map<GatherKey, double> gathers;                               // seconds
    std::map<RestKey, double> bounds; // seconds, on homogeneous devices
  };
  // Returns the results known for such decisions; the caller adds to them.
  Parts &of(const Decisions &decisions);

private:
  std::map<Decisions, Parts> known;
  // The entry found last, as most requests repeat it.
  std::pair<const Decisions, Parts> *last = nullptr;
};

} // namespace dtc
