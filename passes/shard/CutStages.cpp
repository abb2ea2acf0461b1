// Cuts a step into the programs of pipeline stages (pass dtc-cut-stages).
#include "dialects/graph/StepWeights.h"
#include "passes/shard/CutMicrobatch.h"
#include "passes/shard/CutUpdate.h"
#include "passes/shard/Passes.h"

namespace dtc {
#define GEN_PASS_DEF_CUTSTAGES
#include "passes/shard/Passes.h.inc"

using namespace mlir;

namespace {

class StageCutter {
public:
  StageCutter(ModuleOp module, ArrayRef<int64_t> stageOfChunk)
      : module(module), numStages(*llvm::max_element(stageOfChunk) + 1),
        microbatch(module.lookupSymbol<graph::FuncOp>(graph::kMicrobatchFunction), stageOfChunk),
        update(module.lookupSymbol<graph::FuncOp>(graph::kUpdateFunction), numStages,
               {[this](StringRef parameter) -> const std::set<int64_t> & {
                  return microbatch.stagesOf(parameter);
                },
                [this](StringRef sum) { return microbatch.stageOfSum(sum); }}) {}

  LogicalResult run() {
    if (failed(microbatch.run()) || failed(update.run()))
      return failure();
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    for (int64_t stage = 0; stage < numStages; ++stage)
      build(builder, stage);
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (isa<graph::FuncOp, graph::ParameterOp, graph::StateOp>(op))
        op.erase();
    return success();
  }

private:
  void build(OpBuilder &builder, int64_t stage) {
    auto nested = ModuleOp::create(builder, module.getLoc(), ("stage_" + Twine(stage)).str());
    for (NamedAttribute attribute : module->getAttrs())
      if (attribute.getName() != SymbolTable::getSymbolAttrName())
        nested->setAttr(attribute.getName(), attribute.getValue());
    nested->setAttr(graph::kStageAttr, builder.getI64IntegerAttr(stage));
    OpBuilder inside = OpBuilder::atBlockEnd(nested.getBody());
    // Adds '@prepare' and its state to the stage that reads the state.
    bool isPrepared = microbatch.stagesOf(graph::kWeightScaleState).count(stage);
    for (Operation &op : *module.getBody()) {
      auto state = dyn_cast<graph::StateOp>(op);
      if (isa<ModuleOp, graph::FuncOp>(op) ||
          (state && state.getSymName() == graph::kWeightScaleState && !isPrepared))
        continue;
      std::optional<StringRef> parameter = state ? state.getParameter() : std::nullopt;
      if (auto own = dyn_cast<graph::ParameterOp>(op))
        parameter = own.getSymName();
      if (!parameter || microbatch.stagesOf(*parameter).count(stage))
        inside.clone(op);
    }
    auto prepare = module.lookupSymbol<graph::FuncOp>(graph::kPrepareFunction);
    if (prepare && isPrepared)
      inside.clone(*prepare);
    for (graph::FuncOp func : {microbatch.build(inside, stage), update.build(inside, stage)})
      copyBlocks(func, inside, nested);
  }

  // Copies the blocks that `func` calls, and those that they call.
  void copyBlocks(graph::FuncOp func, OpBuilder &inside, ModuleOp nested) {
    func.walk([&](graph::BlockCallOpInterface call) {
      if (nested.lookupSymbol(call.getBlockName()))
        return;
      auto block = module.lookupSymbol<graph::FuncOp>(call.getBlockName());
      copyBlocks(cast<graph::FuncOp>(inside.clone(*block)), inside, nested);
    });
  }

  ModuleOp module;
  int64_t numStages;
  MicrobatchCut microbatch;
  UpdateCut update;
};

struct CutStages : impl::CutStagesBase<CutStages> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto stages = module->getAttrOfType<DenseI64ArrayAttr>(graph::kStageOfChunkAttr);
    if (!stages || stages.empty())
      return;
    for (StringRef name : {graph::kMicrobatchFunction, graph::kUpdateFunction})
      if (!module.lookupSymbol<graph::FuncOp>(name)) {
        module.emitError("dtc-cut-stages needs '@microbatch' and '@update'; run dtc-partition "
                         "first");
        return signalPassFailure();
      }
    if (failed(StageCutter(module, stages.asArrayRef()).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace dtc
