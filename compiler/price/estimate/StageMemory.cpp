// Computes the bytes of stages.
#include "compiler/price/estimate/StageMemory.h"

#include "compiler/price/estimate/HostOffload.h"
#include "compiler/price/memory/ProgramMemory.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace dtc {

// The most micro-batches of a V's stage between B and W: three chunks (two a micro-batch) at most
// in simulated schedules of 4 stages and more, all that are alive of 2.
constexpr double kMostStashedOfV = 2;

double statesOf(const StageInputs &in, const BlockCost &block, const StageKind &at) {
  const CellPrecision &p = in.request.precision;
  auto sum = [&](double dense, double expert, bool isSplit) {
    return isSplit ? dense / at.dataRanks + expert / at.expertRanks : dense + expert;
  };
  double whole = sum(block.denseParameters, block.expertParameters, false),
         part = sum(block.denseParameters, block.expertParameters, true);
  return p.frozenBytesAtRest(in.d.zero) *
             sum(block.frozenDense, block.frozenExpert, in.d.zero >= 3) +
         p.bytesAtRest(in.d.zero, in.d.offloadOptimizer) * (in.d.zero >= 3 ? part : whole) +
         p.gradientBytes * (in.d.zero >= 2 ? part : whole) +
         (in.d.offloadOptimizer ? 0 : p.optimizerBytes * (in.d.zero >= 1 ? part : whole)) +
         p.otherStateBytes * sum(block.denseParameters - block.denseMatrices,
                                 block.expertParameters - block.expertMatrices, in.d.zero >= 1);
}

void PartSums::add(const BlockCost &part, bool isLayer) {
  dense += part.denseParameters;
  expert += part.expertParameters;
  denseMatrices += part.denseMatrices;
  expertMatrices += part.expertMatrices;
  frozenDense += part.frozenDense;
  frozenExpert += part.frozenExpert;
  summed += part.sharedGradients;
  matrixElements += part.matrixElements;
  matrixFlops += part.matrixFlops;
  transient = std::max(transient, part.transient);
  if (!isLayer) {
    embeddingAndHead += part.allDense() + part.allExpert();
    return;
  }
  kept += part.kept;
  largestLayer = std::max(largestLayer, part.allDense() + part.allExpert());
  largestTrained = std::max(largestTrained, part.denseParameters + part.expertParameters);
}

void PartSums::takeTied(const ModelCost &cost) {
  dense -= cost.tiedParameters;
  frozenDense -= cost.tiedFrozen;
  embeddingAndHead -= cost.tiedParameters + cost.tiedFrozen;
}

void PartSums::addLayer(const BlockCost &part, LayerWay way) {
  add(part, /*isLayer=*/true);
  ways.set(way.index());
  for (Recompute how : kRecomputes)
    for (LayerWay each : {LayerWay{how}, LayerWay{how, /*isOnHost=*/true}}) {
      double &most = workspace[each.index()];
      most = std::max(most, workspaceOf(part, each));
    }
}

double PartSums::largestWorkspace() const {
  double most = 0;
  for (auto [index, bytes] : llvm::enumerate(workspace))
    if (ways[index])
      most = std::max(most, bytes);
  return most;
}

// Returns the bytes of inputs that a stage holds.
static double inputsOf(const StageInputs &in, size_t index) {
  if (!in.request.programs)
    return 0; // other software holds those of one micro-batch at a time
  InputBytes inputs = in.request.programs->inputsOf(samplesOf(in.d));
  return (index == 0 ? inputs.embedding : 0) + (in.holdsHead(index) ? inputs.head : 0);
}

MicroBatchesAlive aliveOf(const StageInputs &in, size_t index) {
  InFlight chunks =
      inFlight(in.d.schedule, static_cast<int>(in.d.pp), static_cast<int>(in.d.virtualStages),
               static_cast<int>(in.d.numMicroBatches), static_cast<int>(index));
  double all = static_cast<double>(in.d.virtualStages),
         m = static_cast<double>(in.d.numMicroBatches),
         inFlight = std::min(m, static_cast<double>(chunks.pending) / all +
                                    static_cast<double>(in.d.vocabBarriers())),
         late = static_cast<double>(chunks.pending - chunks.activations) / all;
  double stashed = isV(in.d.schedule) ? kMostStashedOfV : late + 1;
  return {inFlight, splitsBackward(in.d.schedule) ? std::min(inFlight, stashed) : 0,
          inputsOf(in, index)};
}

