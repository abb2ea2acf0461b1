// Debian's static LLVM registers Polly, which is a package of its own, where it optimises at link
// time. dtc's linker only gets machine code, so that this never runs; it stands in for the symbol.
#include "llvm/Plugins/PassPlugin.h"

llvm::PassPluginLibraryInfo getPollyPluginInfo();

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "none", "", [](llvm::PassBuilder &) {}};
}
