// Runs kernel functions written as text, on this processor (CpuRunner.cpp) or on the emulated GPU
// (GpuRunner.cpp).
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

// The element type of a buffer.
enum class Element { F32, BF16, F16, I32, I64 };
// Returns the element type that IR writes as `type`, such as bf16.
Element elementOf(const std::string &type);

// The values of a tensor in the element type of its buffer. They are converted from and to double.
struct Buffer {
  std::vector<char> bytes;
  Element type;

  // Returns element i.
  double get(int64_t i) const;
  // Sets element i, rounded to the element type.
  void set(int64_t i, double value);
};

// A kernel formed from text: its module, and the content of the kernel's attributes.
struct KernelText {
  // A tensor that the kernel reads or writes.
  struct Tensor {
    int64_t size;
    std::string type;
  };
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<Tensor> operands, results;
  std::vector<std::pair<int, int>> inPlace; // result, operand
  int64_t range = 0;
  bool hasGaps = false; // the kernel leaves parts of its results as they are
};
// Forms one kernel from a function with this signature and body.
KernelText formKernel(const std::string &signature, const std::string &body,
                      const std::string &results);

// Returns the bytes of an element that IR writes as `type`.
int64_t elementBytes(const std::string &type);
// Returns a buffer for a tensor with these values.
Buffer makeBuffer(const KernelText::Tensor &tensor, const std::vector<double> &values);
// Bytes beyond every buffer, which kernels must not change.
inline constexpr int64_t guardBytes = 128;

// One way to run a kernel. `run` returns the results' buffers, and checks what it can.
class KernelRunner {
public:
  virtual ~KernelRunner() = default;
  // Runs the kernel on these operands and returns the buffers of its results.
  virtual std::vector<Buffer> run(const std::vector<std::vector<double>> &operands,
                                  const std::vector<int64_t> &scalars) = 0;
  // Runs units `begin` to `end` on existing buffers.
  virtual void call(std::vector<char *> buffers, int64_t begin, int64_t end,
                    const std::vector<int64_t> &scalars) = 0;
};
// Makes a runner on this processor.
std::unique_ptr<KernelRunner> createCpuRunner(const KernelText &text, const KernelTarget &target);
// Options of a runner on the emulated GPU.
struct GpuOptions {
  // The number of elements by which buffers begin after a multiple of 256 bytes. With 1, kernels
  // work element by element.
  int64_t shiftedElements = 0;
  simt::Counters *counters = nullptr;       // counts of all launches of the kernel
  simt::Counters *mergedCounters = nullptr; // counts of the merged kernel's launches
};
// Makes a runner on the emulated GPU.
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
  // `body` may have several lines. `results` is what the function returns, such as "%0, %1".
  CompiledKernel(const std::string &signature, const std::string &body, const std::string &results,
                 const KernelTarget &target = {});
  CompiledKernel(const CompiledKernel &) = delete;

  // Lets the kernel leave parts of its results as they are.
  void allowGaps() { text.hasGaps = true; }

  // Returns the results for these operands, in double. Fails the test if cutting the range into
  // calls of one, two or three units changes a bit, if a result differs when it is computed in
  // place, or if a byte around a buffer is written. On a GPU, fails it if the order of threads
  // changes a bit, if a result differs in place, or if the emulator finds a fault.
  std::vector<std::vector<double>> run(const std::vector<std::vector<double>> &operands,
                                       const std::vector<int64_t> &scalars = {});

  // Calls the kernel on existing buffers, on a processor.
  void call(std::vector<char *> buffers, int64_t begin, int64_t end,
            const std::vector<int64_t> &scalars = {});
  int64_t range() const { return text.range; }

private:
  KernelText text;
  std::unique_ptr<KernelRunner> runner;
};

// Returns values between -2 and 2 from a fixed sequence.
std::vector<double> randomValues(int64_t size, unsigned seed);

// Fails unless all values are within `relative` or `absolute` of the wanted ones.
void expectNear(const std::vector<double> &found, const std::vector<double> &wanted,
                double relative, double absolute = 1e-6);

} // namespace dtc::test
