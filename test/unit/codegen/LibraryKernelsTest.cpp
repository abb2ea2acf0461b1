// Tests hand-written kernels beside generated ones in one device module.
#include "passes/codegen/LibraryKernels.h"
#include "passes/codegen/Cubin.h"
#include "runtime/simt/LoadModule.h"

#include "CompiledKernel.h"
#include "kernels/cuda/StridedCopy.h"
#include "passes/codegen/GpuKernelLibrary.h"
#include "passes/codegen/PtxCode.h"
#include "passes/simt/Retarget.h"
#include "runtime/simt/Launch.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

using namespace dtc;
using namespace dtc::test;

namespace {

// Returns one generated kernel: y = 2 x of 64 x 48.
GpuModule lowerOne(KernelText &text) {
  std::string x = "tensor<64x48xf32>";
  text = formKernel("(%x: " + x + ") -> " + x, "%0 = graph.scale %x by 2.0 : " + x, "%0");
  mlir::FailureOr<GpuModule> lowered = lowerGpuKernels(*text.module);
  if (failed(lowered))
    throw std::runtime_error("the kernel was not lowered");
  return std::move(*lowered);
}

std::string link(llvm::Module &device, llvm::ArrayRef<llvm::StringRef> names) {
  return llvm::toString(linkLibraryKernels(device, names));
}

std::set<std::string> entriesOf(llvm::StringRef ptx) {
  std::set<std::string> names;
  for (auto at = ptx.find(".entry "); at != llvm::StringRef::npos; at = ptx.find(".entry ", at + 1))
    names.insert(ptx.substr(at + 7).take_until([](char c) { return c == '('; }).str());
  return names;
}

} // namespace

TEST(LibraryKernels, AreEntriesBesideGeneratedOnes) {
  KernelText text;
  GpuModule device = lowerOne(text);
  ASSERT_EQ(link(*device.module, {"AttentionForward_bf16_64", "StridedCopy_transpose4",
                                  "AttentionForward_bf16_64"}),
            "");
  // Links a kernel again, and another one of a file that is linked in part.
  ASSERT_EQ(link(*device.module, {"AttentionForward_bf16_64", "StridedCopy_copy16"}), "");
  std::string words;
  llvm::raw_string_ostream stream(words);
  EXPECT_FALSE(llvm::verifyModule(*device.module, &stream)) << words;
  for (const llvm::Function &function : *device.module) {
    EXPECT_FALSE(function.hasFnAttribute("target-cpu")) << function.getName().str();
    EXPECT_FALSE(function.hasFnAttribute("target-features")) << function.getName().str();
    if (!function.isDeclaration() && function.getCallingConv() != llvm::CallingConv::PTX_Kernel)
      EXPECT_TRUE(function.hasInternalLinkage()) << function.getName().str();
  }
  std::set<std::string> wanted = {device.kernels[0].symbol, device.kernels[0].merged,
                                  "AttentionForward_bf16_64", "StridedCopy_transpose4",
                                  "StridedCopy_copy16"};
  for (unsigned sm : {80U, 90U, 100U}) {
    auto ptx = compilePtx(*device.module, {sm});
    ASSERT_TRUE(static_cast<bool>(ptx)) << llvm::toString(ptx.takeError());
    EXPECT_EQ(entriesOf(*ptx), wanted);
    EXPECT_NE(ptx->find(".target sm_" + std::to_string(sm)), std::string::npos);
  }
}

TEST(LibraryKernels, AssembleWithoutSpills) {
  KernelText text;
  GpuModule device = lowerOne(text);
  ASSERT_EQ(link(*device.module, {"AttentionForward_bf16_64"}), "");
  for (unsigned sm : {80U, 90U}) {
    auto ptx = compilePtx(*device.module, {sm});
    ASSERT_TRUE(static_cast<bool>(ptx)) << llvm::toString(ptx.takeError());
    std::string report;
    auto cubin = assembleCubin(*ptx, {sm}, &report);
    ASSERT_TRUE(static_cast<bool>(cubin)) << llvm::toString(cubin.takeError());
    if (!*cubin)
      GTEST_SKIP() << "there is no ptxas on PATH, in CUDA_HOME or in /usr/local/cuda";
    std::vector<KernelResources> kernels = readResources(report);
    EXPECT_EQ(kernels.size(), 3U) << report;
    for (const KernelResources &kernel : kernels)
      EXPECT_EQ(kernel.spillBytes, 0U) << kernel.symbol;
  }
}

TEST(LibraryKernels, RunOnTheEmulatorWithGeneratedOnes) {
  KernelText text;
  GpuModule device = lowerOne(text);
  std::string symbol = device.kernels.at(0).symbol;
  uint32_t threads = device.kernels.at(0).threads;
  simt::Memory memory;
  void *x = nullptr, *y = nullptr, *z = nullptr;
  for (void **buffer : {&x, &y, &z})
    ASSERT_TRUE(memory.allocate(64 * 48 * sizeof(float), *buffer).ok());
  auto *from = static_cast<float *>(x);
  for (int i = 0; i < 64 * 48; ++i)
    from[i] = static_cast<float>(i);
  ASSERT_TRUE(memory.markWritten(x, 64 * 48 * sizeof(float)).ok());
  int64_t sizes[] = {48, 64}, src[] = {1, 48}, dst[] = {64, 1};
  cuda::CopyBox box{4, 2, sizes, src, dst};
  cuda::StridedCopyParams params;
  std::vector<cuda::Launch> launches;
  ASSERT_EQ(cuda::planStridedCopy(box, y, z, params, launches), "");
  ASSERT_EQ(launches.size(), 1U);

  ASSERT_EQ(link(*device.module, {llvm::StringRef(launches[0].kernel)}), "");
  auto object = compileForSimt(std::move(device.module));
  ASSERT_TRUE(static_cast<bool>(object)) << llvm::toString(object.takeError());
  std::unique_ptr<simt::Module> module;
  rt::Status status =
      simt::loadModule({reinterpret_cast<const uint8_t *>(object->data()), object->size()}, module);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(module->all().size(), 3U);
  const simt::Kernel *scale = module->find(symbol), *copy = module->find(launches[0].kernel);
  ASSERT_TRUE(scale && copy);
  int64_t range = text.range;
  void *arguments[] = {&x, &y, &range};
  status = simt::launch(*scale, {static_cast<uint32_t>(range)}, {threads}, 0, arguments, memory);
  ASSERT_TRUE(status.ok()) << status.message();
  void *parameters[] = {&params};
  status = simt::launch(*copy, {launches[0].gridX, launches[0].gridY}, {launches[0].threads},
                        launches[0].sharedBytes, parameters, memory);
  ASSERT_TRUE(status.ok()) << status.message();
  const auto *to = static_cast<const float *>(z);
  for (int row = 0; row < 64; ++row)
    for (int column = 0; column < 48; ++column)
      ASSERT_EQ(to[column * 64 + row], 2 * from[row * 48 + column]);
}

TEST(LibraryKernels, NameWhatIsNotThere) {
  KernelText text;
  GpuModule device = lowerOne(text);
  EXPECT_EQ(link(*device.module, {"Nothing_here"}),
            "there is no hand-written GPU kernel 'Nothing_here'");
  EXPECT_EQ(link(*device.module, {"AttentionForward_bf16_65"}),
            "there is no hand-written GPU kernel 'AttentionForward_bf16_65'");
}
