// Lowers kernels of loops and vectors to the LLVM dialect.
#include "passes/codegen/LoopsToLlvm.h"
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/ShapeOps.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "passes/codegen/ConvertKernels.h"
#include "passes/codegen/GpuKernels.h"
#include "passes/codegen/GpuMath.h"
#include "passes/codegen/MergedEntry.h"
#include "passes/codegen/MergedKernels.h"
#include "passes/codegen/Processor.h"

using namespace mlir;
using namespace dtc;

namespace {

// Broadcasts a bf16 as 16 bits of an integer. LLVM would otherwise insert an f32 into a vector and
// round it again, with a function that processors have no library for.
struct BroadcastBits : OpRewritePattern<vector::BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(vector::BroadcastOp op, PatternRewriter &rewriter) const override {
    if (!op.getSourceType().isBF16())
      return failure();
    VectorType type = op.getResultVectorType();
    Type integer = rewriter.getI16Type();
    Value bits = arith::BitcastOp::create(rewriter, op.getLoc(), integer, op.getSource());
    Value all = vector::BroadcastOp::create(rewriter, op.getLoc(), type.clone(integer), bits);
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, type, all);
    return success();
  }
};

// Replaces math functions of vectors by polynomials. Scalars call the C library: they are few, and
// it is exact to the last bit or two. Sine and cosine call it too, because their polynomials lose
// digits for the large angles of rotary tables. A GPU has no such library: it uses polynomials for
// scalars too, and the functions of GpuMath.h.
struct ApproximateMath : PassWrapper<ApproximateMath, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ApproximateMath)

  explicit ApproximateMath(Processor processor) : processor(processor) {}

  StringRef getName() const override { return "ApproximateMath"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry
        .insert<arith::ArithDialect, LLVM::LLVMDialect, math::MathDialect, vector::VectorDialect>();
  }

  void runOnOperation() override {
    bool isGpu = processor == Processor::Gpu;
    if (isGpu) {
      approximateAngles(getOperation());
      approximatePowers(getOperation());
      approximateExponentials(getOperation());
    }
    SmallVector<Operation *> functions;
    getOperation().walk([&](Operation *op) {
      if (isa<math::ExpOp, math::ExpM1Op, math::TanhOp, math::ErfOp, math::LogOp, math::Log1pOp>(
              op) &&
          (isGpu || isa<VectorType>(op->getResult(0).getType())))
        functions.push_back(op);
    });
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef) { return true; });
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    if (failed(applyOpPatternsGreedily(functions, std::move(patterns), config)))
      return signalPassFailure();

    RewritePatternSet finishing(&getContext());
    populateUpliftToFMAPatterns(finishing);
    // Skips GPUs, which have an instruction that rounds to bf16.
    if (!isGpu) {
      arith::populateExpandBFloat16Patterns(finishing);
      finishing.add<BroadcastBits>(&getContext());
    }
    if (failed(applyPatternsGreedily(getOperation(), std::move(finishing))))
      signalPassFailure();
  }

  Processor processor;
};

Value loadAt(OpBuilder &builder, Location loc, Type type, Value array, int64_t index) {
  Value address = LLVM::GEPOp::create(builder, loc, array.getType(), type, array,
                                      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
  return LLVM::LoadOp::create(builder, loc, type, address);
}

// Adds an entry function that reads the pointers from `buffers` and calls the body, which becomes
// internal and is inlined before all other optimisations, so that LLVM optimises it once.
void addEntry(LLVM::LLVMFuncOp body, int64_t numScalars) {
  OpBuilder builder(body);
  Location loc = body.getLoc();
  std::string name = body.getSymName().str();
  body.setSymName(name + "_body");
  body.setLinkage(LLVM::Linkage::Internal);
  body.setAlwaysInline(true);
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type i64 = builder.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()),
                                          {pointer, pointer, i64, i64});
  auto entry = LLVM::LLVMFuncOp::create(builder, loc, name, type);
  Block *block = entry.addEntryBlock(builder);
  builder.setInsertionPointToStart(block);
  int64_t numBuffers = body.getNumArguments() - numScalars - 2;
  SmallVector<Value> arguments;
  for (int64_t i = 0; i < numBuffers; ++i)
    arguments.push_back(loadAt(builder, loc, pointer, block->getArgument(0), i));
  for (int64_t i = 0; i < numScalars; ++i)
    arguments.push_back(loadAt(builder, loc, i64, block->getArgument(1), i));
  arguments.append({block->getArgument(2), block->getArgument(3)});
  LLVM::CallOp::create(builder, loc, body, arguments);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
}

