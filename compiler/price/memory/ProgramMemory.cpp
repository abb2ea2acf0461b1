// Memory of programs that dtc compiles, before they are compiled.
#include "compiler/price/memory/ProgramMemory.h"

#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/decide/plan/Executable.h"
#include "compiler/decide/plan/ScheduleDecisions.h"
#include "compiler/price/memory/RepeatLayer.h"
#include "compiler/price/memory/StaticMemory.h"
#include "compiler/search/placement/ReadCells.h"
#include "dialects/graph/Declaration.h"
#include "passes/Pipelines.h"
#include "passes/schedule/Passes.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dtc {
namespace {

constexpr int64_t kLayers = 3; // layers of the short model: a first, a middle and a last one
// Micro-batches of the short step: the second one stands for all that follow.
constexpr int64_t kMicroBatches = 2;

// Returns the bytes of a step with `share` times the samples, whose tokens all exist from its
// start.
MemoryParts partsOf(const BytesByKind &bytes, double share) {
  auto ofKind = [&](exec::BufferKind kind) {
    return static_cast<double>(bytes[static_cast<size_t>(kind)]);
  };
  MemoryParts parts;
  parts.parameters = ofKind(exec::BufferKind::Parameter);
  parts.gradients = ofKind(exec::BufferKind::Gradient);
  parts.optimizer = ofKind(exec::BufferKind::Optimizer);
  parts.temporaries = ofKind(exec::BufferKind::Temporary);
  parts.communication = ofKind(exec::BufferKind::Communication);
  parts.activations = ofKind(exec::BufferKind::Activation) + ofKind(exec::BufferKind::Output) +
                      ofKind(exec::BufferKind::Input) * share;
  return parts;
}

double bytesOfSample(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  double bytes = llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
  for (int64_t size : tensor.getShape())
    bytes *= ShapedType::isDynamic(size) ? 1 : static_cast<double>(size);
  return bytes;
}

InputBytes inputsOfSample(graph::FuncOp loss) {
  auto calls = loss.getBody().getOps<graph::BlockCallOpInterface>();
  InputBytes inputs;
  for (Value input : loss.getArguments()) {
    bool isOfEmbedding = llvm::any_of(input.getUsers(), [&](Operation *user) {
      return calls.empty() || user->isBeforeInBlock(*calls.begin());
    });
    (isOfEmbedding ? inputs.embedding : inputs.head) += bytesOfSample(input.getType());
  }
  return inputs;
}

void runAside(StepOutline &outline, const Decisions &d) {
  ScheduleOptions options = scheduleOptions(d);
  if (options.overlap)
    runCollectivesAside(outline, options.bucketBytes, AssignStreamsOptions().inFlight);
}

} // namespace

double samplesOf(const Decisions &d) {
  return static_cast<double>(d.microBatch) * static_cast<double>(d.numMicroBatches);
}

Plan compiledPlan(const Decisions &d, Optimizer optimizer, Precision precision,
                  GradientType gradDtype) {
  Plan plan;
  plan.precision = precision;
  plan.origin.gradDtype = gradDtype;
  plan.decisions = d;
  plan.optimizer = optimizer.kind;
  plan.optimizerState = optimizer.state;
  return plan;
}

ProgramMemory::ProgramMemory(ModuleOp model, Optimizer optimizer, Precision precision,
                             GradientType gradDtype, bool onGpu)
    : optimizer(optimizer), precision(precision), gradDtype(gradDtype), onGpu(onGpu) {
  FoldedModel folded = foldLayers(model, kLayers);
  auto numLayers = static_cast<int64_t>(folded.chain.size());
  isChain = folded.blocks.size() == 1;
  shortModel = std::move(folded.module);
  int layer = 0;
  auto loss = shortModel->lookupSymbol<graph::FuncOp>(graph::kLossFunction);
  for (auto call : loss.getBody().getOps<graph::BlockCallOpInterface>())
    for (int64_t execution = 0; execution < call.getNumExecutions(); ++execution, ++layer)
      for (Value operand : call->getOperands())
        if (auto get = operand.getDefiningOp<graph::GetOp>(); get && get->hasOneUse())
          layers[isa<graph::StackType>(get.getType())
                     ? graph::memberName(get.getSymbol(), execution)
                     : get.getSymbol().str()] = layer;
  copies = numLayers - layer; // two repeats of one block keep some layers each
  ofSample = inputsOfSample(loss);
}

bool ProgramMemory::isPlanned(const Decisions &d) const {
  return isChain && isExecutable(d) && !d.mayRecomputeMore() && d.pp == 1;
}

