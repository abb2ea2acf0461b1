// Runs every kind of kernel on this processor and on the emulated GPU, and compares the results of
// the same operands.
#include "KernelCases.h"

#include "passes/codegen/KernelBuilder.h"
#include "passes/codegen/KernelInterfaces.h"
#include <cmath>

using namespace dtc;
using namespace dtc::test;

namespace {

// Returns the allowed difference. Both round each of the same operations once, by up to half of
// 2^-23 of its result, but sum in different orders. A processor adds a row up in 32 lanes, which
// are then added in pairs; a GPU adds no more than that in a line. Besides, a kernel has at most 16
// operations, or functions with that error.
double boundOf(const KernelCase &kernel, int64_t columns) {
  double additions = kernel.addsColumns ? std::ceil(static_cast<double>(columns) / 32) + 5 : 0;
  return 2 * (additions + 16) * 0x1p-24 * kernel.magnitude;
}

// Returns the distance from `value` to its neighbour in a type of 16 bits: one twin may round up
// and the other down.
double gapOf(Element type, double value) {
  if (type == Element::F32)
    return 0;
  return std::ldexp(1.0, std::ilogb(std::max(std::abs(value), 0x1p-14)) -
                             (type == Element::BF16 ? 7 : 10));
}

void expectSame(const Buffer &found, const Buffer &wanted, int64_t size, double bound) {
  for (int64_t i = 0; i < size; ++i) {
    double a = found.get(i), b = wanted.get(i);
    if (a == b)
      continue;
    double most = bound == 0 ? 0 : bound + gapOf(wanted.type, std::max(std::abs(a), std::abs(b)));
    if (!(std::abs(a - b) <= most))
      FAIL() << "element " << i << " of " << size << " is " << a << " on a GPU and " << b
             << " on this processor, which may differ by " << most;
  }
}

void compare(const KernelCase &kernel, int64_t columns, const GpuOptions &options = {}) {
  KernelText text = formKernel(kernel.signature, kernel.body, kernel.results);
  std::vector<std::vector<double>> operands = makeOperands(kernel, text, columns);
  // The scalars are windows' first elements, and the first sample and stream of random numbers.
  std::vector<int64_t> scalars(kernel.body.find("key(") != std::string::npos ? 2 : 0, 5);
  std::vector<Buffer> wanted = createCpuRunner(text, {})->run(operands, scalars);
  std::vector<Buffer> found = createGpuRunner(text, options)->run(operands, scalars);
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i)
    expectSame(found[i], wanted[i], text.results[i].size, boundOf(kernel, columns));
}

void compareAll(const std::string &type) {
  for (int64_t size : {1, 31, 32, 33, 1000})
    for (auto [rows, columns] : {std::pair<int64_t, int64_t>{3, size}, {size, 32}})
      for (const KernelCase &kernel : kernelCases(rows, columns, type)) {
        SCOPED_TRACE(kernel.name + " of " + std::to_string(rows) + " x " + std::to_string(columns) +
                     " " + type);
        try {
          compare(kernel, columns);
        } catch (const std::exception &error) { // caught here, to name the kernel
          FAIL() << error.what();
        }
        if (testing::Test::HasFatalFailure())
          return;
      }
}

} // namespace

TEST(TwinKernel, ComputesTheSameInF32) { compareAll("f32"); }
TEST(TwinKernel, ComputesTheSameInBf16) { compareAll("bf16"); }

// Views may begin anywhere: here 8 bytes after a multiple of 16, where vectors of 8 bytes could be
// read.
TEST(TwinKernel, ComputesTheSameOffVectors) {
  for (const KernelCase &kernel : kernelCases(3, 32, "f32")) {
    SCOPED_TRACE(kernel.name);
    compare(kernel, 32, {.shiftedElements = 2});
  }
}

// The line is not a whole number of vectors and has many blocks. Only one block does the rest,
// because doing it twice would be wrong in place.
TEST(TwinKernel, ComputesTheSameInManyBlocks) {
  for (const char *type : {"f32", "bf16"})
    for (const KernelCase &kernel : kernelCases(1, 10001, type))
      if (kernel.signature.find("10001x") != std::string::npos) {
        SCOPED_TRACE(kernel.name + " " + type);
        compare(kernel, 10001);
      }
}

// The sums have the sizes of models: many blocks, some with less work than others.
TEST(TwinKernel, AddsUpTheSameInParts) {
  const std::vector<const char *> sums = {"chunk_squares",
                                          "sum_chunks",
                                          "row_part_sums",
                                          "layer_norm_param_grad_parts",
                                          "rms_norm_param_grad_parts",
                                          "sum_parts"};
  for (const char *type : {"f32", "bf16"})
    for (auto [rows, columns] : {std::pair<int64_t, int64_t>{4099, 130}, {100, 1001}})
      for (const KernelCase &kernel : kernelCases(rows, columns, type))
        if (llvm::is_contained(sums, kernel.name)) {
          SCOPED_TRACE(kernel.name + " of " + std::to_string(rows) + " x " +
                       std::to_string(columns) + " " + type);
          compare(kernel, columns);
        }
}

// Each op that becomes a generated kernel must be in a case.
TEST(TwinKernel, HasEveryOp) {
  mlir::MLIRContext context;
  mlir::DialectRegistry registry;
  registry.insert<graph::GraphDialect>();
  registerKernelInterfaces(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  std::vector<KernelCase> cases = kernelCases(8, 8, "f32");
  size_t count = 0;
  for (mlir::RegisteredOperationName op : context.getRegisteredOperations()) {
    if (!op.hasInterface<KernelOpInterface>() && !op.hasInterface<graph::PointwiseOpInterface>())
      continue;
    ++count;
    std::string name = op.getStringRef().str() + " ";
    EXPECT_TRUE(llvm::any_of(
        cases,
        [&](const KernelCase &kernel) { return kernel.body.find(name) != std::string::npos; }))
        << op.getStringRef().str() << " is in no case";
  }
  EXPECT_GE(count, 45U);
}
