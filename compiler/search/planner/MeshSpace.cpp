// Enumerates the meshes that the planner may choose.
#include "compiler/search/planner/MeshSpace.h"

#include "compiler/decide/decisions/Rules.h"
#include "compiler/decide/plan/Executable.h"
#include "compiler/price/estimate/PartOrders.h"
#include "compiler/search/planner/ContextChoices.h"
#include "compiler/search/planner/Divisors.h"
#include "compiler/search/planner/ExpertChoices.h"
#include "compiler/search/planner/MeshErrors.h"
#include "compiler/search/planner/MeshRules.h"
#include "compiler/search/planner/TensorChoices.h"

#include <set>

namespace dtc {

using D = Decisions;
namespace {

// Megatron's order comes first, so that it wins ties.
constexpr AxisOrder kOrders[] = {kMegatronOrder,       {'t', 'c', 'p', 'd'}, {'t', 'd', 'c', 'p'},
                                 {'t', 'p', 'c', 'd'}, {'c', 't', 'd', 'p'}, {'d', 't', 'c', 'p'},
                                 {'p', 't', 'c', 'd'}};

class MeshEnumerator {
public:
  MeshEnumerator(const SpaceLimits &limits, const Pins &pins) : limits(limits), pins(pins) {}

  Result<std::vector<Decisions>> run() {
    if (std::optional<UserError> error = checkMeshPins(limits, pins))
      return *error;
    int64_t devices = limits.devices;
    for (int64_t tp : divisorsOf(devices))
      for (int64_t pp : divisorsOf(devices / tp))
        for (int64_t cp : divisorsOf(devices / tp / pp))
          addMesh(tp, pp, cp, devices / tp / pp / cp);
    if (meshes.empty())
      return noMeshLeft(limits, pins);
    return std::move(meshes);
  }

private:
  void addMesh(int64_t tp, int64_t pp, int64_t cp, int64_t dp) {
    int64_t stages = leastChunksOf(pp, pins);
    bool useful = stages <= mostChunks(limits);
    if (!permits(pins[&D::tp], tp) || !permits(pins[&D::pp], pp) || !permits(pins[&D::cp], cp) ||
        !permits(pins[&D::dp], dp) || !useful || !fitsSequence(cp, tp, limits, pins) ||
        !mayCompile(cp, limits, pins) || limits.globalBatch % dp != 0)
      return;
    Decisions d;
    d.tp = tp;
    d.pp = pp;
    d.cp = cp;
    d.dp = dp;
    d.compression = pins[&D::compression].value_or(CompressionNumbers{});
    if (!obeysRulesOf("compress", d))
      return;
    d.evenRecompute = limits.space && limits.space->evenRecompute;
    d.evenStages = pp > 1 && limits.space && !limits.space->unevenStages;
    for (const Decisions &mesh : expertChoices(d, limits, pins))
      addExperts(mesh);
  }

  void addExperts(Decisions d) {
    for (int64_t ep : divisorsOf(d.ranksOfExperts())) {
      bool fits = ep == 1 || (limits.experts > 1 && limits.experts % ep == 0);
      d.ep = ep;
      d.expertRoomPerMille = pins[&D::expertRoomPerMille].value_or(0);
      fits &= obeysRulesOf("expert_room", d);
      if (fits && permits(pins[&D::ep], ep) && (d.cp > 1 || !limits.executable || isExecutable(d)))
        addBatches(d);
    }
  }

  void addBatches(Decisions d) {
    int64_t samples = limits.globalBatch / d.dp;
    for (int64_t microBatch : divisorsOf(samples)) {
      bool isWanted = pins[&D::microBatch]     ? microBatch == *pins[&D::microBatch]
                      : limits.needsWholeBatch ? microBatch == samples
                                               : microBatch <= kMostSamples;
      if (!isWanted)
        continue;
      d.microBatch = microBatch;
      d.numMicroBatches = samples / microBatch;
      for (int64_t sp : {0, 1}) {
        bool possible = sp == 0 || (limits.sequence > 0 && limits.sequence % (d.tp * d.cp) == 0 &&
                                    (d.tp > 1 || pins[&D::sequenceParallel]));
        d.sequenceParallel = sp != 0;
        if (possible && permits(pins[&D::sequenceParallel], sp) && obeysRulesOf("etp", d))
          addOrders(d);
      }
    }
  }

  // Adds the orders of the axes that have more than one rank; others make no difference.
  void addOrders(Decisions d) {
    std::set<std::string> seen;
    std::optional<AxisOrder> pinned = pins[&D::order];
    const auto all =
        pinned ? llvm::ArrayRef<AxisOrder>(*pinned) : llvm::ArrayRef<AxisOrder>(kOrders);
    for (AxisOrder order : all) {
      std::string key;
      for (char axis : order) {
        if (d.sizeOf(axis) > 1)
          key += axis;
      }
      if (!seen.insert(key).second)
        continue;
      d.order = order;
      bool isUneven = !limits.groups.empty() && d.pp > 1;
      if (isUneven && order.back() != 'p')
        continue;
      size_t partOrders = isUneven ? dtc::partOrders(limits.groups, d.devices() / d.pp).size() : 1;
      for (size_t partOrder = 0; partOrder < partOrders; ++partOrder) {
        d.partOrder = static_cast<int>(partOrder);
        for (const TensorOfParts &tensor :
             isUneven ? tensorChoices(d, limits, pins) : std::vector<TensorOfParts>(1)) {
          d.tensorOfParts = tensor;
          addContexts(d);
        }
      }
      d.partOrder = 0;
      d.tensorOfParts = {};
    }
  }

  void addContexts(Decisions d) {
    for (const Decisions &mesh : contextChoices(d, limits, pins))
      if (isAllowedMesh(mesh, limits))
        meshes.push_back(mesh);
  }

  const SpaceLimits &limits;
  const Pins &pins;
  std::vector<Decisions> meshes;
};

} // namespace

Result<std::vector<Decisions>> enumerateMeshes(const SpaceLimits &limits, const Pins &pins) {
  return MeshEnumerator(limits, pins).run();
}

} // namespace dtc
