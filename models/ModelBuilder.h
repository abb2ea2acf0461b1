// Builds models as graph IR: parameters by name, layers by call, result types inferred.
#pragma once

#include "dialects/graph/Graph.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace dtc {

struct ParameterSpec {
  llvm::SmallVector<int64_t, 4>
      shape; // logical: heads and head dim apart, so that heads can be split
  llvm::SmallVector<int64_t, 4> stored; // in safetensors; empty: as `shape`
  graph::InitKind init = graph::InitKind::Normal;
  double stddev = 0.02;
  bool decay = true;
};

// A module under construction. Values are f32 unless ids; the batch (dim 0) is dynamic.
class ModelBuilder {
public:
  ModelBuilder(mlir::MLIRContext *context, llvm::StringRef name, int64_t vocabulary,
               int64_t sequence);

  mlir::OwningOpRef<mlir::ModuleOp> take() { return std::move(module); }

  // Declares a parameter; errors are for our own bugs (a name declared twice).
  void declare(llvm::StringRef name, const ParameterSpec &spec);
  // Reads a declared parameter in the current function.
  mlir::Value get(llvm::StringRef name);

  // Starts a function and makes it current. Block functions are private.
  graph::FuncOp beginFunc(llvm::StringRef name, llvm::ArrayRef<mlir::Type> arguments,
                          bool isPrivate);
  void endFunc(mlir::ValueRange results);

  mlir::RankedTensorType tensor(llvm::ArrayRef<int64_t> shape);  // f32
  mlir::RankedTensorType batched(llvm::ArrayRef<int64_t> shape); // f32, [batch, shape...]
  mlir::RankedTensorType ids();                                  // i32 [batch, sequence]

  mlir::Value linear(mlir::Value x, mlir::Value weight, bool transposed, int64_t contract = 1);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value multiply(mlir::Value a, mlir::Value b);
  mlir::Value gelu(mlir::Value x, graph::GeluKind kind);
  mlir::Value silu(mlir::Value x);
  mlir::Value layerNorm(mlir::Value x, mlir::Value weight, mlir::Value bias, double epsilon);
  mlir::Value rmsNorm(mlir::Value x, mlir::Value weight, double epsilon);
  mlir::Value embedding(mlir::Value table, mlir::Value ids);
  mlir::Value slice(mlir::Value x, int64_t dim, int64_t start, int64_t size, bool squeeze);
  std::pair<mlir::Value, mlir::Value> rotaryTable(llvm::ArrayRef<double> inverseFrequencies);
  mlir::Value rotary(mlir::Value x, std::pair<mlir::Value, mlir::Value> table);
  // Causal. Dropout of 0 draws nothing.
  mlir::Value attention(mlir::Value q, mlir::Value k, mlir::Value v, double scale,
                        double dropout = 0);
  mlir::Value dropout(mlir::Value x, double p);
  mlir::Value meanCrossEntropy(mlir::Value logits, mlir::Value targets);
  llvm::SmallVector<mlir::Value> call(graph::FuncOp callee, mlir::ValueRange operands,
                                      int64_t instance);

  int64_t sequenceLength() const { return sequence; }

private:
  mlir::RankedTensorType typeOf(mlir::Value value) const;
  mlir::RankedTensorType withoutLast(mlir::Value value) const;
  std::pair<mlir::Value, mlir::Value> randomKey();

  mlir::OpBuilder builder;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::Location loc;
  int64_t sequence;
  graph::FuncOp current;
  int64_t nextRandomId = 1; // one stream per random op of the module
};

} // namespace dtc
