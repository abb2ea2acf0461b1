// Memory of programs that dtc compiles, before they are compiled.
#include "compiler/memory/ProgramMemory.h"

#include "compiler/memory/StaticMemory.h"
#include "compiler/placement/ReadCells.h"
#include "compiler/plan/Executable.h"
#include "compiler/plan/ScheduleDecisions.h"
#include "dialects/graph/Declaration.h"
#include "passes/Pipelines.h"
#include "passes/schedule/Passes.h"

using namespace mlir;

namespace dtc {
namespace {

constexpr int64_t kLayers = 3; // of the short model: a first, a middle and a last one
// Of a step with more, the second micro-batch is like all that follow.
constexpr int64_t kMicroBatches = 2;

} // namespace

Plan compiledPlan(const Decisions &d, const std::string &optimizer, const std::string &precision,
                  const std::string &gradDtype) {
  Plan plan;
  plan.precision = precision;
  plan.origin.gradDtype = gradDtype;
  plan.decisions = d;
  plan.optimizer = optimizer;
  return plan;
}

ProgramMemory::ProgramMemory(ModuleOp model, std::string optimizer, std::string precision,
                             std::string gradDtype, bool onGpu)
    : optimizer(std::move(optimizer)), precision(std::move(precision)),
      gradDtype(std::move(gradDtype)), onGpu(onGpu) {
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
}

std::optional<MemoryParts> ProgramMemory::of(const Decisions &d,
                                             const SearchedPlacements &placements) {
  if (!isChain || !isExecutable(d) || d.mayRecomputeMore() || d.pp > 1)
    return std::nullopt;
  int64_t microBatches = std::min(d.numMicroBatches, kMicroBatches);
  Key key{d.dp,
          d.tp,
          d.sequenceParallel,
          d.placement,
          d.zero,
          d.zeroGroup,
          d.microBatch,
          microBatches,
          d.recompute,
          d.overlapGradients,
          d.bucketBytes,
          d.offloadOptimizer};
  auto [entry, isNew] = known.try_emplace(key);
  if (isNew)
    entry->second = bytesOf(d, placements, microBatches);
  const std::optional<Bytes> &bytes = entry->second;
  if (!bytes)
    return std::nullopt;
  auto ofKind = [&](exec::BufferKind kind) {
    return static_cast<double>(bytes->onDevice[static_cast<size_t>(kind)]);
  };
  MemoryParts parts;
  parts.parameters = ofKind(exec::BufferKind::Parameter);
  parts.gradients = ofKind(exec::BufferKind::Gradient);
  parts.optimizer = ofKind(exec::BufferKind::Optimizer);
  parts.temporaries = ofKind(exec::BufferKind::Temporary);
  parts.communication = ofKind(exec::BufferKind::Communication);
  // Tokens of all micro-batches of a step are there from its start.
  parts.activations = ofKind(exec::BufferKind::Activation) + ofKind(exec::BufferKind::Output) +
                      ofKind(exec::BufferKind::Input) * static_cast<double>(d.numMicroBatches) /
                          static_cast<double>(microBatches);
  parts.onHost = static_cast<double>(bytes->onHost);
  return parts;
}

std::optional<ProgramMemory::Bytes> ProgramMemory::bytesOf(const Decisions &d,
                                                           const SearchedPlacements &placements,
                                                           int64_t microBatches) {
  std::optional<OutlinedProgram> program;
  ScheduleOptions options = scheduleOptions(d);
  options.onGpu = onGpu;
  ScheduleOptions outlined = options;
  // What a step sends once is merged and put aside when all layers are there.
  outlined.once = outlined.roll = false;
  auto read = [&](exec::ProgramOp op) { program = readOutline(op, layers); };
  Plan plan = compiledPlan(d, optimizer, precision, gradDtype);
  plan.decisions.numMicroBatches = microBatches;
  if (!placeTensors(*shortModel, plan, placements) ||
      !scheduleStep(*shortModel, plan, outlined, read) || !program)
    return std::nullopt;
  if (copies > 0 && program->runs.empty())
    return std::nullopt;
  StepOutline outline = repeatMiddleLayer(program->outline, program->runs, copies);
  for (auto [bytes, ofLayer] : llvm::zip(outline.persistent, program->middlePersistent))
    bytes += copies * ofLayer;
  outline.persistentOnHost += copies * program->middleOnHost;
  keepSums(outline);
  if (options.overlap)
    runCollectivesAside(outline, options.bucketBytes, AssignStreamsOptions().inFlight);
  return Bytes{plannedBytes(outline), plannedOnHost(outline)};
}

} // namespace dtc
