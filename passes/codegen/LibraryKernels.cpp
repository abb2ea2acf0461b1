// Links bitcode of hand-written kernels into a program's device code.
#include "passes/codegen/LibraryKernels.h"

#include "kernels/cuda/bitcode/Bitcode.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBufferRef.h"

using namespace llvm;
using namespace dtc;

namespace {

Error noKernel(StringRef name) {
  return createStringError("there is no hand-written GPU kernel '" + name + "'");
}

bool isKernel(const Function &function) {
  return function.getCallingConv() == CallingConv::PTX_Kernel;
}

// Declares the kernel of `source` in the device module, so that the linker takes its definition.
Error declare(Module &device, const Module &source, StringRef name) {
  const Function *kernel = source.getFunction(name);
  if (!kernel || kernel->isDeclaration() || !isKernel(*kernel))
    return noKernel(name);
  Function *declared =
      Function::Create(kernel->getFunctionType(), GlobalValue::ExternalLinkage, name, device);
  declared->setCallingConv(CallingConv::PTX_Kernel);
  return Error::success();
}

// Removes the target attributes that the bitcode was compiled with: the linker and later passes
// must not be bound to that processor.
void forgetTarget(Module &module) {
  for (Function &function : module)
    for (StringRef attribute : {"target-cpu", "target-features"})
      function.removeFnAttr(attribute);
}

void makeInternal(Module &module, const StringSet<> &linked) {
  for (GlobalObject &object : module.global_objects()) {
    const auto *function = dyn_cast<Function>(&object);
    if (object.isDeclaration() || !linked.contains(object.getName()) ||
        (function && isKernel(*function)))
      continue;
    object.setComdat(nullptr);
    object.setLinkage(GlobalValue::InternalLinkage);
  }
}

Error linkFile(Module &device, const cuda::BitcodeFile &file, ArrayRef<StringRef> names) {
  StringRef bytes(reinterpret_cast<const char *>(file.bytes.data()), file.bytes.size());
  StringRef name(file.name.data(), file.name.size());
  auto source = getLazyBitcodeModule({bytes, name}, device.getContext());
  if (!source)
    return source.takeError();
  for (StringRef kernel : names)
    if (Error error = declare(device, **source, kernel))
      return error;
  forgetTarget(**source);
  if (Linker::linkModules(device, std::move(*source), Linker::LinkOnlyNeeded, makeInternal))
    return createStringError("kernels of '" + name + "' do not go with the program's");
  return Error::success();
}

} // namespace

Error dtc::linkLibraryKernels(Module &device, ArrayRef<StringRef> names) {
  MapVector<const cuda::BitcodeFile *, SmallVector<StringRef>> files;
  for (StringRef name : names) {
    const cuda::BitcodeFile *file = cuda::findBitcode(std::string_view(name));
    if (!file)
      return noKernel(name);
    SmallVector<StringRef> &wanted = files[file];
    if (!is_contained(wanted, name) && !device.getFunction(name))
      wanted.push_back(name);
  }
  for (auto &[file, wanted] : files)
    if (!wanted.empty())
      if (Error error = linkFile(device, *file, wanted))
        return error;
  return Error::success();
}