// Returns the type of integers with the bits of a masked bf16 load, or null for another load.
Type bitsOf(LLVM::MaskedLoadOp load) {
  auto type = dyn_cast<VectorType>(load.getType());
  if (!type || !type.getElementType().isBF16())
    return nullptr;
  return type.clone(IntegerType::get(type.getContext(), 16));
}

// Loads and stores bf16 as integers. LLVM would otherwise convert bf16 to f32 and back at joins of
// branches, with a function that processors have no library for.
void keepBits(ModuleOp module) {
  SmallVector<LLVM::MaskedLoadOp> loads;
  module.walk([&](LLVM::MaskedLoadOp load) { loads.push_back(load); });
  for (LLVM::MaskedLoadOp load : loads) {
    Type bits = bitsOf(load);
    if (!bits)
      continue;
    OpBuilder builder(load);
    Value others = LLVM::BitcastOp::create(builder, load.getLoc(), bits, load.getPassThru());
    Value loaded = LLVM::MaskedLoadOp::create(builder, load.getLoc(), bits, load.getData(),
                                              load.getMask(), others, load.getAlignmentAttr());
    for (Operation *user : llvm::make_early_inc_range(load->getUsers()))
      if (isa<LLVM::BitcastOp>(user) && user->getResult(0).getType() == bits) {
        user->getResult(0).replaceAllUsesWith(loaded);
        user->erase();
      }
    if (!load.getResult().use_empty()) { // such as a store of the same elements
      Value same =
          LLVM::BitcastOp::create(builder, load.getLoc(), load.getResult().getType(), loaded);
      load.getResult().replaceAllUsesWith(same);
    }
    load.erase();
  }
  module.walk([](LLVM::StoreOp store) {
    auto cast = store.getValue().getDefiningOp<LLVM::BitcastOp>();
    if (cast && getElementTypeOrSelf(cast.getType()).isBF16())
      store.getValueMutable().assign(cast.getArg());
  });
}

} // namespace

void dtc::registerLoweringDialects(DialectRegistry &registry) {
  registry.insert<graph::GraphDialect, arith::ArithDialect, func::FuncDialect,
                  linalg::LinalgDialect, LLVM::LLVMDialect, math::MathDialect, NVVM::NVVMDialect,
                  memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();
}

void dtc::buildLlvmPipeline(OpPassManager &passes, Processor processor) {
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addNestedPass<func::FuncOp>(std::make_unique<ApproximateMath>(processor));
  passes.addPass(createLoopInvariantCodeMotionPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(createSCFToControlFlowPass());
  ConvertVectorToLLVMPassOptions vectors;
  vectors.reassociateFPReductions = true;
  passes.addPass(createConvertVectorToLLVMPass(vectors));
  passes.addPass(memref::createExpandStridedMetadataPass());
  passes.addPass(createConvertMathToLLVMPass());
  if (processor == Processor::Cpu)
    passes.addPass(createConvertMathToLibmPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertIndexToLLVMPass());
  passes.addPass(createFinalizeMemRefToLLVMConversionPass());
  ConvertFuncToLLVMPassOptions functions;
  functions.useBarePtrCallConv = true;
  passes.addPass(createConvertFuncToLLVMPass(functions));
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createUBToLLVMConversionPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

void dtc::addKernelEntries(ModuleOp module) {
  keepBits(module);
  // Moves annotations of loops from where the conversions leave them to where the translation to
  // LLVM IR reads them.
  module.walk([](LLVM::BrOp branch) {
    if (Attribute annotation = branch->removeDiscardableAttr("llvm.loop_annotation"))
      branch.setLoopAnnotationAttr(cast<LLVM::LoopAnnotationAttr>(annotation));
  });
  for (auto function : llvm::make_early_inc_range(module.getOps<LLVM::LLVMFuncOp>()))
    if (auto numScalars = function->getAttrOfType<IntegerAttr>(numScalarsName)) {
      function->removeAttr(numScalarsName);
      addEntry(function, numScalars.getInt());
    }
}

void dtc::markGpuKernels(ModuleOp module) {
  for (auto function : llvm::make_early_inc_range(module.getOps<LLVM::LLVMFuncOp>())) {
    auto threads = function->getAttrOfType<IntegerAttr>(blockThreadsName);
    if (!threads)
      continue;
    function->removeAttr(blockThreadsName);
    function->removeAttr(numScalarsName);
    if (function->hasAttr(mergedElementName)) {
      addMergedEntry(function);
      continue;
    }
    Builder builder(function.getContext());
    function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), builder.getUnitAttr());
    function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                      builder.getDenseI32ArrayAttr({static_cast<int32_t>(threads.getInt())}));
  }
}
