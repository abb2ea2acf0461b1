// Writes into a model how a plan treats its layers.
#include "compiler/decide/plan/ApplyLayers.h"

#include "compiler/decide/decisions/Words.h"
#include "dialects/graph/Chunks.h"
#include "passes/graph/SplitRepeats.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace dtc {
namespace {

// The decisions of a plan about one layer.
struct LayerChoice {
  int64_t chunk = 0; // index in the pipeline, in model order
  std::string recompute = "none";
  bool operator==(const LayerChoice &) const = default;
};

// Returns the decisions about every layer, in order.
std::vector<LayerChoice> layersOf(const Plan &plan) {
  struct Run {
    int64_t first;
    std::vector<LayerChoice> layers;
  };
  std::vector<Run> runs;
  for (const PlanStage &stage : plan.stages) {
    auto chunks = stage.chunks;
    if (chunks.empty())
      chunks.push_back({stage.firstLayer, stage.lastLayer});
    size_t next = 0; // index in the stage's layers
    for (auto [first, last] : chunks) {
      runs.push_back({first, {}});
      for (int64_t layer = first; layer <= last; ++layer, ++next)
        runs.back().layers.push_back(
            {0, next < stage.recompute.size() ? stage.recompute[next] : "none"});
    }
  }
  // A run without layers begins with that of the run after it.
  llvm::sort(runs, [](const Run &a, const Run &b) {
    return std::pair(a.first, a.layers.size()) < std::pair(b.first, b.layers.size());
  });
  std::vector<LayerChoice> layers;
  for (auto [chunk, run] : llvm::enumerate(runs))
    for (LayerChoice &layer : run.layers) {
      layer.chunk = static_cast<int64_t>(chunk);
      layers.push_back(layer);
    }
  return layers;
}

// The stage of every chunk; fails where the plan has layers of a chunk on another one.
FailureOr<SmallVector<int64_t>> stagesOfChunks(ModuleOp module, const Plan &plan) {
  const Decisions &d = plan.decisions;
  SmallVector<int64_t> stages, firstLayers;
  for (int64_t chunk = 0; chunk < d.pp * d.virtualStages; ++chunk)
    stages.push_back(stageOfChunk(d.schedule, static_cast<int>(d.pp), static_cast<int>(chunk)));
  SmallVector<size_t> next(static_cast<size_t>(d.pp), 0);
  int64_t layer = 0;
  for (auto [chunk, stage] : llvm::enumerate(stages)) {
    const PlanStage &of = plan.stages[static_cast<size_t>(stage)];
    size_t index = next[static_cast<size_t>(stage)]++;
    auto run = of.chunks.empty() ? std::pair(of.firstLayer, of.lastLayer) : of.chunks[index];
    if (run.first != layer)
      return module.emitError("the plan has layers from ")
             << run.first << " on in stage " << stage << ", where chunk " << chunk << " of a '"
             << toString(d.schedule) << "' pipeline begins with layer " << layer
             << "; correct 'chunks' in the plan, or plan this model again with 'dtc plan'";
    layer = run.second + 1;
  }
  return stages;
}

// Labels every op of '@loss' that depends on a parameter: what is before the layers with the first
// of `chunks`, what is behind them with the last.
void labelChunks(ModuleOp module, graph::FuncOp loss, ArrayRef<LayerChoice> layers, size_t chunks) {
  llvm::DenseSet<Value> trained; // or made of what is
  int64_t chunk = 0;
  size_t layer = 0;
  for (Operation &op : loss.getBody().front().without_terminator()) {
    if (isa<graph::GetOp>(op)) {
      trained.insert(op.getResult(0));
      continue;
    }
    auto call = dyn_cast<graph::BlockCallOpInterface>(op);
    if (call) {
      chunk = layers[layer].chunk;
      layer += static_cast<size_t>(call.getNumExecutions());
    } else if (layer == layers.size())
      chunk = static_cast<int64_t>(chunks) - 1;
    if (!call &&
        llvm::none_of(op.getOperands(), [&](Value value) { return trained.contains(value); }))
      continue;
    graph::setChunk(&op, chunk);
    trained.insert(op.result_begin(), op.result_end());
    for (Value operand : op.getOperands())
      if (auto get = operand.getDefiningOp<graph::GetOp>();
          get && isa<graph::StackType>(get.getType()))
        graph::setChunk(module.lookupSymbol(get.getSymbol()), chunk);
  }
}

} // namespace

LogicalResult applyToLayers(ModuleOp module, const Plan &plan) {
  if (plan.stages.empty() && plan.decisions.pp > 1) // a plan of a search has no stages yet
    return success();
  auto loss = module.lookupSymbol<graph::FuncOp>(graph::kLossFunction);
  int64_t count = 0;
  for (auto call : loss.getBody().getOps<graph::BlockCallOpInterface>())
    count += call.getNumExecutions();
  std::vector<LayerChoice> layers = layersOf(plan);
  if (plan.stages.empty()) // a plan of a search treats all layers equally
    layers.assign(static_cast<size_t>(count), {0, toString(plan.decisions.recompute).str()});
  if (count != static_cast<int64_t>(layers.size()))
    return module.emitError("the plan has ") << layers.size() << " layers, and the model " << count
                                             << "; plan this model again with 'dtc plan'";
  SmallVector<int64_t> boundaries;
  for (size_t layer = 1; layer < layers.size(); ++layer)
    if (layers[layer] != layers[layer - 1])
      boundaries.push_back(static_cast<int64_t>(layer));
  if (failed(splitRepeats(module, boundaries)))
    return failure();
  size_t next = 0;
  for (auto call : loss.getBody().getOps<graph::BlockCallOpInterface>()) {
    if (layers[next].recompute != "none")
      call->setAttr(graph::kRecomputeAttr,
                    StringAttr::get(module.getContext(), layers[next].recompute));
    next += static_cast<size_t>(call.getNumExecutions());
  }
  if (plan.decisions.pp == 1)
    return success();
  FailureOr<SmallVector<int64_t>> stages = stagesOfChunks(module, plan);
  if (failed(stages))
    return failure();
  module->setAttr(graph::kStageOfChunkAttr,
                  Builder(module.getContext()).getDenseI64ArrayAttr(*stages));
  labelChunks(module, loss, layers, stages->size());
  return success();
}

} // namespace dtc
