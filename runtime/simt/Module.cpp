#include "runtime/simt/Module.h"

#include "runtime/base/Text.h"
#include "runtime/simt/Abi.h"

namespace dtc::simt {

using format::text;
using rt::Status;

static Kernel readKernel(const abi::KernelInfo &info, const Module *module) {
  Kernel kernel;
  kernel.name = info.name;
  kernel.entry = info.entry;
  kernel.sharedBytes = info.sharedBytes;
  kernel.requiredThreads = info.requiredThreads;
  kernel.maxThreads = info.maxThreads;
  kernel.parameterBytes.assign(info.parameterBytes, info.parameterBytes + info.numParameters);
  kernel.module = module;
  return kernel;
}

Status Module::load(std::span<const uint8_t> object, const DeviceFunctions &functions,
                    std::unique_ptr<Module> &module) {
  auto loaded = std::make_unique<Module>();
  DTC_RETURN_IF_ERROR(loaded->code.load(object));
  auto *info = static_cast<const abi::ModuleInfo *>(loaded->code.find(abi::moduleSymbol));
  if (!info)
    return Status::invalidArgument(
        text("loading code for the emulated GPU: it has no '", abi::moduleSymbol, "'"));
  if (info->version != abi::version)
    return Status::invalidArgument(text("loading code for the emulated GPU: it is of version ",
                                        info->version, ", this is version ", abi::version,
                                        "; recompile with dtc"));
  for (const abi::Import &import : std::span(info->imports, info->numImports)) {
    auto found = functions.find(import.name);
    if (found == functions.end())
      return Status::invalidArgument(
          text("loading code for the emulated GPU: it calls '", import.name,
               "', which the emulator does not have; recompile with dtc"));
    *import.slot = found->second;
  }
  for (const abi::KernelInfo &kernel : std::span(info->kernels, info->numKernels))
    loaded->kernels.push_back(readKernel(kernel, loaded.get()));
  for (const abi::GlobalInfo &global : std::span(info->globals, info->numGlobals))
    loaded->globals.push_back({global.name, Range::ofHost(global.address, global.bytes)});
  module = std::move(loaded);
  return {};
}

const Kernel *Module::find(const std::string &name) const {
  for (const Kernel &kernel : kernels)
    if (kernel.name == name)
      return &kernel;
  return nullptr;
}

Range *Module::findRange(const void *address) const {
  for (const Global &global : globals)
    if (global.range->contains(address, 1))
      return global.range.get();
  return nullptr;
}

Status Module::findGlobal(const std::string &name, void *&address, uint64_t &bytes) const {
  for (const Global &global : globals)
    if (global.name == name) {
      address = global.range->base;
      bytes = global.range->bytes;
      return {};
    }
  return Status::notFound(text("the code for the emulated GPU has no variable '", name, "'"));
}

} // namespace dtc::simt
