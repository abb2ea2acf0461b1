#include "test/unit/retarget/DeviceProgram.h"

#include "passes/simt/Retarget.h"
#include "runtime/simt/LoadModule.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

namespace dtc::simt::test {

static std::string compile(const std::string &assembly, std::vector<char> &object) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> device =
      llvm::parseIR(llvm::MemoryBufferRef(assembly, "test.ll"), diagnostic, context);
  std::string words;
  if (!device) {
    llvm::raw_string_ostream stream(words);
    diagnostic.print("test", stream);
    return words;
  }
  auto compiled = compileForSimt(std::move(device));
  if (!compiled)
    return llvm::toString(compiled.takeError());
  object = std::move(*compiled);
  return "";
}

DeviceProgram::DeviceProgram(const std::string &assembly) {
  std::vector<char> object;
  failure = compile(assembly, object);
  if (failure.empty())
    failure = loadModule({reinterpret_cast<const uint8_t *>(object.data()), object.size()}, module)
                  .message();
}

std::string DeviceProgram::run(const std::string &kernel, Dim3 grid, Dim3 block,
                               const std::vector<void *> &parameters, uint64_t seed,
                               uint32_t dynamicShared, Counters *counters) {
  if (!failure.empty())
    return failure;
  const Kernel *found = module->find(kernel);
  if (!found)
    return "no kernel '" + kernel + "'";
  Options options;
  options.seed = seed;
  options.maxSteps = 10000000;
  std::vector<void *> addresses = parameters;
  return launch(*found, grid, block, dynamicShared, addresses.data(), memory, options, counters)
      .message();
}

} // namespace dtc::simt::test
