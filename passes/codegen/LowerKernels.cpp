// Lowers kernel functions to loops, vectors or the LLVM dialect (pass dtc-lower-kernels).
#include "passes/codegen/ConvertKernels.h"
#include "passes/codegen/GpuKernelLibrary.h"
#include "passes/codegen/GpuPointwise.h"
#include "passes/codegen/KernelBuilder.h"
#include "passes/codegen/KernelInterfaces.h"
#include "passes/codegen/KernelSide.h"
#include "passes/codegen/LoopsToLlvm.h"
#include "passes/codegen/Passes.h"
#include "passes/codegen/Processor.h"
#include "passes/codegen/PtxCode.h"
#include "passes/codegen/RandomWords.h"
#include "passes/codegen/VectorizeKernels.h"
#include "llvm/Support/raw_ostream.h"

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
    registerGpuTranslations(registry);
  }

  // Replaces the contents of the module by the lowered kernels.
  LogicalResult lower(ModuleOp module) {
    Processor processor = target == "cpu" ? Processor::Cpu : Processor::Gpu;
    OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
    KernelSide side = processor == Processor::Gpu ? KernelSide::Device : KernelSide::Any;
    if (failed(convertKernels(module, *kernels, processor, side)))
      return failure();
    module.getBodyRegion().takeBody(kernels->getBodyRegion());
    if (to == "buffers")
      return success();
    if (processor == Processor::Gpu)
      return lowerForGpu(module);
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

  LogicalResult lowerForGpu(ModuleOp module) {
    if (failed(emitGpuPointwise(module)))
      return failure();
    if (to == "vectors")
      return success();
    inlineRandomWords(module);
    OpPassManager passes(ModuleOp::getOperationName());
    buildLlvmPipeline(passes, Processor::Gpu);
    if (failed(runPipeline(passes, module)))
      return failure();
    markGpuKernels(module);
    return to == "llvm" ? success() : printPtx(module);
  }

  LogicalResult printPtx(ModuleOp module) {
    auto device = translateGpuKernels(module);
    if (failed(device))
      return failure();
    auto ptx = compilePtx(*device->module, *readGpuTarget(target));
    if (!ptx)
      return module.emitError() << llvm::toString(ptx.takeError());
    llvm::outs() << *ptx;
    module.getBody()->clear();
    return success();
  }

  void runOnOperation() override {
    if (target != "cpu" && !readGpuTarget(target)) {
      getOperation().emitError() << "cannot lower kernels for '" << target.getValue()
                                 << "'; the targets are 'cpu', 'sm_80', 'sm_90' and 'sm_100'";
      return signalPassFailure();
    }
    if (to != "buffers" && to != "vectors" && to != "llvm" && (to != "ptx" || target == "cpu")) {
      getOperation().emitError() << "cannot lower kernels to '" << to.getValue()
                                 << "'; the stages are 'buffers', 'vectors' and 'llvm'"
                                 << (target == "cpu" ? "" : ", then 'ptx'");
      return signalPassFailure();
    }
    if (failed(lower(getOperation())))
      signalPassFailure();
  }
};

} // namespace
