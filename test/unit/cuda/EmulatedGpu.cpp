#include "test/unit/cuda/EmulatedGpu.h"

#include "kernels/cuda/bitcode/Bitcode.h"
#include "passes/simt/Retarget.h"
#include "runtime/simt/Launch.h"
#include "runtime/simt/LoadModule.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/IPO/Internalize.h"
#include <gtest/gtest.h>
#include <map>
#include <vector>

namespace dtc::cuda {

namespace {

// Extracts `kernel` alone from the file that has it, as a program would take it.
llvm::Expected<std::unique_ptr<llvm::Module>> extract(const std::string &kernel,
                                                      llvm::LLVMContext &context) {
  const BitcodeFile *file = findBitcode(kernel);
  if (!file)
    return llvm::createStringError("no bitcode has kernel '" + kernel + "'");
  llvm::StringRef bytes(reinterpret_cast<const char *>(file->bytes.data()), file->bytes.size());
  auto module = llvm::parseBitcodeFile({bytes, kernel}, context);
  if (!module)
    return module.takeError();
  llvm::internalizeModule(
      **module, [&](const llvm::GlobalValue &value) { return value.getName() == kernel; });
  llvm::ModuleAnalysisManager analyses;
  llvm::GlobalDCEPass().run(**module, analyses);
  return module;
}

// Returns the shared object of `kernel`, which is compiled once in a process; empty after a
// failure.
const std::vector<char> &compiled(const std::string &kernel) {
  static std::map<std::string, std::vector<char>> objects;
  auto [it, isNew] = objects.try_emplace(kernel);
  if (isNew) {
    llvm::LLVMContext context;
    auto device = extract(kernel, context);
    auto object = device ? compileForSimt(std::move(*device)) : device.takeError();
    if (object)
      it->second = std::move(*object);
    else
      ADD_FAILURE() << llvm::toString(object.takeError());
  }
  return it->second;
}

} // namespace

struct EmulatedGpu::State {
  simt::Memory memory;
  std::map<std::string, std::unique_ptr<simt::Module>> modules;

  const simt::Kernel *find(const std::string &kernel) {
    std::unique_ptr<simt::Module> &module = modules[kernel];
    if (!module) {
      const std::vector<char> &object = compiled(kernel);
      if (object.empty())
        return nullptr;
      rt::Status status = simt::loadModule(
          {reinterpret_cast<const uint8_t *>(object.data()), object.size()}, module);
      EXPECT_TRUE(status.ok()) << status.message();
    }
    return module ? module->find(kernel) : nullptr;
  }
};

EmulatedGpu::EmulatedGpu() : state(std::make_unique<State>()) {}
EmulatedGpu::~EmulatedGpu() = default;

void *EmulatedGpu::allocateBytes(size_t bytes) {
  void *address = nullptr;
  rt::Status status = state->memory.allocate(std::max<size_t>(bytes, 1), address);
  EXPECT_TRUE(status.ok()) << status.message();
  return address;
}

void EmulatedGpu::markWritten(const void *address, size_t bytes) {
  if (bytes == 0)
    return;
  rt::Status status = state->memory.markWritten(address, bytes);
  EXPECT_TRUE(status.ok()) << status.message();
}

void EmulatedGpu::launch(const std::vector<Launch> &launches, void *params, uint64_t seed) {
  for (const Launch &launch : launches) {
    const simt::Kernel *kernel = state->find(launch.kernel);
    ASSERT_NE(kernel, nullptr) << launch.kernel;
    void *parameters[] = {params};
    rt::Status status = simt::launch(*kernel, {launch.gridX, launch.gridY}, {launch.threads},
                                     launch.sharedBytes, parameters, state->memory, {.seed = seed});
    ASSERT_TRUE(status.ok()) << launch.kernel << ": " << status.message();
  }
}

} // namespace dtc::cuda
