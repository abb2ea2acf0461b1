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

  // Drawn from a normal distribution; weight decay applies.
  static ParameterSpec weight(llvm::ArrayRef<int64_t> shape, double stddev,
                              llvm::ArrayRef<int64_t> stored = {}) {
    return {llvm::SmallVector<int64_t, 4>(shape), llvm::SmallVector<int64_t, 4>(stored),
            graph::InitKind::Normal, stddev, true};
  }
  // Zeros without decay.
  static ParameterSpec bias(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> stored = {}) {
    return {llvm::SmallVector<int64_t, 4>(shape), llvm::SmallVector<int64_t, 4>(stored),
            graph::InitKind::Zeros, 0, false};
  }
  // The factors of a normalised row: ones without decay.
  static ParameterSpec norm(int64_t width) {
    return {{width}, {}, graph::InitKind::Ones, 0, false};
  }
};

// Which experts a token goes to, and how many rows each of them has.
struct Routing {
  mlir::Value weights, experts, slots; // [batch, sequence, top]
  mlir::Value load, importance;        // [batch, experts], for the balance loss
  int64_t group = 0;                   // tokens that share the rows of an expert
  double capacity = 1;                 // rows per choice when experts are used alike
};

// A module under construction. Values are f32 unless ids; the batch (dim 0) is dynamic.
class ModelBuilder {
public:
  ModelBuilder(mlir::MLIRContext *context, llvm::StringRef name, int64_t sequence);

  mlir::OwningOpRef<mlir::ModuleOp> take();

  // Declares a parameter of the current function, under a name relative to where it is
  // instantiated, and reads it.
  mlir::Value param(llvm::StringRef name, const ParameterSpec &spec);

  // Starts a function and makes it current. Block functions are private.
  graph::FuncOp beginFunc(llvm::StringRef name, llvm::ArrayRef<mlir::Type> arguments,
                          bool isPrivate);
  // Starts '@loss' with inputs "tokens" and "targets", and makes it current.
  graph::FuncOp beginLoss();
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
  // Causal. Dropout of 0 draws nothing; `sliding` is the number of keys that a query sees, 0: all
  // up to it.
  mlir::Value attention(mlir::Value q, mlir::Value k, mlir::Value v, double scale,
                        double dropout = 0, int64_t sliding = 0);
  // The `top` experts of each token by logits [batch, sequence, experts], weights normalised.
  Routing route(mlir::Value logits, int64_t top, double capacity);
  // Tokens [batch, sequence, columns] to rows [experts, batch, rows, columns] and back, weighted.
  mlir::Value dispatch(mlir::Value tokens, const Routing &routing);
  mlir::Value combine(mlir::Value rows, const Routing &routing);
  // Rows times weight [experts, out, in].
  mlir::Value expertLinear(mlir::Value rows, mlir::Value weight, const Routing &routing);
  // [batch]
  mlir::Value balanceLoss(const Routing &routing, double coefficient);
  mlir::Value dropout(mlir::Value x, double p);
  mlir::Value meanCrossEntropy(mlir::Value logits, mlir::Value targets);
  mlir::Value mean(mlir::Value x); // of all elements
  mlir::Value scale(mlir::Value x, double factor);
  // A constant for each sample.
  mlir::Value zeroForEachSample();
  // Runs the block `count` times, handing on its first `carrying` results; its parameters are under
  // `under`, with {} for the number of the execution.
  llvm::SmallVector<mlir::Value> repeat(graph::FuncOp block, int64_t count,
                                        mlir::ValueRange operands, llvm::StringRef under,
                                        int64_t carrying = 1);

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
