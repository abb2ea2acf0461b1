// Lowers a module's kernel functions to LLVM IR for GPUs.
#include "passes/codegen/GpuKernelLibrary.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "passes/codegen/ConvertKernels.h"
#include "passes/codegen/GpuPointwise.h"
#include "passes/codegen/KernelBuilder.h"
#include "passes/codegen/KernelInterfaces.h"
#include "passes/codegen/KernelSide.h"
#include "passes/codegen/LoopsToLlvm.h"
#include "passes/codegen/MergedKernels.h"
#include "passes/codegen/Processor.h"
#include "passes/codegen/RandomWords.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace dtc;

void dtc::registerGpuTranslations(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

static void loadDialects(MLIRContext *context) {
  DialectRegistry registry;
  registerLoweringDialects(registry);
  registerKernelInterfaces(registry);
  registerGpuTranslations(registry);
  context->appendDialectRegistry(registry);
  for (StringRef name : registry.getDialectNames())
    context->getOrLoadDialect(name);
}

static LogicalResult lower(ModuleOp source, ModuleOp target) {
  if (failed(convertKernels(source, target, Processor::Gpu, KernelSide::Device)) ||
      failed(emitGpuPointwise(target)))
    return failure();
  inlineRandomWords(target);
  PassManager passes(target->getContext());
  passes.enableVerifier(false); // of what each pass left; the result is verified below
  buildLlvmPipeline(passes, Processor::Gpu);
  if (failed(passes.run(target)))
    return failure();
  markGpuKernels(target);
  return verify(target);
}

FailureOr<GpuModule> dtc::translateGpuKernels(ModuleOp kernels) {
  GpuModule device;
  llvm::StringSet<> merging;
  for (auto function : kernels.getOps<LLVM::LLVMFuncOp>())
    if (auto merged = function->getAttrOfType<StringAttr>(mergedByName))
      merging.insert(merged.getValue());
  device.context = std::make_unique<llvm::LLVMContext>();
  device.module = translateModuleToLLVMIR(kernels, *device.context, "kernels");
  if (!device.module)
    return kernels.emitError() << "kernels have no translation to LLVM IR";
  for (auto function : kernels.getOps<LLVM::LLVMFuncOp>()) {
    auto threads =
        function->getAttrOfType<DenseI32ArrayAttr>(NVVM::NVVMDialect::getReqntidAttrName());
    if (!threads || merging.contains(function.getSymName()))
      continue;
    auto merged = function->getAttrOfType<StringAttr>(mergedByName);
    device.kernels.push_back({function.getSymName().str(), static_cast<uint32_t>(threads[0]),
                              merged ? merged.str() : std::string()});
  }
  return device;
}

FailureOr<GpuModule> dtc::lowerGpuKernels(ModuleOp module) {
  loadDialects(module.getContext());
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  if (failed(lower(module, *kernels)))
    return failure();
  return translateGpuKernels(*kernels);
}
