// Caches partial results that the estimates of many decisions share.
#pragma once

#include "compiler/estimate/GradientExchange.h"
#include "compiler/estimate/StageSplit.h"
#include "compiler/plan/Decisions.h"

#include <map>

namespace dtc {

// Belongs to one search: one model, whose cells follow from tp, sequence parallelism and placement,
// and one EstimateRequest. It may live shorter or longer than the costs that it was filled from.
class SharedEstimates {
public:
  // The inputs of a cut into chunks.
  struct CutKey {
    int64_t chunks;
    Recompute recompute, recomputeMost;
    int64_t zero;
    ScheduleKind schedule;
    bool offloadOptimizer;
    LayersOnHost layersOnHost;
    auto operator<=>(const CutKey &) const = default;
  };
  // Gradients of so many elements of parameters, on devices of StagePlaces::kinds.
  struct ExchangeKey {
    size_t kind;
    int64_t zero;
    double dense, expert;
    auto operator<=>(const ExchangeKey &) const = default;
  };
  // So many bytes of a block's parameters, gathered or scattered between replicas.
  struct GatherKey {
    size_t kind;
    CollectiveKind collective;
    double denseBytes, expertBytes;
    auto operator<=>(const GatherKey &) const = default;
  };
  // The inputs of lowerBoundSeconds.
  struct BoundKey {
    int64_t numMicroBatches, zero;
    Recompute recompute;
    bool splitsBackward, hasOneChunk, mayBeginEmpty, offloadOptimizer;
    LayersOnHost layersOnHost;
    auto operator<=>(const BoundKey &) const = default;
  };
  // Results for decisions that agree in the sizes and placement of all groups, in the micro-batch,
  // and in whether stages share the vocabulary.
  struct Parts {
    std::map<CutKey, LayerChunks> cuts;
    std::map<ExchangeKey, std::vector<GradientExchange>> exchanges; // per bucket size
    std::map<GatherKey, double> gathers;                            // seconds
    std::map<BoundKey, double> bounds;                              // seconds, on alike devices
  };
  // Returns the cache of the decisions.
  Parts &of(const Decisions &decisions);

private:
  std::map<Decisions, Parts> known;
  std::pair<const Decisions, Parts> *last = nullptr; // asked for: most often for the next, too
};

} // namespace dtc
