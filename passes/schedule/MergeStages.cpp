// Merges the programs of a pipeline's stages into one module (pass dtc-merge-stages).
#include "dialects/graph/FunctionBodies.h"
#include "dialects/graph/Graph.h"
#include "passes/schedule/Passes.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"

namespace dtc {
#define GEN_PASS_DEF_MERGESTAGES
#include "passes/schedule/Passes.h.inc"
} // namespace dtc

using namespace mlir;
using namespace dtc;

namespace {
class StageMerger {
public:
  explicit StageMerger(ModuleOp module) : module(module), kernels(module, "kernel_") {}

  // Moves the program and the kernels out of the module of a stage.
  LogicalResult take(ModuleOp nested, int64_t stage) {
    auto programs = llvm::to_vector(nested.getOps<exec::ProgramOp>());
    if (programs.size() != 1)
      return nested.emitOpError() << "has " << programs.size()
                                  << " programs; want the one of its stage";
    llvm::StringMap<std::string> names; // names of its kernels in the outer module
    for (auto function : llvm::make_early_inc_range(nested.getOps<graph::FuncOp>()))
      if (function.getKernel()) {
        std::string name = function.getSymName().str();
        function->remove();
        names[name] = kernels.getOrAdd(function).getSymName().str();
      }
    exec::ProgramOp program = programs.front();
    program.walk([&](Operation *op) {
      if (auto kernel = dyn_cast<exec::KernelOp>(op))
        kernel.setSymName(names.lookup(kernel.getSymName()));
      else if (auto launch = dyn_cast<exec::LaunchOp>(op))
        launch.setKernel(names.lookup(launch.getKernel()));
    });
    program->moveBefore(module.getBody(), module.getBody()->end());
    program.setSymName("stage_" + std::to_string(stage));
    if (auto grid = nested.lookupSymbol<shard::GridOp>(graph::kMeshName);
        grid && !module.lookupSymbol(graph::kMeshName))
      grid->moveBefore(module.getBody(), module.getBody()->begin());
    return success();
  }

  unsigned numShared() const { return kernels.numShared(); }

private:
  ModuleOp module;
  graph::KernelPool kernels;
};

struct MergeStages : dtc::impl::MergeStagesBase<MergeStages> {
  void runOnOperation() override {
    std::map<int64_t, ModuleOp> stages;
    for (auto nested : getOperation().getOps<ModuleOp>())
      if (auto stage = nested->getAttrOfType<IntegerAttr>(graph::kStageAttr))
        stages[stage.getInt()] = nested;
    StageMerger merger(getOperation());
    for (auto [stage, nested] : stages) {
      if (failed(merger.take(nested, stage)))
        return signalPassFailure();
      nested.erase();
    }
    shared += merger.numShared();
  }
};
} // namespace
