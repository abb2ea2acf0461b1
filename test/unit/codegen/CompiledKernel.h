// Runs kernel functions written as text, on this processor (CpuRunner.cpp) or on the emulated GPU (GpuRunner.cpp).
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/codegen/KernelLibrary.h"
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace dtc::simt {
struct Counters;
}

namespace dtc::test {

enum class Element { F32, BF16, F16, I32, I64 };
// The element that IR writes as `type`, e.g. bf16.
Element elementOf(const std::string &type);

// The values of a tensor in the element type of its buffer, converted from and to double.
struct Buffer {
  std::vector<char> bytes;
  Element type;

  double get(int64_t i) const;
  void set(int64_t i, double value);
};

// A kernel that has been formed of text: its module, and what the kernel's attributes say.
struct KernelText {
  struct Tensor {
    int64_t size;
    std::string type;
  };
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<Tensor> operands, results;
  std::vector<std::pair<int, int>> inPlace; // result, operand
  int64_t range = 0;
};
KernelText formKernel(const std::string &signature, const std::string &body,
                      const std::string &results);

int64_t elementBytes(const std::string &type);
Buffer makeBuffer(const KernelText::Tensor &tensor, const std::vector<double> &values);
// Bytes beyond every buffer, which no kernel may change.
inline constexpr int64_t guardBytes = 128;

// One way to run a kernel. `run` gives the results' buffers, and checks what it can.
class KernelRunner {
public:
  virtual ~KernelRunner() = default;
  virtual std::vector<Buffer> run(const std::vector<std::vector<double>> &operands,
                                  const std::vector<int64_t> &scalars) = 0;
  virtual void call(std::vector<char *> buffers, int64_t begin, int64_t end,
                    const std::vector<int64_t> &scalars) = 0;
};
std::unique_ptr<KernelRunner> createCpuRunner(const KernelText &text, const KernelTarget &target);
struct GpuOptions {
  // How many elements buffers begin after a multiple of 256 bytes: with 1, kernels work element by element.
  int64_t shiftedElements = 0;
  simt::Counters *counters = nullptr;       // of all launches of the kernel
  simt::Counters *mergedCounters = nullptr; // of those of the one that does several at once
};
std::unique_ptr<KernelRunner> createGpuRunner(const KernelText &text,
                                              const GpuOptions &options = {});

// One op, written as the body of a function: outlined by dtc-form-kernels, compiled and loaded into
// this process, for the emulated GPU where DTC_SHIFTED_ELEMENTS is defined.
//
// Example: CompiledKernel exp("(%x: tensor<5xf32>) -> tensor<5xf32>", "%0 = graph.exp %x :
// tensor<5xf32>", "%0");
//   exp.run({{1, 2, 3, 4, 5}}) gives one vector of five values.
class CompiledKernel {
public:
  // `body` may hold several lines; `results` is what the function returns, e.g. "%0, %1".
  CompiledKernel(const std::string &signature, const std::string &body, const std::string &results,
                 const KernelTarget &target = {});
  CompiledKernel(const CompiledKernel &) = delete;

  // Results for these operands, in double. Fails the test when cutting the range into calls of one,
  // two or three units changes a bit, when a result differs computed in place, or when a byte
  // around a buffer is written. On a GPU, when the order of threads changes a bit, when a result
  // differs in place, or at what the emulator finds.
  std::vector<std::vector<double>> run(const std::vector<std::vector<double>> &operands,
                                       const std::vector<int64_t> &scalars = {});

  // Calls the kernel on the buffers as they are, on a processor.
  void call(std::vector<char *> buffers, int64_t begin, int64_t end,
            const std::vector<int64_t> &scalars = {});
  int64_t range() const { return text.range; }

private:
  KernelText text;
  std::unique_ptr<KernelRunner> runner;
};

// Values between -2 and 2 from a fixed sequence.
std::vector<double> randomValues(int64_t size, unsigned seed);

// Fails unless all are within `relative` of the wanted values, or within `absolute`.
void expectNear(const std::vector<double> &found, const std::vector<double> &wanted,
                double relative, double absolute = 1e-6);

} // namespace dtc::test