double sentAfter(const StageInputs &in, size_t chunk, int64_t layer, const StageKind &at) {
  return in.process.keepsSent && in.isSent(chunk) ? at.blockOf(std::max<int64_t>(0, layer)).input
                                                  : 0;
}

MemoryParts memoryOf(const StageInputs &in, const PartSums &sums, const StageKind &at,
                     const MicroBatchesAlive &alive, const ActivationBytes &activations) {
  const CellPrecision &p = in.request.precision;
  auto sum = [&](double dense, double expert, bool isSplit) {
    return isSplit ? dense / at.dataRanks + expert / at.expertRanks : dense + expert;
  };
  auto shared = [&](double bytes, bool isSplit) {
    return bytes * sum(sums.dense, sums.expert, isSplit);
  };
  MemoryParts memory;
  memory.parameters =
      shared(p.bytesAtRest(in.d.zero, in.d.offloadOptimizer), in.d.zero >= 3) +
      p.frozenBytesAtRest(in.d.zero) * sum(sums.frozenDense, sums.frozenExpert, in.d.zero >= 3);
  double whole = in.process.wholeLayers * sums.largestLayer,
         embeddingAndHead = in.process.keepsEmbeddingAndHead ? sums.embeddingAndHead : 0;
  if (in.d.zero >= 3 && at.isShared())
    memory.parameters += (whole + embeddingAndHead) * p.parameterBytes;
  memory.gradients = shared(p.gradientBytes, in.d.zero >= 2);
  // Gradients are whole for one layer while they are computed and for the one before while they are
  // on the wire; those of parameters that stay gathered take as many bytes as these until the last
  // backward pass ends.
  if (in.d.zero >= 2 && at.isShared())
    memory.gradients += in.process.wholeLayers * sums.largestTrained * p.reduceBytes +
                        (in.d.zero >= 3 ? embeddingAndHead * p.parameterBytes : 0);
  memory.optimizer = in.d.offloadOptimizer ? 0 : shared(p.optimizerBytes, in.d.zero >= 1);
  memory.optimizer += p.otherStateBytes * sum(sums.dense - sums.denseMatrices,
                                              sums.expert - sums.expertMatrices, in.d.zero >= 1);
  memory.activations =
      in.process.fragmentation * (alive.inFlight * (activations.kept + sums.sent) +
                                  alive.stashed * activations.recomputed + sums.headKept) +
      alive.inputs;
  memory.temporaries = in.process.fragmentation * (sums.transient + activations.workspace);
  const Decisions &own = at.d;
  bool hasCopies =
      in.d.zero > 0 && own.zeroRanks() < own.dp; // groups of copies, which sum gradients
  double axes = (own.tp > 1) + (in.d.headRanks() > 1) + (in.d.ringRanks() > 1) + (own.dp > 1) +
                (in.d.pp > 1) + (in.d.ep > 1) + hasCopies;
  memory.communication = axes * in.process.perCommunicator;
  memory.reserved = in.process.reserved;
  return memory;
}

void addMemory(const StageInputs &in, size_t index, const PartSums &sums, StageEstimate &stage) {
  const StageKind &at = in.kindOf(index);
  MicroBatchesAlive alive = aliveOf(in, index);
  stage.inFlight = alive.inFlight;
  stage.stashed = alive.stashed;
  double recomputed = index == 0 ? embeddingOf(at.model, in.d).kept : 0;
  recomputed += sums.kept - stage.keptPerMicroBatch;
  stage.hostBytes = stage.statesOnHost + (alive.inFlight - alive.stashed) * stage.keptOnHost;
  stage.memory =
      memoryOf(in, sums, at, alive, {stage.keptPerMicroBatch, recomputed, sums.largestWorkspace()});
}

double hostLimitOf(const StageInputs &in, size_t index, const StageEstimate &stage) {
  const DeviceKind &device = in.kindOf(index).topology.device;
  if (device.deviceClass == DeviceClass::Cpu) // one memory holds both
    return std::max(0.0, stage.memoryLimit - stage.memory.total());
  return device.host.isKnown() ? hostMemoryFor(device.host) : 0;
}

double hostRoomOf(double statesOnHost, const StageKind &at) {
  const DeviceKind &device = at.topology.device;
  // One memory holds both.
  return device.deviceClass == DeviceClass::Cpu ? 0 : hostMemoryFor(device.host) - statesOnHost;
}

} // namespace dtc
