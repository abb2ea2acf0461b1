#include "compiler/describe/stack/LoadStack.h"

#include "compiler/describe/stack/StackFile.h"

namespace dtc {

std::vector<std::string> stackNames() { return namesOf(stackCatalogue()); }

Result<SoftwareStack> parseStack(llvm::StringRef text, const std::string &path) {
  Result<StackFile> file = readStack(text, path);
  if (!file)
    return file.error();
  return file->stack;
}

Result<SoftwareStack> loadStack(const std::string &nameOrFile) {
  Result<StackFile> file = openStack(nameOrFile);
  if (!file)
    return file.error();
  return file->stack;
}

Result<SoftwareStack> loadStackFor(const std::string &nameOrFile, const DeviceKind &device) {
  Result<SoftwareStack> stack = loadStack(nameOrFile);
  if (!stack || stack->onGpu.empty() || device.deviceClass != DeviceClass::Gpu)
    return stack;
  return loadStack(stack->onGpu);
}

} // namespace dtc
