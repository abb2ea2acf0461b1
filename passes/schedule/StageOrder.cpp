// Reads the attributes of a pipeline stage's module.
#include "passes/schedule/StageOrder.h"

#include "dialects/graph/Chunks.h"
#include "dialects/graph/StageAttributes.h"
#include "dialects/graph/TransferOps.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"

#include <map>
#include <set>

using namespace mlir;
using namespace dtc;

FailureOr<StageRanks> StageRanks::read(ModuleOp module, Operation *op) {
  StageRanks ranks;
  ranks.context = module.getContext();
  auto grid = module.lookupSymbol<shard::GridOp>(graph::kMeshName);
  auto roles = grid ? grid->getAttrOfType<ArrayAttr>(graph::kAxisRolesAttr) : ArrayAttr();
  if (roles)
    for (auto [axis, role] : llvm::enumerate(roles.getAsValueRange<StringAttr>()))
      if (role == graph::stringifyAxisRole(graph::AxisRole::Pipeline)) {
        ranks.axis = axis;
        ranks.sizes = llvm::to_vector(grid.getShape());
      }
  if (ranks.sizes.empty())
    return op->emitOpError() << "is of a stage, but no axis of the mesh has the role 'pipeline'";
  return ranks;
}

SmallVector<int64_t> StageRanks::of(int64_t stage) const {
  int64_t numRanks = 1, inside = 1;
  for (auto [index, size] : llvm::enumerate(sizes)) {
    numRanks *= size;
    inside *= index > axis ? size : 1;
  }
  SmallVector<int64_t> ranks;
  for (int64_t rank = 0; rank < numRanks; ++rank)
    if (rank / inside % sizes[axis] == stage)
      ranks.push_back(rank);
  return ranks;
}

exec::RanksAttr StageRanks::listsOf(StringRef name, ArrayRef<int64_t> stages) const {
  std::vector<SmallVector<int64_t>> ofStage;
  for (int64_t stage : stages)
    ofStage.push_back(of(stage));
  SmallVector<int64_t> members;
  for (size_t i = 0; i < ofStage.front().size(); ++i)
    for (const SmallVector<int64_t> &ranks : ofStage)
      members.push_back(ranks[i]);
  return exec::RanksAttr::get(context, name, static_cast<int64_t>(stages.size()), members);
}

FailureOr<std::optional<StageOrder>> StageOrder::read(ModuleOp module, int64_t microBatches) {
  auto stage = module->getAttrOfType<IntegerAttr>(graph::kStageAttr);
  if (!stage)
    return std::optional<StageOrder>();
  auto triples = module->getAttrOfType<DenseI64ArrayAttr>(graph::kOrderAttr);
  if (!triples || triples.empty())
    return module.emitOpError() << "is stage " << stage.getInt() << " of a pipeline, but has no '"
                                << graph::kOrderAttr << "'";
  StageOrder order;
  order.stage = stage.getInt();
  std::map<std::pair<int64_t, int64_t>, int64_t> counts; // keyed by kind and chunk
  std::set<std::tuple<int64_t, int64_t, int64_t>> seen;
  for (int64_t i = 0; i < triples.size(); i += 3) {
    int64_t kind = triples[i], chunk = triples[i + 1], microBatch = triples[i + 2];
    if (kind > SendBackward || microBatch >= microBatches ||
        !seen.insert({kind, chunk, microBatch}).second)
      return module.emitOpError() << "has '" << graph::kOrderAttr << "' with " << kind
                                  << " of chunk " << chunk << " and micro-batch " << microBatch
                                  << ", which is of no kind, one of " << microBatches
                                  << " too many, or there twice";
    ++counts[{kind, chunk}];
    order.runs.push_back({static_cast<Kind>(kind), chunk, microBatch});
  }
  for (auto [run, count] : counts)
    if (count != microBatches)
      return module.emitOpError() << "has '" << graph::kOrderAttr << "' with " << count << " of "
                                  << microBatches << " micro-batches of chunk " << run.second;
  if (llvm::none_of(order.runs, [](const Run &run) { return run.kind > WeightGradients; }))
    order.addTransfers();
  else if (failed(order.checkTransfers(module)))
    return failure();
  return std::optional<StageOrder>(std::move(order));
}

// Puts the transfers of each run next to it, whether or not there are any.
void StageOrder::addTransfers() {
  std::vector<Run> all;
  for (const Run &run : runs) {
    if (run.kind == WeightGradients) {
      all.push_back(run);
      continue;
    }
    bool isForward = run.kind == Forward;
    all.push_back({isForward ? ReceiveForward : ReceiveBackward, run.chunk, run.microBatch});
    all.push_back(run);
    all.push_back({isForward ? SendForward : SendBackward, run.chunk, run.microBatch});
  }
  runs = std::move(all);
}

// Fails if an order that has transfers lacks those of a chunk.
LogicalResult StageOrder::checkTransfers(ModuleOp module) const {
  WalkResult result = module.walk([&](Operation *op) {
    std::optional<graph::ChunkLabel> label = graph::getChunkLabel(op);
    if (!isa<graph::SendOp, graph::ReceiveOp>(op) || !label)
      return WalkResult::advance();
    Kind kind = isa<graph::SendOp>(op) ? (label->isBackward ? SendBackward : SendForward)
                                       : (label->isBackward ? ReceiveBackward : ReceiveForward);
    if (llvm::any_of(runs,
                     [&](const Run &run) { return run.kind == kind && run.chunk == label->chunk; }))
      return WalkResult::advance();
    op->emitOpError() << "is of chunk " << label->chunk << ", for which '" << graph::kOrderAttr
                      << "' of its stage has no such transfer, while it has others";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

bool StageOrder::splitsBackward() const {
  return llvm::any_of(runs, [](const Run &run) { return run.kind == WeightGradients; });
}

int64_t StageOrder::getInFlight(int64_t chunk) const {
  Kind last = splitsBackward() ? WeightGradients : Backward;
  int64_t now = 0, most = 0;
  for (const Run &run : runs) {
    if (run.chunk != chunk)
      continue;
    now += run.kind == Forward;
    most = std::max(most, now);
    now -= run.kind == last;
  }
  return most;
}

std::vector<StageOrder::Run> StageOrder::getWay() const {
  std::vector<Run> way;
  llvm::copy_if(runs, std::back_inserter(way), [](const Run &run) { return run.microBatch == 0; });
  return way;
}
