#include "test/unit/cudalibrary/DeviceCode.h"

#include "kernels/cuda/bitcode/Bitcode.h"
#include "passes/simt/Retarget.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/IPO/Internalize.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>

namespace dtc::test {
namespace {

llvm::Expected<std::vector<char>> compile(const std::vector<std::string> &kernels,
                                          llvm::LLVMContext &context) {
  std::set<const cuda::BitcodeFile *> files;
  for (const std::string &kernel : kernels)
    files.insert(cuda::findBitcode(kernel));
  auto program = std::make_unique<llvm::Module>("program", context);
  llvm::Linker linker(*program);
  for (const cuda::BitcodeFile *file : files) {
    if (!file)
      return llvm::createStringError("a kernel has no file");
    llvm::StringRef bytes(reinterpret_cast<const char *>(file->bytes.data()), file->bytes.size());
    auto module = llvm::parseBitcodeFile({bytes, file->name}, context);
    if (!module)
      return module.takeError();
    program->setTargetTriple((*module)->getTargetTriple());
    program->setDataLayout((*module)->getDataLayout());
    llvm::internalizeModule(**module, [&](const llvm::GlobalValue &value) {
      return std::find(kernels.begin(), kernels.end(), value.getName()) != kernels.end();
    });
    llvm::ModuleAnalysisManager analyses;
    llvm::GlobalDCEPass().run(**module, analyses);
    if (linker.linkInModule(std::move(*module)))
      return llvm::createStringError("kernels cannot be linked");
  }
  return compileForSimt(std::move(program));
}

} // namespace

std::vector<uint8_t> simtSegment(const std::vector<std::string> &kernels) {
  // Compiled once in a process.
  static std::map<std::vector<std::string>, std::vector<uint8_t>> segments;
  auto [it, isNew] = segments.try_emplace(kernels);
  if (isNew) {
    llvm::LLVMContext context;
    auto object = compile(kernels, context);
    if (object)
      it->second.assign(object->begin(), object->end());
    else
      ADD_FAILURE() << llvm::toString(object.takeError());
  }
  return it->second;
}

} // namespace dtc::test
