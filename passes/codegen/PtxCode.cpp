// Optimises LLVM IR of device code and emits PTX.
#include "passes/codegen/PtxCode.h"

#include "passes/native/ObjectCode.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/IPO/Internalize.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include <mutex>

using namespace llvm;
using namespace dtc;

namespace {

constexpr StringLiteral tripleName = "nvptx64-nvidia-cuda";

// The oldest PTX version that has the architecture, so that older drivers accept the code.
struct Architecture {
  unsigned sm;
  StringLiteral name, ptx;
};
constexpr Architecture architectures[] = {
    {80, "sm_80", "+ptx71"}, {90, "sm_90", "+ptx80"}, {100, "sm_100", "+ptx86"}};

const Architecture *findArchitecture(unsigned sm) {
  const auto *found = find_if(architectures, [&](const Architecture &one) { return one.sm == sm; });
  return found == std::end(architectures) ? nullptr : found;
}

void initializeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

Expected<std::unique_ptr<TargetMachine>> createMachine(GpuTarget target) {
  initializeTarget();
  const Architecture *architecture = findArchitecture(target.sm);
  if (!architecture)
    return createStringError("generating code for GPU architecture sm_" + Twine(target.sm) +
                             ", which is none of sm_80, sm_90 and sm_100");
  Triple triple(tripleName);
  std::string error;
  const Target *found = TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return createStringError("generating code for '" + tripleName + "': " + error);
  return std::unique_ptr<TargetMachine>(
      found->createTargetMachine(triple, architecture->name, architecture->ptx, TargetOptions(),
                                 std::nullopt, std::nullopt, CodeGenOptLevel::Aggressive));
}

bool isKernel(const GlobalValue &value) {
  const auto *function = dyn_cast<Function>(&value);
  return function && function->getCallingConv() == CallingConv::PTX_Kernel;
}

Error checkDefined(const Module &module) {
  for (const Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic() && !function.use_empty())
      return createStringError("device code calls '" + function.getName() +
                               "', which neither it nor a GPU has");
  return Error::success();
}

} // namespace

std::optional<GpuTarget> dtc::readGpuTarget(StringRef name) {
  for (const Architecture &one : architectures)
    if (one.name == name)
      return GpuTarget{one.sm};
  return std::nullopt;
}

Expected<std::string> dtc::compilePtx(const Module &source, GpuTarget target) {
  auto machine = createMachine(target);
  if (!machine)
    return machine.takeError();
  std::unique_ptr<Module> module = CloneModule(source);
  module->setTargetTriple((*machine)->getTargetTriple());
  module->setDataLayout((*machine)->createDataLayout());
  for (Function &function : *module)
    if (!function.isDeclaration()) {
      function.addFnAttr(Attribute::NoUnwind);
      function.addFnAttr("target-cpu", (*machine)->getTargetCPU());
      function.addFnAttr("target-features", (*machine)->getTargetFeatureString());
    }
  internalizeModule(*module, isKernel);
  optimizeModule(*module, **machine);
  if (Error error = checkDefined(*module))
    return error;
  SmallString<0> text;
  raw_svector_ostream stream(text);
  legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::AssemblyFile))
    return createStringError("generating PTX: the target cannot emit text");
  passes.run(*module);
  return std::string(text.str());
}
