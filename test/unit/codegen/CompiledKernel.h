// Runs kernel functions written as text.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/codegen/KernelLibrary.h"
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace dtc::test {

// The values of a tensor in the element type of its buffer, converted from and to double.
struct Buffer {
  std::vector<char> bytes;
  std::string type; // f32, bf16, f16, i32, i64

  double get(int64_t i) const;
  void set(int64_t i, double value);
};

// One op, written as the body of a function: outlined by dtc-form-kernels, compiled and loaded into
// this process.
//
// Example: CompiledKernel exp("(%x: tensor<5xf32>) -> tensor<5xf32>", "%0 = graph.exp %x :
// tensor<5xf32>", "%0");
//   exp.run({{1, 2, 3, 4, 5}}) gives one vector of five values.
class CompiledKernel {
public:
  // `body` may hold several lines; `results` is what the function returns, e.g. "%0, %1".
  CompiledKernel(const std::string &signature, const std::string &body, const std::string &results,
                 const KernelTarget &target = {});
  ~CompiledKernel();
  CompiledKernel(const CompiledKernel &) = delete;

  // Results for these operands, in double. Fails the test when cutting the range into calls of one,
  // two or three units changes a bit, when a result differs computed in place, or when a byte
  // around a buffer is written.
  std::vector<std::vector<double>> run(const std::vector<std::vector<double>> &operands,
                                       const std::vector<int64_t> &scalars = {});

  // Calls the kernel on the buffers as they are.
  void call(std::vector<char *> buffers, int64_t begin, int64_t end,
            const std::vector<int64_t> &scalars = {});
  int64_t range() const { return kernelRange; }

private:
  struct Tensor {
    int64_t size;
    std::string type;
  };
  Buffer makeBuffer(const Tensor &tensor, const std::vector<double> &values) const;
  std::vector<Buffer> runOnce(const std::vector<std::vector<double>> &operands,
                              const std::vector<int64_t> &scalars, int64_t unitsPerCall,
                              int result = -1, int operand = -1);

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  KernelLibrary library;
  std::vector<Tensor> operandTensors, resultTensors;
  std::vector<std::pair<int, int>> inPlace;
  int64_t kernelRange = 0;
  int file = -1;
  void *handle = nullptr;
  void (*function)(char *const *, const int64_t *, int64_t, int64_t) = nullptr;
};

// Values between -2 and 2 from a fixed sequence.
std::vector<double> randomValues(int64_t size, unsigned seed);

// Fails unless all are within `relative` of the wanted values, or within `absolute`.
void expectNear(const std::vector<double> &found, const std::vector<double> &wanted,
                double relative, double absolute = 1e-6);

} // namespace dtc::test
