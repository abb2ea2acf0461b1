// Lowers kernel functions to loops, vectors or the LLVM dialect (pass dtc-lower-kernels).
#include "passes/codegen/KernelBuilder.h"
#include "passes/codegen/KernelLowering.h"
#include "passes/codegen/Passes.h"

namespace dtc {
#define GEN_PASS_DEF_LOWERKERNELS
#include "passes/codegen/Passes.h.inc"
} // namespace dtc

using namespace mlir;
using namespace dtc;

namespace {

struct LowerKernels : dtc::impl::LowerKernelsBase<LowerKernels> {
  using LowerKernelsBase::LowerKernelsBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registerLoweringDialects(registry);
    registerKernelInterfaces(registry);
  }

  // The module then holds what the kernels became and nothing else.
  LogicalResult lower(ModuleOp module) {
    OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
    if (failed(convertKernels(module, *kernels)))
      return failure();
    module.getBodyRegion().takeBody(kernels->getBodyRegion());
    if (to == "buffers")
      return success();
    if (failed(vectorizeKernels(module)))
      return failure();
    shareRandomWords(module);
    OpPassManager passes(ModuleOp::getOperationName());
    if (to == "llvm")
      buildLlvmPipeline(passes);
    if (failed(runPipeline(passes, module)))
      return failure();
    addKernelEntries(module);
    return success();
  }

  void runOnOperation() override {
    if (to != "buffers" && to != "vectors" && to != "llvm") {
      getOperation().emitError() << "cannot lower kernels to '" << to.getValue()
                                 << "'; the stages are 'buffers', 'vectors' and 'llvm'";
      return signalPassFailure();
    }
    if (failed(lower(getOperation())))
      signalPassFailure();
  }
};

} // namespace
