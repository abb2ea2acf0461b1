// Compiles a module's kernel functions to machine code.
#include "passes/codegen/KernelLibrary.h"

#include "dialects/graph/HostMemory.h"
#include "passes/codegen/ConvertKernels.h"
#include "passes/codegen/KernelInterfaces.h"
#include "passes/codegen/KernelSide.h"
#include "passes/codegen/LoopsToLlvm.h"
#include "passes/codegen/RandomWords.h"
#include "passes/codegen/VectorizeKernels.h"
#include "passes/native/LinkObjects.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "passes/codegen/KernelBuilder.h"
#include "passes/codegen/Processor.h"
#include "llvm/IR/LLVMContext.h"

using namespace mlir;
using namespace dtc;

namespace {

void loadDialects(MLIRContext *context) {
  DialectRegistry registry;
  registerLoweringDialects(registry);
  registerKernelInterfaces(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context->appendDialectRegistry(registry);
  for (StringRef name : registry.getDialectNames())
    context->getOrLoadDialect(name);
}

LogicalResult lowerToLlvmDialect(ModuleOp source, ModuleOp target, KernelSide side) {
  if (failed(convertKernels(source, target, Processor::Cpu, side)) ||
      failed(vectorizeKernels(target)))
    return failure();
  shareRandomWords(target);
  PassManager passes(target->getContext());
  passes.enableVerifier(false); // of what each pass left; the result is verified below
  buildLlvmPipeline(passes);
  if (failed(passes.run(target)))
    return failure();
  addKernelEntries(target);
  return verify(target);
}

llvm::Expected<llvm::SmallVector<char, 0>> compile(ModuleOp kernels, const KernelTarget &target) {
  auto machine = createTargetMachine(target, target.optimized ? llvm::CodeGenOptLevel::Aggressive
                                                              : llvm::CodeGenOptLevel::None);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(kernels, context, "kernels");
  if (!module)
    return llvm::createStringError("translating kernels to LLVM IR");
  return target.optimized ? compileObject(*module, **machine)
                          : compileObjectQuickly(*module, **machine);
}

} // namespace

FailureOr<KernelLibrary> dtc::lowerKernels(ModuleOp module, const KernelTarget &target,
                                           KernelSide side) {
  loadDialects(module.getContext());
  KernelLibrary library;
  for (graph::FuncOp function : module.getOps<graph::FuncOp>())
    if (function.getKernel() && isAt(function, side))
      library.symbols.push_back(function.getSymName().str());
  if (library.symbols.empty())
    return library;
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  if (failed(lowerToLlvmDialect(module, *kernels, side)))
    return failure();
  auto object = compile(*kernels, target);
  if (!object)
    return module.emitError() << llvm::toString(object.takeError());
  auto bytes = linkObjects(*object);
  if (!bytes)
    return module.emitError() << llvm::toString(bytes.takeError());
  library.bytes = std::move(*bytes);
  return library;
}
