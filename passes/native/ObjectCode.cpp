// Optimises LLVM IR and emits object files.
#include "passes/native/ObjectCode.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

using namespace llvm;
using namespace dtc;

namespace {

constexpr StringLiteral tripleName = "x86_64-pc-linux-gnu";

void initializeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
}

void setAttributes(Module &module, const TargetMachine &machine) {
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr(Attribute::NoUnwind);
    // Keeps loops from becoming calls of memset or memcpy: the code imports nothing but libm.
    function.addFnAttr("no-builtins");
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    // Keeps the vector width that the kernels chose; LLVM otherwise uses AVX-512 at half its width.
    function.addFnAttr("prefer-vector-width", "512");
  }
}

// Replaces masked stores of bf16 by masked stores of i16. Without a masked bf16 store the code
// generator would store single elements, widening and rounding each by a function that libm does
// not have.
void storeBits(Module &module) {
  SmallVector<IntrinsicInst *> stores;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<IntrinsicInst>(&instruction);
          call && call->getIntrinsicID() == Intrinsic::masked_store &&
          call->getArgOperand(0)->getType()->getScalarType()->isBFloatTy())
        stores.push_back(call);
  for (IntrinsicInst *store : stores) {
    IRBuilder<> builder(store);
    Value *vector = store->getArgOperand(0);
    Value *bits =
        builder.CreateBitCast(vector, VectorType::getInteger(cast<VectorType>(vector->getType())));
    builder.CreateMaskedStore(bits, store->getArgOperand(1), store->getParamAlign(1).valueOrOne(),
                              store->getArgOperand(2));
    store->eraseFromParent();
  }
}

} // namespace

void dtc::optimizeModule(Module &module, TargetMachine &machine) {
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
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O3).run(module, modules);
}

Expected<std::unique_ptr<TargetMachine>> dtc::createTargetMachine(const KernelTarget &target,
                                                                  CodeGenOptLevel level) {
  initializeTarget();
  Triple triple(tripleName);
  std::string error;
  const Target *found = TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return createStringError("generating code for '" + tripleName + "': " + error);
  std::unique_ptr<MCSubtargetInfo> info(found->createMCSubtargetInfo(triple, "", ""));
  if (!info->isCPUStringValid(target.cpu))
    return createStringError("generating code for processor '" + target.cpu +
                             "', which LLVM does not know; use x86-64-v3, x86-64-v4 or a name that "
                             "'llc -march=x86-64 -mcpu=help' lists");
  return std::unique_ptr<TargetMachine>(found->createTargetMachine(
      triple, target.cpu, target.features, TargetOptions(), Reloc::PIC_, CodeModel::Small, level));
}

static void prepareModule(Module &module, TargetMachine &machine) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  module.setSourceFileName("kernels");
  module.setModuleIdentifier("kernels");
  module.setPICLevel(PICLevel::BigPIC);
  setAttributes(module, machine);
  storeBits(module);
}

static Expected<SmallVector<char, 0>> emitObject(Module &module, TargetMachine &machine) {
  SmallVector<char, 0> object;
  raw_svector_ostream stream(object);
  legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::ObjectFile))
    return createStringError("generating an object file for '" + tripleName +
                             "': the target cannot emit one");
  passes.run(module);
  return object;
}

Expected<SmallVector<char, 0>> dtc::compileObject(Module &module, TargetMachine &machine) {
  prepareModule(module, machine);
  optimizeModule(module, machine);
  return emitObject(module, machine);
}

Expected<SmallVector<char, 0>> dtc::compileObjectQuickly(Module &module, TargetMachine &machine) {
  prepareModule(module, machine);
  return emitObject(module, machine);
}
