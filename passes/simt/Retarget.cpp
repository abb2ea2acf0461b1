// Compiles device IR to a shared object for the emulator.
#include "passes/simt/Retarget.h"

#include "passes/native/LinkObjects.h"
#include "passes/native/ObjectCode.h"
#include "passes/simt/AccessChecks.h"
#include "passes/simt/Bf16.h"
#include "passes/simt/DeviceCalls.h"
#include "passes/simt/KernelTable.h"
#include "passes/simt/SharedLayout.h"
#include "passes/simt/Sites.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Scalar/ScalarizeMaskedMemIntrin.h"
#include "llvm/Transforms/Vectorize/LoadStoreVectorizer.h"
#include <mutex>

using namespace llvm;
using namespace dtc;

namespace {

Expected<std::unique_ptr<TargetMachine>> createGpuMachine() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
  });
  Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const Target *target = TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return createStringError("generating code for '" + triple.str() + "': " + error);
  return std::unique_ptr<TargetMachine>(
      target->createTargetMachine(triple, "sm_80", "+ptx78", TargetOptions(), std::nullopt));
}

// Runs passes of the PTX back end that change memory accesses: masked accesses become branches,
// neighbouring accesses are vectorised.
void joinAccesses(Module &module, TargetMachine &machine) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  FunctionPassManager passes;
  passes.addPass(ScalarizeMaskedMemIntrinPass());
  passes.addPass(LoadStoreVectorizerPass());
  for (Function &function : module)
    if (!function.isDeclaration())
      passes.run(function, functions);
}

Error optimizeForGpu(Module &module) {
  auto machine = createGpuMachine();
  if (!machine)
    return machine.takeError();
  module.setTargetTriple((*machine)->getTargetTriple());
  module.setDataLayout((*machine)->createDataLayout());
  optimizeModule(module, **machine);
  joinAccesses(module, **machine);
  return Error::success();
}

void dropDeviceAttributes(Function &function) {
  for (StringRef name :
       {"target-cpu", "target-features", "nvvm.kernel", "nvvm.reqntid", "nvvm.maxntid",
        "nvvm.minctasm", "nvvm.maxnreg", "frame-pointer", "stack-protector-buffer-size"})
    function.removeFnAttr(name);
  function.removeFnAttr(Attribute::OptimizeNone);
  if (!function.isDeclaration())
    function.setCallingConv(CallingConv::C);
}

void dropLists(Module &module) {
  for (StringRef name : {"llvm.used", "llvm.compiler.used"})
    if (GlobalVariable *list = module.getNamedGlobal(name))
      list->eraseFromParent();
}

Error replaceCalls(Function &function, DeviceCalls &calls) {
  SmallVector<CallBase *> all;
  for (Instruction &instruction : instructions(function))
    if (auto *call = dyn_cast<CallBase>(&instruction);
        call && !call->isIndirectCall()) // indirect calls are those of the emulator
      all.push_back(call);
  for (CallBase *call : all)
    if (Error error = calls.replace(*call))
      return error;
  return Error::success();
}

void replaceFences(Function &function, DeviceCalls &calls, Sites &sites) {
  SmallVector<FenceInst *> fences;
  for (Instruction &instruction : instructions(function))
    if (auto *fence = dyn_cast<FenceInst>(&instruction))
      fences.push_back(fence);
  for (FenceInst *fence : fences) {
    IRBuilder<> builder(fence);
    calls.add(builder, "simt.fence", {sites.add(*fence)});
    fence->eraseFromParent();
  }
}

// Removes attributes that were inferred from device code and no longer hold once its accesses and
// loops call the emulator. LLVM would otherwise delete calls that seem to have no effect.
void dropEffects(Function &function) {
  auto dropFrom = [](auto &code) {
    code.setMemoryEffects(MemoryEffects::unknown());
    for (Attribute::AttrKind kind : {Attribute::NoSync, Attribute::WillReturn, Attribute::NoReturn})
      code.removeFnAttr(kind);
    for (unsigned number = 0; number < code.arg_size(); ++number)
      for (Attribute::AttrKind kind :
           {Attribute::ReadNone, Attribute::ReadOnly, Attribute::WriteOnly})
        code.removeParamAttr(number, kind);
  };
  dropFrom(function);
  for (Instruction &instruction : instructions(function))
    if (auto *call = dyn_cast<CallBase>(&instruction))
      if (Function *callee = call->getCalledFunction(); callee && !callee->isDeclaration())
        dropFrom(*call);
}

using Kernels = SmallVector<std::pair<Function *, KernelLimits>>;

Error retarget(Module &module, const Kernels &kernels, const TargetMachine &machine) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  Sites sites(module);
  DeviceCalls calls(module, sites);
  SmallVector<Function *> functions, entries;
  for (Function &function : module)
    if (!function.isDeclaration())
      functions.push_back(&function);
  for (auto &kernel : kernels)
    entries.push_back(kernel.first);
  for (Function *function : functions) {
    dropDeviceAttributes(*function);
    dropEffects(*function);
    addAccessChecks(*function, calls, sites);
    if (Error error = replaceCalls(*function, calls))
      return error;
    replaceFences(*function, calls, sites);
    addLoopSteps(*function, calls, sites);
  }
  // Runs after the access checks, which would otherwise check the loads and stores that it adds.
  SharedLayout shared(module, entries, calls);
  addKernelTable(module, kernels, shared, calls, sites);
  for (Function *function : functions)
    function->setLinkage(GlobalValue::InternalLinkage);
  expandBf16(module);
  StripDebugInfo(module);
  std::string words;
  raw_string_ostream stream(words);
  if (verifyModule(module, &stream))
    return createStringError("retargeting device code: " + words);
  return Error::success();
}

} // namespace

Expected<std::vector<char>> dtc::compileForSimt(std::unique_ptr<Module> device) {
  Kernels kernels = takeKernels(*device);
  dropLists(*device);
  for (auto &[kernel, limits] : kernels)
    kernel->setCallingConv(CallingConv::PTX_Kernel);
  for (Function &function : *device)
    if (!function.isDeclaration() && function.getCallingConv() != CallingConv::PTX_Kernel)
      function.setLinkage(GlobalValue::InternalLinkage);
  if (Error error = optimizeForGpu(*device))
    return error;
  // Skips optimisation: the IR was already optimised for a GPU, and compiling it for this processor
  // costs more time than the few emulated steps would save.
  auto machine = createTargetMachine({}, CodeGenOptLevel::None);
  if (!machine)
    return machine.takeError();
  if (Error error = retarget(*device, kernels, **machine))
    return error;
  auto object = compileObjectQuickly(*device, **machine);
  if (!object)
    return object.takeError();
  return linkObjects(*object, {"memcpy", "memmove", "memset"});
}
