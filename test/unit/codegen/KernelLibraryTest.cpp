#include "passes/codegen/KernelLibrary.h"

#include "CompiledKernel.h"
#include "dialects/graph/Graph.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/codegen/Passes.h"

using namespace dtc;
using namespace mlir;

namespace {

constexpr const char *source = R"(
graph.func @f(%x: tensor<64xf32>, %w: tensor<64xf32>, %b: tensor<64xf32>) -> (tensor<64xf32>, tensor<f32>) {
  %0 = graph.exp %x : tensor<64xf32>
  %1 = graph.sum_squares %0 : tensor<64xf32>
  graph.return %0, %1 : tensor<64xf32>, tensor<f32>
})";

class ParsedModule {
public:
  explicit ParsedModule(const char *text) {
    context.loadDialect<graph::GraphDialect>();
    module = parseSourceString<ModuleOp>(text, &context);
    PassManager passes(&context);
    passes.addPass(createFormKernels());
    EXPECT_TRUE(succeeded(passes.run(*module)));
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

// Returns the error of lowerKernels.
std::string errorOf(ParsedModule &parsed, const KernelTarget &target) {
  std::string message;
  ScopedDiagnosticHandler handler(&parsed.context,
                                  [&](Diagnostic &diagnostic) { message = diagnostic.str(); });
  EXPECT_TRUE(failed(lowerKernels(*parsed.module, target)));
  return message;
}

} // namespace

TEST(KernelLibrary, NamesKernelsAndLeavesTheModule) {
  ParsedModule parsed(source);
  std::string before = print(*parsed.module);
  FailureOr<KernelLibrary> library = lowerKernels(*parsed.module);
  ASSERT_TRUE(succeeded(library));
  EXPECT_EQ(library->symbols, (std::vector<std::string>{"kernel_0", "kernel_1"}));
  EXPECT_EQ(std::string(library->bytes.data() + 1, 3), "ELF");
  EXPECT_EQ(print(*parsed.module), before);
}

TEST(KernelLibrary, GivesTheSameBytesAgain) {
  ParsedModule first(source), second(source);
  FailureOr<KernelLibrary> a = lowerKernels(*first.module), b = lowerKernels(*second.module);
  ASSERT_TRUE(succeeded(a) && succeeded(b));
  EXPECT_EQ(a->bytes, b->bytes);
  EXPECT_EQ(lowerKernels(*first.module)->bytes, a->bytes);
}

TEST(KernelLibrary, IsEmptyWithoutKernels) {
  ParsedModule parsed("module {}");
  FailureOr<KernelLibrary> library = lowerKernels(*parsed.module);
  ASSERT_TRUE(succeeded(library));
  EXPECT_TRUE(library->bytes.empty());
  EXPECT_TRUE(library->symbols.empty());
}

TEST(KernelLibrary, RefusesUnknownProcessors) {
  ParsedModule parsed(source);
  EXPECT_EQ(errorOf(parsed, {"pentium9", ""}),
            "generating code for processor 'pentium9', which LLVM does not know; use x86-64-v3, "
            "x86-64-v4 or a name "
            "that 'llc -march=x86-64 -mcpu=help' lists");
}

TEST(KernelLibrary, RunsOnWiderProcessors) {
  if (!__builtin_cpu_supports("x86-64-v4"))
    GTEST_SKIP() << "this machine has no AVX-512";
  test::CompiledKernel kernel(
      "(%x: tensor<1000xf32>, %w: tensor<1000xf32>) -> tensor<1000xf32>",
      "%0 = graph.add %x, %w : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>", "%0",
      {"x86-64-v4", ""});
  auto x = test::randomValues(1000, 1), w = test::randomValues(1000, 2);
  std::vector<double> wanted;
  for (int i = 0; i < 1000; ++i)
    wanted.push_back(x[i] + w[i]);
  test::expectNear(kernel.run({x, w})[0], wanted, 1e-6);
}
