// The kinds of devices that stages are on.
#include "compiler/price/estimate/StageKind.h"
#include "compiler/price/cost/CollectiveCost.h"

#include "compiler/price/estimate/EstimateRequest.h"
#include "compiler/price/estimate/HostOffload.h"

#include "llvm/ADT/STLExtras.h"

namespace dtc {
namespace {

// Computes the seconds of parts on one kind of devices.
class PartTimer {
public:
  PartTimer(const StageKind &at, const ModelCells &cells, const Decisions &decisions,
            const CellPrecision &precision, SharedEstimates::Parts &known)
      : at(at), cells(cells), d(decisions), precision(precision), known(known) {}

  PartTimes timesOf(const BlockCost &block) const {
    PartTimes times;
    const Overlap &overlap = at.model.overlap; // the group may lie on other links
    double tp = 1 - overlap.tp, cp = 1 - overlap.cp, ep = 1 - overlap.ep;
    ExposedSeconds forward{tp * block.forwardTp, cp * block.forwardCp + block.forwardHeads,
                           ep * block.forwardEp, 0};
    ExposedSeconds backward{tp * block.backwardTp, cp * block.backwardCp + block.backwardHeads,
                            ep * block.backwardEp, 0};
    // Collectives beside compute slow it.
    double slow = overlap.slowdown - 1;
    auto slowdown = [&](double tpAll, double cpAll, double epAll) {
      return slow * (overlap.tp * tpAll + overlap.cp * cpAll + overlap.ep * epAll);
    };
    double forwardCompute =
        block.forward + slowdown(block.forwardTp, block.forwardCp, block.forwardEp);
    double backwardSlow = slowdown(block.backwardTp, block.backwardCp, block.backwardEp);
    if (d.zero >= 2 && at.isShared()) {
      double scatter = gatherSeconds(block, precision.reduceBytes, CollectiveKind::ReduceScatter);
      double gather =
          d.zero >= 3 ? gatherSeconds(block, precision.parameterBytes, CollectiveKind::AllGather)
                      : 0;
      double hide = overlap.gathers;
      forward.gather = std::max(0.0, gather - hide * forwardCompute);
      // Parameters that were released after the forward pass are gathered for recomputation and
      // once more after it.
      bool isTwice = cells.gathersAgain && d.recompute == Recompute::Full;
      double waits = scatter + (isTwice ? 2 : 1) * gather;
      double beside = block.backward() + (isTwice ? forwardCompute : 0);
      backward.gather = std::max(0.0, waits - hide * beside);
      forwardCompute += slow * (gather - forward.gather);
      backwardSlow += slow * (waits - backward.gather);
      double exposed = forward.gather + backward.gather;
      times.gathers = exposed + slow * (gather + waits - exposed);
    }
    times.forward = forwardCompute + forward.tp + forward.cp + forward.ep + forward.gather;
    times.backwardInput = block.backwardInput + backwardSlow + backward.tp + backward.cp +
                          backward.ep + backward.gather;
    times.backwardWeight = block.backwardWeight;
    times.exposed = {forward.tp + backward.tp, forward.cp + backward.cp, forward.ep + backward.ep,
                     forward.gather + backward.gather};
    times.compute = forwardCompute + block.backward() + backwardSlow;
    auto waitsOf = [&](const AgainCollectives &again) {
      return tp * again.tp + cp * again.cp + again.heads + ep * again.ep +
             slowdown(again.tp, again.cp, again.ep);
    };
    auto recompute = [&](Recompute how) -> double & {
      return times.recompute[static_cast<size_t>(how)];
    };
    recompute(Recompute::Selective) = block.selective + waitsOf(block.selectiveCollectives);
    for (auto [index, partial] : llvm::enumerate(block.partial))
      recompute(partialAt(index)) = partial.compute + waitsOf(partial.collectives);
    if (block.runsBackward)
      recompute(Recompute::Full) =
          forwardCompute - block.unread + forward.tp + forward.cp + forward.ep;
    if (d.offloadsLayers())
      addCopies(block, at.topology.device.hostShare(), times);
    return times;
  }

private:
  // Returns the seconds to gather a block's parameters, or to scatter their gradients, under ZeRO-2
  // and 3.
  double gatherSeconds(const BlockCost &block, double bytesPerParameter,
                       CollectiveKind kind) const {
    bool isOfGradients = kind == CollectiveKind::ReduceScatter; // frozen parameters have none
    double dense = (isOfGradients ? block.denseParameters : block.allDense()) * bytesPerParameter,
           expert =
               (isOfGradients ? block.expertParameters : block.allExpert()) * bytesPerParameter;
    auto [it, isNew] = known.gathers.try_emplace({at.number, kind, dense, expert}, 0.0);
    if (isNew)
      it->second = collectiveSeconds(kind, dense, at.shards.denseShards, at.topology) +
                   collectiveSeconds(kind, expert, at.shards.expertShards, at.topology);
    return it->second / cells.gatherShare;
  }

