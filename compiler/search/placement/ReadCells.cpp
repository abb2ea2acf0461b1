// Partitions the folded model and hands its functions to the cell builder.
#include "compiler/search/placement/ReadCells.h"

#include "compiler/price/workload/CellBuilder.h"
#include "compiler/price/workload/DimRoles.h"
#include "compiler/search/placement/PlaceStep.h"
#include "dialects/graph/RouteOps.h"
#include "passes/Pipelines.h"
#include "passes/graph/ExchangeRows.h"
#include "passes/graph/LossScale.h"
#include "passes/shard/StepMesh.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace dtc {
namespace {

// Not 1, so that no dim of the batch folds away.
constexpr int64_t kSamples = 2;

StepOptions stepOptions(int64_t exchangeRanks) {
  StepOptions step;
  step.batch = kSamples * exchangeRanks;
  step.ranks = exchangeRanks;
  return step;
}

template <typename Add> LogicalResult runPasses(ModuleOp module, Add add) {
  PassManager passes(module.getContext());
  passes.enableVerifier(false);
  add(passes);
  return passes.run(module);
}

// Calls that tell which parameters have the same placement are in the folded model alone, so they
// are placed there.
void placeAsFolded(ModuleOp step, ModuleOp folded,
                   const std::map<std::string, std::vector<int64_t>> &parameters,
                   const Mesh &mesh) {
  OwningOpRef<ModuleOp> placed(folded.clone());
  placeParameters(*placed, parameters, mesh);
  SymbolTable symbols(*placed);
  for (auto parameter : step.getOps<graph::ParameterOp>())
    parameter.setPlacementAttr(
        symbols.lookup<graph::ParameterOp>(parameter.getSymName()).getPlacementAttr());
}

// Splits the weights of experts over the ranks that rows are exchanged among.
void placeExperts(ModuleOp step, const Mesh &mesh) {
  SmallVector<unsigned, 1> axes = mesh.axesOf(AxisRole::Expert);
  if (axes.empty())
    return;
  DimRoles roles(step, graph::kMicrobatchFunction);
  SymbolTable symbols(step);
  auto microbatch = symbols.lookup<graph::FuncOp>(graph::kMicrobatchFunction);
  for (auto get : microbatch.getBody().getOps<graph::GetOp>()) {
    auto parameter = symbols.lookup<graph::ParameterOp>(get.getSymbol());
    for (auto [dim, bits] : llvm::enumerate(roles.of(get.getResult()))) {
      if (!parameter || !(bits & ScalesWithExperts))
        continue;
      Placement placement = fromAttr(parameter.getPlacementAttr(), mesh);
      placement[axes.front()] = AxisPlacement::shard(static_cast<int64_t>(dim));
      parameter.setPlacementAttr(toAttr(step.getContext(), placement));
    }
  }
}

LogicalResult partition(ModuleOp step, ModuleOp folded, int64_t tp, bool sequenceParallel,
                        const SearchedPlacements &placements, int64_t exchangeRanks) {
  Mesh mesh = stepMesh(folded, {.dp = exchangeRanks, .tp = tp, .ep = exchangeRanks});
  placeAsFolded(step, folded, placements.parameters, mesh);
  placeExperts(step, mesh);
  writeMesh(step, mesh);
  if (sequenceParallel)
    step->setAttr(graph::kSequenceParallelAttr, UnitAttr::get(step.getContext()));
  if (failed(placeStep(step, placements.splits)))
    return failure();
  return runPasses(step, addShardPhase);
}

} // namespace

FoldedModel foldFor(ModuleOp model, Precision precision) {
  FoldedModel folded = foldLayers(model);
  if (precision == Precision::F16)
    declareLossScale(*folded.module);
  return folded;
}

OwningOpRef<ModuleOp> differentiateFolded(ModuleOp folded, const RowExchange &exchange) {
  OwningOpRef<ModuleOp> module(folded.clone());
  if (exchange.ranks > 1 && failed(exchangeRows(*module, exchange)))
    return nullptr;
  auto addPhase = [&](OpPassManager &p) { addGraphPhase(p, stepOptions(exchange.ranks)); };
  if (failed(runPasses(*module, addPhase)))
    return nullptr;
  return module;
}

RowExchange rowExchangeOf(const FoldedModel &model, const Decisions &d) {
  if (d.ep == 1 || d.cp > 1 || d.foldedExperts)
    return {};
  ModuleOp module = *model.module;
  WalkResult found = module.walk([](graph::PlaceRowsOp) { return WalkResult::interrupt(); });
  return found.wasInterrupted() ? RowExchange{d.ep, d.expertRoomPerMille} : RowExchange();
}

std::optional<ModelCells> readCells(const FoldedModel &model, int64_t tp, bool sequenceParallel,
                                    const SearchedPlacements &placements, bool foldsExperts,
                                    const RowExchange &exchange) {
  OwningOpRef<ModuleOp> differentiated = differentiateFolded(*model.module, exchange);
  return differentiated ? readCells(model, *differentiated, tp, sequenceParallel, placements,
                                    foldsExperts, exchange.ranks)
                        : std::nullopt;
}

std::optional<ModelCells> readCells(const FoldedModel &model, ModuleOp differentiated, int64_t tp,
                                    bool sequenceParallel, const SearchedPlacements &placements,
                                    bool foldsExperts, int64_t exchangeRanks) {
  OwningOpRef<ModuleOp> module(differentiated.clone());
  if (failed(partition(*module, *model.module, tp, sequenceParallel, placements, exchangeRanks)))
    return std::nullopt;
  ModelCells cells = CellBuilder(*module, kSamples, foldsExperts, exchangeRanks).build();
  cells.tp = tp;
  cells.sequenceParallel = sequenceParallel;
  cells.foldsExperts = foldsExperts;
  cells.chain = model.chain;
  // The first stage has them, whole on each rank of tensor parallelism.
  cells.embedding.parameters.parts[0] += model.unread;
  cells.embedding.frozen.parts[0] += model.unreadFrozen;
  return cells;
}

} // namespace dtc
