// Compiles kernels of the sizes of models to PTX, and assembles them without spills if there is a
// ptxas. Prints the resources of each.
#include "KernelCases.h"

#include "passes/codegen/Cubin.h"
#include "passes/codegen/GpuKernelLibrary.h"
#include "passes/codegen/MergedKernels.h"
#include "passes/codegen/PtxCode.h"
#include "passes/codegen/Spills.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SourceMgr.h"
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

using namespace dtc;
using namespace dtc::test;

namespace {

GpuModule lower(const KernelCase &test) {
  KernelText text = formKernel(test.signature, test.body, test.results);
  mlir::FailureOr<GpuModule> lowered = lowerGpuKernels(*text.module);
  if (failed(lowered))
    throw std::runtime_error(test.name);
  return std::move(*lowered);
}

bool isThere(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

// A folder for temporary files of this process only, because other tests, of this job or another,
// assemble at the same time.
class OwnTemporaryFiles {
public:
  OwnTemporaryFiles() {
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("dtc-ptx-test", folder));
    if (const char *value = std::getenv("TMPDIR"))
      before = value;
    ::setenv("TMPDIR", folder.c_str(), 1);
  }
  ~OwnTemporaryFiles() {
    before ? ::setenv("TMPDIR", before->c_str(), 1) : ::unsetenv("TMPDIR");
    llvm::sys::fs::remove_directories(folder);
  }
  int64_t count() const {
    std::error_code error;
    int64_t count = 0;
    for (llvm::sys::fs::directory_iterator at(folder, error), end; at != end && !error;
         at.increment(error))
      ++count;
    EXPECT_FALSE(error) << error.message();
    return count;
  }

private:
  llvm::SmallString<64> folder;
  std::optional<std::string> before;
};

// Fails if the kernel spills, has local memory or does not fit on a multiprocessor.
void assemble(const KernelCase &test, const GpuModule &device, int64_t columns, const char *type,
              GpuTarget target) {
  llvm::Expected<std::string> ptx = compilePtx(*device.module, target);
  ASSERT_TRUE(static_cast<bool>(ptx)) << llvm::toString(ptx.takeError());
  std::string report;
  auto cubin = assembleWithoutSpills(*ptx, target, &report);
  ASSERT_TRUE(static_cast<bool>(cubin)) << llvm::toString(cubin.takeError());
  if (!*cubin)
    GTEST_SKIP() << "there is no ptxas on PATH, in CUDA_HOME or in /usr/local/cuda";
  ASSERT_GT((*cubin)->size(), 4U);
  EXPECT_EQ(std::string((*cubin)->data() + 1, 3), "ELF");
  std::vector<KernelResources> kernels = readResources(report);
  // There is the kernel, and one for several launches of it.
  ASSERT_EQ(kernels.size(), device.kernels[0].merged.empty() ? 1U : 2U) << report;
  for (const KernelResources &kernel : kernels) {
    bool isMerged = kernel.symbol == device.kernels[0].merged;
    uint32_t threads = isMerged ? mergedThreads : device.kernels[0].threads;
    std::printf("sm_%-3u %-21s%s %5d %-4s %8u %10u %8u %8u\n", target.sm, test.name.c_str(),
                isMerged ? "*" : " ", static_cast<int>(columns), type, threads, kernel.registers,
                kernel.sharedBytes, kernel.spillBytes);
    EXPECT_EQ(kernel.spillBytes, 0U);
    EXPECT_EQ(kernel.localBytes, 0U);
    EXPECT_GT(kernel.registers, 0U);
    // A block must fit: 64 Ki registers, and 48 KiB of shared memory that need no request.
    EXPECT_LE(kernel.registers * threads, 65536U);
    EXPECT_LE(kernel.sharedBytes, 48U << 10);
  }
}

// Returns true if the kernel is the same for all numbers of columns, except for the length of a
// line.
bool isLine(const KernelCase &test) {
  return test.signature.find("tensor<8192x") == std::string::npos &&
         test.signature.find("x8192x") == std::string::npos;
}

} // namespace