std::optional<MemoryParts>
ProgramMemory::of(const Decisions &d, const SearchedPlacements &placements, double goodEnough) {
  if (!isPlanned(d))
    return std::nullopt;
  Decisions few = d;
  few.numMicroBatches = std::min(d.numMicroBatches, kMicroBatches);
  auto [entry, isNew] = known.try_emplace(keyOf(KeptResult::Program, few));
  if (isNew)
    entry->second = bytesOf(few, placements, samplesOf(d), goodEnough);
  const std::optional<Bytes> &bytes = entry->second;
  if (!bytes)
    return std::nullopt;
  MemoryParts parts = partsOf(bytes->onDevice, samplesOf(d) / samplesOf(few));
  parts.onHost = static_cast<double>(bytes->onHost);
  return parts;
}

double ProgramMemory::leastBytes(const Decisions &d, const SearchedPlacements &placements) {
  Decisions least = d;
  least.recompute = d.recomputeMost;
  if (!isPlanned(least))
    return 0;
  least.numMicroBatches = std::min(d.numMicroBatches, kMicroBatches);
  // Some placements divide micro-batches: there is none of one sample.
  for (int64_t microBatch : {int64_t(1), d.microBatch}) {
    least.microBatch = microBatch;
    if (const std::optional<BytesByKind> &live = liveOf(least, placements))
      return partsOf(*live, samplesOf(d) / samplesOf(least)).total();
  }
  return 0;
}

const std::optional<BytesByKind> &ProgramMemory::liveOf(const Decisions &d,
                                                        const SearchedPlacements &placements) {
  auto [entry, isNew] = knownLive.try_emplace(keyOf(KeptResult::Program, d));
  if (!isNew)
    return entry->second;
  auto [outline, isNewOutline] = knownOutlines.try_emplace(outlineKeyOf(d));
  if (isNewOutline)
    outline->second = outlineOf(d, placements);
  if (outline->second) {
    StepOutline aside = *outline->second;
    runAside(aside, d);
    entry->second = mostLiveBytes(aside);
  }
  return entry->second;
}

Decisions ProgramMemory::outlineKeyOf(Decisions d) {
  if (d.zero < 2) { // buckets are of what a step sends once
    d.overlapGradients = false;
    d.bucketBytes = 0;
  }
  return keyOf(KeptResult::Program, d);
}

std::optional<OutlinedProgram> ProgramMemory::readShort(const Decisions &d,
                                                        const SearchedPlacements &placements) {
  ++lowered;
  ScheduleOptions options = scheduleOptions(d);
  options.onGpu = onGpu;
  // Collectives that run once per step are merged and moved to their streams later, when all layers
  // exist.
  options.once = options.roll = options.planMemory = options.check = false;
  Plan plan = compiledPlan(d, optimizer, precision, gradDtype);
  if (!placeTensors(*shortModel, plan, placements))
    return std::nullopt;
  OwningOpRef<ModuleOp> module = scheduleStep(*shortModel, plan, /*settings=*/{}, options);
  if (!module)
    return std::nullopt;
  return readOutline(*module->getOps<exec::ProgramOp>().begin(), layers);
}

int64_t ProgramMemory::instructionsOfLayer() {
  Decisions d;
  d.numMicroBatches = kMicroBatches;
  std::optional<OutlinedProgram> program = isPlanned(d) ? readShort(d, {}) : std::nullopt;
  int64_t count = 0;
  if (program)
    for (const LayerRun &run : program->runs)
      if (run.end <= program->outline.lastRepeated)
        count += run.end - run.begin;
  return count;
}

std::optional<StepOutline> ProgramMemory::outlineOf(const Decisions &d,
                                                    const SearchedPlacements &placements) {
  std::optional<OutlinedProgram> program = readShort(d, placements);
  if (!program || (copies > 0 && program->runs.empty()))
    return std::nullopt;
  StepOutline outline = repeatMiddleLayer(program->outline, program->runs, copies);
  for (auto [bytes, ofLayer] : llvm::zip(outline.persistent, program->middlePersistent))
    bytes += copies * ofLayer;
  outline.persistentOnHost += copies * program->middleOnHost;
  keepSums(outline);
  return outline;
}

std::optional<ProgramMemory::Bytes> ProgramMemory::bytesOf(const Decisions &d,
                                                           const SearchedPlacements &placements,
                                                           double samples, double goodEnough) {
  auto found = knownOutlines.find(outlineKeyOf(d));
  std::optional<StepOutline> outline =
      found != knownOutlines.end() ? found->second : outlineOf(d, placements);
  if (!outline)
    return std::nullopt;
  runAside(*outline, d);
  // Memory beside the arena of these few samples: persistent buffers and the other samples' tokens.
  BytesByKind kept = outline->persistent, live = mostLiveBytes(*outline);
  double tokens = static_cast<double>(live[static_cast<size_t>(exec::BufferKind::Input)]);
  double beside = partsOf(kept, 1).total() + tokens * (samples / samplesOf(d) - 1);
  auto arena = static_cast<int64_t>(std::max(0.0, goodEnough - beside));
  return Bytes{plannedBytes(*outline, arena), plannedOnHost(*outline)};
}

} // namespace dtc
