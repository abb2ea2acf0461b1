// Kernels of the size that models have become PTX, and assemble without spilling where there is a ptxas. Prints what each takes.
#include "CompiledKernel.h"

#include "passes/codegen/GpuKernelLibrary.h"
#include "passes/codegen/PtxCode.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include <cstdio>

using namespace dtc;
using namespace dtc::test;

namespace {

struct Case {
  const char *name;
  std::string signature, body, results;
};

std::string tensor(const std::string &shape, const std::string &type) {
  return "tensor<" + shape + "x" + type + ">";
}

// Of a model of `type` with 8192 tokens a step, 768 channels and 50304 words.
std::vector<Case> modelKernels(const std::string &type) {
  std::string x = tensor("8192x768", type), wide = tensor("8192x3072", type);
  std::string c = tensor("768", type), f = tensor("3072", type), s = tensor("8192", "f32");
  std::string logits = tensor("8192x50304", type), targets = tensor("8192", "i32");
  std::string q = tensor("8x1024x12x64", type), table = tensor("1024x32", "f32");
  std::string scalar = "tensor<f32>", flat = tensor("7087872", "f32");
  std::string key = ", %seed: tensor<i64>, %step: tensor<f32>";
  std::string norm = "(" + x + ", " + c + ", " + c + ") -> (" + x + ", " + s + ", " + s + ")";
  std::string normGrad = "(" + x + ", " + c + ", " + s + ", " + s + ", " + x + ") -> " + x;
  std::string params = "(" + x + ", " + s + ", " + s + ", " + x + ") -> (" + c + ", " + c + ")";
  std::string loss = "(" + logits + ", " + targets + ") -> (" + s + ", " + s + ")";
  std::string dloss = "(" + logits + ", " + targets + ", " + s + ", " + s + ") -> " + logits;
  return {
      {"bias_gelu", "(%x: " + wide + ", %b: " + f + ") -> " + wide,
       "%0 = graph.add %x, %b : (" + wide + ", " + f + ") -> " + wide +
           "\n%1 = graph.gelu tanh %0 : " + wide,
       "%1"},
      {"gelu_grad", "(%x: " + wide + ", %d: " + wide + ") -> " + wide,
       "%0 = graph.gelu_grad tanh %x, %d : " + wide, "%0"},
      {"dropout", "(%x: " + x + key + ") -> " + x,
       "%0 = graph.dropout %x p 0.1 id 3 key(%seed, %step) : " + x, "%0"},
      {"layer_norm",
       "(%x: " + x + ", %w: " + c + ", %b: " + c + ") -> (" + x + ", " + s + ", " + s + ")",
       "%0, %1, %2 = graph.layer_norm %x, %w, %b : " + norm, "%0, %1, %2"},
      {"layer_norm_grad",
       "(%x: " + x + ", %w: " + c + ", %m: " + s + ", %r: " + s + ", %d: " + x + ") -> " + x,
       "%0 = graph.layer_norm_grad %x, %w, %m, %r, %d : " + normGrad, "%0"},
      {"layer_norm_param_grad",
       "(%x: " + x + ", %m: " + s + ", %r: " + s + ", %d: " + x + ") -> (" + c + ", " + c + ")",
       "%0, %1 = graph.layer_norm_param_grad %x, %m, %r, %d : " + params, "%0, %1"},
      {"bias_grad", "(%x: " + wide + ") -> " + tensor("3072", type),
       "%0 = graph.reduce sum %x dims [0] : " + wide + " -> " + f, "%0"},
      {"softmax", "(%x: " + logits + ") -> " + logits, "%0 = graph.softmax %x : " + logits, "%0"},
      {"cross_entropy", "(%x: " + logits + ", %t: " + targets + ") -> (" + s + ", " + s + ")",
       "%0, %1 = graph.cross_entropy %x, %t : " + loss, "%0, %1"},
      {"cross_entropy_grad",
       "(%x: " + logits + ", %t: " + targets + ", %l: " + s + ", %d: " + s + ") -> " + logits,
       "%0 = graph.cross_entropy_grad %x, %t, %l, %d : " + dloss, "%0"},
      {"rotary", "(%x: " + q + ", %c: " + table + ", %s: " + table + ") -> " + q,
       "%0 = graph.rotary %x, %c, %s : (" + q + ", " + table + ", " + table + ") -> " + q, "%0"},
      {"sum_squares", "(%x: " + flat + ") -> " + scalar, "%0 = graph.sum_squares %x : " + flat,
       "%0"},
      {"adamw",
       "(%p: " + flat + ", %g: " + flat + ", %m: " + flat + ", %v: " + flat + ", %lr: " + scalar +
           ", %t: " + scalar + ", %s: " + scalar + ", %a: " + scalar + ") -> (" + flat + ", " +
           flat + ", " + flat + ")",
       "%0, %1, %2 = graph.adamw %p, %g, %m, %v lr %lr step %t grad_scale %s apply %a {beta1 = 0.9 "
       ": "
       "f64, beta2 = 0.95 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64} : " +
           flat,
       "%0, %1, %2"},
      {"cast", "(%x: " + flat + ") -> " + tensor("7087872", "bf16"),
       "%0 = graph.cast %x : " + flat + " to " + tensor("7087872", "bf16"), "%0"},
  };
}

GpuModule lower(const Case &test) {
  KernelText text = formKernel(test.signature, test.body, test.results);
  mlir::FailureOr<GpuModule> lowered = lowerGpuKernels(*text.module);
  if (failed(lowered))
    throw std::runtime_error(test.name);
  return std::move(*lowered);
}

bool isThere(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

int64_t countFiles() {
  llvm::SmallString<64> folder;
  llvm::sys::path::system_temp_directory(true, folder);
  std::error_code error;
  int64_t count = 0;
  for (llvm::sys::fs::directory_iterator at(folder, error), end; at != end && !error;
       at.increment(error))
    count += llvm::StringRef(at->path()).contains("dtc-kernels");
  return count;
}

} // namespace

TEST(PtxCode, NeedsNothingButItself) {
  for (const char *type : {"f32", "bf16", "f16"})
    for (const Case &test : modelKernels(type)) {
      SCOPED_TRACE(std::string(test.name) + " " + type);
      GpuModule device = lower(test);
      ASSERT_EQ(device.kernels.size(), 1U);
      for (unsigned sm : {80U, 90U, 100U}) {
        llvm::Expected<std::string> ptx = compilePtx(*device.module, {sm});
        ASSERT_TRUE(static_cast<bool>(ptx)) << llvm::toString(ptx.takeError());
        EXPECT_FALSE(isThere(*ptx, ".extern"));
        EXPECT_TRUE(isThere(*ptx, ".target sm_" + std::to_string(sm)));
        EXPECT_TRUE(isThere(*ptx, ".reqntid " + std::to_string(device.kernels[0].threads)));
        // 16 bytes at once, which sm_100 reads as two pairs where it computes in pairs.
        bool reads16 = false;
        for (const char *load :
             {"ld.global.v4", "ld.global.nc.v4", "ld.global.v2.b64", "ld.global.nc.v2.b64"})
          reads16 = reads16 || isThere(*ptx, load);
        EXPECT_TRUE(reads16) << *ptx;
      }
    }
}

TEST(PtxCode, AssemblesWithoutSpills) {
  int64_t files = countFiles();
  std::printf("%-26s %8s %10s %8s %8s\n", "kernel", "threads", "registers", "shared", "spills");
  for (const char *type : {"f32", "bf16"})
    for (const Case &test : modelKernels(type)) {
      SCOPED_TRACE(std::string(test.name) + " " + type);
      GpuModule device = lower(test);
      llvm::Expected<std::string> ptx = compilePtx(*device.module, {90});
      ASSERT_TRUE(static_cast<bool>(ptx)) << llvm::toString(ptx.takeError());
      std::string report;
      auto cubin = assembleCubin(*ptx, {90}, &report);
      ASSERT_TRUE(static_cast<bool>(cubin)) << llvm::toString(cubin.takeError());
      if (!*cubin)
        GTEST_SKIP() << "there is no ptxas on PATH, in CUDA_HOME or in /usr/local/cuda";
      ASSERT_GT((*cubin)->size(), 4U);
      EXPECT_EQ(std::string((*cubin)->data() + 1, 3), "ELF");
      std::vector<KernelResources> kernels = readResources(report);
      ASSERT_EQ(kernels.size(), 1U) << report;
      std::printf("%-21s %-4s %8u %10u %8u %8u\n", test.name, type, device.kernels[0].threads,
                  kernels[0].registers, kernels[0].sharedBytes, kernels[0].spillBytes);
      EXPECT_EQ(kernels[0].spillBytes, 0U);
      EXPECT_GT(kernels[0].registers, 0U);
      // A block must fit: 64 Ki registers, 48 KiB that need no asking for.
      EXPECT_LE(kernels[0].registers * device.kernels[0].threads, 65536U);
      EXPECT_LE(kernels[0].sharedBytes, 48U << 10);
    }
  EXPECT_EQ(countFiles(), files) << "temporary files are left";
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
}