TEST(PtxCode, NeedsNothingButItself) {
  for (const char *type : {"f32", "bf16", "f16"})
    for (const KernelCase &test : kernelCases(8192, 768, type)) {
      SCOPED_TRACE(test.name + " " + type);
      GpuModule device = lower(test);
      ASSERT_EQ(device.kernels.size(), 1U);
      for (unsigned sm : {80U, 90U, 100U}) {
        llvm::Expected<std::string> ptx = compilePtx(*device.module, {sm});
        ASSERT_TRUE(static_cast<bool>(ptx)) << llvm::toString(ptx.takeError());
        EXPECT_FALSE(isThere(*ptx, ".extern"));
        EXPECT_TRUE(isThere(*ptx, ".target sm_" + std::to_string(sm)));
        EXPECT_TRUE(isThere(*ptx, ".reqntid " + std::to_string(device.kernels[0].threads)));
        // sm_100 reads 16 bytes at once as two pairs where it computes in pairs.
        bool reads16 = false;
        for (const char *load :
             {"ld.global.v4", "ld.global.nc.v4", "ld.global.v2.b64", "ld.global.nc.v2.b64"})
          reads16 = reads16 || isThere(*ptx, load);
        EXPECT_TRUE(reads16 || !test.readsVectors) << *ptx;
      }
    }
}

TEST(PtxCode, AssemblesWithoutSpills) {
  OwnTemporaryFiles files;
  std::printf("%-38s %8s %10s %8s %8s\n", "kernel", "threads", "registers", "shared", "spills");
  // The columns are the channels of GPT-2 124M and 1.5B and of Llama-3 8B, and GPT-2's words.
  for (const char *type : {"f32", "bf16"})
    for (int64_t columns : {768, 1600, 4096, 50304})
      for (const KernelCase &test : kernelCases(8192, columns, type)) {
        if (columns != 768 && isLine(test))
          continue;
        SCOPED_TRACE(test.name + " of " + std::to_string(columns) + " " + type);
        GpuModule device = lower(test);
        for (unsigned sm : {80U, 90U, 100U})
          if (sm == 90 || columns == 768 || columns == 50304) // a process each, so not all of all
            assemble(test, device, columns, type, {sm});
        if (HasFatalFailure() || IsSkipped())
          return;
      }
  EXPECT_EQ(files.count(), 0) << "temporary files are left";
}

TEST(PtxCode, NamesWhatIsNotDefined) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(R"(
declare float @__nv_expf(float)
define ptx_kernel void @f(ptr %x) {
  %1 = load float, ptr %x
  %2 = call float @__nv_expf(float %1)
  store float %2, ptr %x
  ret void
})",
                                          diagnostic, context);
  ASSERT_TRUE(module);
  auto ptx = compilePtx(*module, {90});
  ASSERT_FALSE(static_cast<bool>(ptx));
  EXPECT_EQ(llvm::toString(ptx.takeError()),
            "device code calls '__nv_expf', which neither it nor a GPU has");
  auto other = compilePtx(*module, {75});
  ASSERT_FALSE(static_cast<bool>(other));
  EXPECT_EQ(llvm::toString(other.takeError()),
            "generating code for GPU architecture sm_75, which is none of sm_80, sm_90 and sm_100");
}

TEST(PtxCode, SaysWhatTheAssemblerSays) {
  auto cubin = assembleCubin(".version 8.0\n.target sm_90\nnonsense\n", {90});
  if (cubin) {
    EXPECT_FALSE(*cubin) << "nonsense was assembled";
    GTEST_SKIP() << "there is no ptxas on PATH, in CUDA_HOME or in /usr/local/cuda";
  }
  EXPECT_TRUE(isThere(llvm::toString(cubin.takeError()), "does not assemble the kernels' PTX: "));
}

TEST(PtxCode, ReadsResources) {
  std::vector<KernelResources> kernels =
      readResources("ptxas info    : 0 bytes gmem\n"
                    "ptxas info    : Compiling entry function 'kernel_0' for 'sm_90'\n"
                    "ptxas info    : Function properties for kernel_0\n"
                    "    16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads\n"
                    "ptxas info    : Used 40 registers, used 1 barriers, 16 bytes smem\n");
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].symbol, "kernel_0");
  EXPECT_EQ(kernels[0].registers, 40U);
  EXPECT_EQ(kernels[0].sharedBytes, 16U);
  EXPECT_EQ(kernels[0].spillBytes, 20U);
  EXPECT_EQ(kernels[0].localBytes, 16U);
}
