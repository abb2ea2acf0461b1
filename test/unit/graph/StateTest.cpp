// Compares the ops that batch norm is written out as with its definition.
#include "Interpreter.h"

#include "dialects/graph/StateOps.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace dtc::graph;

namespace {

// Numbers around `middle` that repeat late.
Tensor numbers(Type type, double middle) {
  Tensor tensor = Tensor::zeros(type);
  for (size_t i = 0; i < tensor.data.size(); ++i)
    tensor.data[i] = middle + std::sin(1.7 * static_cast<double>(i + 1));
  return tensor;
}

// Checks all results of the only op of a function, a batch norm, against the ops that it becomes.
void checkSums(const std::string &shape, const std::string &channels, double middle, double step) {
  std::string x = "tensor<" + shape + "xf32>", c = "tensor<" + channels + "xf32>";
  SCOPED_TRACE(x);
  MLIRContext context;
  context.loadDialect<GraphDialect>();
  auto module = parseSourceString<ModuleOp>(
      "graph.func @f(%x: " + x + ", %w: " + c + ", %b: " + c + ", %m: " + c + ", %v: " + c +
          ", %s: tensor<f32>) -> (" + x + ", " + c + ", " + c + ", " + c +
          ") {\n%y:4 = graph.batch_normalise %x, %w, %b held %m, %v, %s epsilon 0.01 : (" + x +
          ", " + c + ", " + c + ", " + c + ", " + c + ", tensor<f32>) -> (" + x + ", " + c + ", " +
          c + ", " + c + ")\ngraph.return %y#0, %y#1, %y#2, %y#3 : " + x + ", " + c + ", " + c +
          ", " + c + "\n}",
      &context);
  ASSERT_TRUE(module);
  Block &body = cast<FuncOp>(module->getBody()->front()).getBody().front();
  Values values;
  for (BlockArgument argument : body.getArguments())
    values[argument] = numbers(argument.getType(), argument.getArgNumber() == 4 ? 3 : middle);
  values[body.getArgument(5)].data[0] = step;
  auto norm = cast<BatchNormaliseOp>(body.front());
  interpret(norm, values);
  std::vector<Tensor> wanted;
  for (Value result : norm->getResults())
    wanted.push_back(values[result]);
  ASSERT_TRUE(succeeded(norm.writeSums()));
  ASSERT_TRUE(succeeded(verify(*module)));
  for (Operation &op : body.without_terminator())
    interpret(&op, values);
  for (auto [index, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    for (size_t i = 0; i < wanted[index].data.size(); ++i)
      EXPECT_NEAR(values[value].data[i], wanted[index].data[i], 2e-6 * (1 + std::abs(middle)))
          << "result " << index << " element " << i;
}

TEST(BatchNorm, IsWrittenOutAsSums) {
  for (double step : {0.0, 1.0}) { // evaluation, training
    checkSums("5x3", "3", 0, step);
    checkSums("4x2x7", "2", 0, step);
    checkSums("3x2x4x5", "2", 0, step);
    checkSums("2x3x2x3x2", "3", 0, step);
    checkSums("3x1x4x5", "1", 100, step);
  }
}

TEST(BatchNorm, RefusesChannelsOfOneElement) {
  MLIRContext context;
  context.loadDialect<GraphDialect>();
  auto module = parseSourceString<ModuleOp>(
      "graph.func @f(%x: tensor<1x3xf32>, %w: tensor<3xf32>) {\n"
      "%y:4 = graph.batch_normalise %x, %w, %w : (tensor<1x3xf32>, tensor<3xf32>, tensor<3xf32>) "
      "-> (tensor<1x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)\ngraph.return\n}",
      &context);
  ASSERT_TRUE(module);
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  auto norm =
      cast<BatchNormaliseOp>(cast<FuncOp>(module->getBody()->front()).getBody().front().front());
  EXPECT_TRUE(failed(norm.writeSums()));
  EXPECT_NE(message.find("one element per channel"), std::string::npos) << message;
}

} // namespace