  // Adds copies to and from the host. Activations leave while their layer and the next one run, and
  // are back before the backward pass, beside that of the layer behind: layers are equal. Both
  // directions of the link are free for them.
  void addCopies(const BlockCost &block, const HostShare &host, PartTimes &times) const {
    if (!host.isKnown())
      return;
    for (Recompute how : kRecomputes) {
      auto index = static_cast<size_t>(how);
      double copy = hostCopySeconds(keptOf(block, how), host);
      double backward = times.backwardInput + times.recompute[index] +
                        (splitsBackward(d.schedule) ? 0 : times.backwardWeight);
      times.toHost[index] = std::max(0.0, copy - times.forward);
      times.fromHost[index] = std::max(0.0, copy - backward);
    }
  }

  const StageKind &at;
  const ModelCells &cells; // of the whole pipeline, as the decisions
  const Decisions &d;
  const CellPrecision &precision;
  SharedEstimates::Parts &known;
};

// Fills in the seconds of all parts.
void addTimes(StageKind &at, const ModelCells &cells, const Decisions &d,
              const CellPrecision &precision, SharedEstimates::Parts &known) {
  PartTimer timer(at, cells, d, precision, known);
  at.embedding = timer.timesOf(embeddingOf(at.model, d));
  if (d.lossChunks > 1)
    at.headInChunks = withLossInChunks(at.model.head, d.lossChunks);
  at.head = timer.timesOf(headOf(at));
  if (d.dividesVocabulary())
    at.share = timer.timesOf(at.model.vocabulary->share);
  for (const BlockCost &block : at.model.blocks)
    at.blocks.push_back(timer.timesOf(block));
}

} // namespace

const BlockCost &embeddingOf(const ModelCost &cost, const Decisions &d) {
  return d.dividesVocabulary() ? cost.vocabulary->embedding : cost.embedding;
}

const BlockCost &headOf(const StageKind &at) {
  if (at.d.lossChunks > 1)
    return at.headInChunks;
  return at.d.dividesVocabulary() ? at.model.vocabulary->head : at.model.head;
}

std::vector<StageKind> stageKindsOf(const ModelCost &model, const Decisions &d,
                                    const EstimateRequest &request, SharedEstimates::Parts &known) {
  std::vector<StageKind> kinds;
  kinds.reserve(std::max<size_t>(1, model.kinds.size()));
  auto add = [&](const ModelCost &cost, const Topology &topology, double memoryLimit,
                 const Decisions &own) {
    addTimes(kinds.emplace_back(StageKind{cost, topology, kinds.size(), memoryLimit, own}),
             *model.cells, d, request.precision, known);
  };
  for (size_t kind = 0; kind < model.kinds.size(); ++kind) {
    const Topology &topology = model.devices.kinds[kind];
    add(model.kinds[kind], topology,
        request.isLimitOfDevice
            ? request.usableShare * static_cast<double>(topology.device.memoryBytes)
            : request.memoryLimit,
        d.onPart(model.devices.whereOfKind[kind].first));
  }
  if (kinds.empty())
    add(model, *request.topology, request.memoryLimit, d);
  return kinds;
}

} // namespace dtc
