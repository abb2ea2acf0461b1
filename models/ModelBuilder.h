// Builds models as graph IR, as people write it: blocks that own their parameters, layers by call,
// names for values and types, result types inferred.
#pragma once

#include "dialects/graph/Graph.h"
#include "dialects/graph/Names.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <optional>
#include <string>

namespace dtc {

// The target that transformers leaves out of losses (ignore_index of torch.nn.CrossEntropyLoss).
constexpr int64_t kIgnoredTarget = -100;

struct ParameterSpec {
  std::string value; // its name in the function: "c_attn_weight"
  std::string name;  // in checkpoints, below the prefix of the block: "attn.c_attn.weight"
  // Heads and head dim apart, so that heads can be split.
  llvm::SmallVector<int64_t, 4> shape;
  // How many dims of `shape` each dim in safetensors is: {1, 3}. Empty: as `shape`.
  llvm::SmallVector<int64_t, 4> stored;
  graph::InitKind init = graph::InitKind::Normal;
  double stddev = 0.02;
  bool decay = true;

  // Zeros without decay.
  static ParameterSpec bias(llvm::StringRef value, llvm::StringRef name,
                            llvm::ArrayRef<int64_t> shape) {
    ParameterSpec spec{
        value.str(), name.str(), llvm::SmallVector<int64_t, 4>(shape), {}, graph::InitKind::Zeros,
        0,           false};
    if (shape.size() > 1) // one dim in the file
      spec.stored = {static_cast<int64_t>(shape.size())};
    return spec;
  }
  // The factors of a normalised row: ones without decay.
  static ParameterSpec norm(llvm::StringRef value, llvm::StringRef name, int64_t width) {
    return {value.str(), name.str(), {width}, {}, graph::InitKind::Ones, 0, false};
  }
};

// Which experts a token goes to, and how many rows each of them has.
struct Routing {
  mlir::Value weights, experts, slots; // [batch, sequence, top]
  mlir::Value load, importance;        // [batch, experts], for the balance loss
  int64_t group = 0;                   // tokens that share the rows of an expert
  double capacity = 1;                 // rows per choice when experts are used alike
};

// The frequencies of rotary position embedding; see graph.rotary_table.
struct RotarySpec {
  double base = 10000;
  std::optional<double> factor;
  // With a factor: which waves are slowed.
  std::optional<double> low, high;
  std::optional<int64_t> positions;
};

// A module under construction. Values are f32 unless ids; the batch (dim 0) is dynamic. as("q")
// names what the next call makes, so arguments are made before. Example:
//   Value q = model.as("q").linear(x, weight, bias, /*transposed=*/true);
class ModelBuilder {
public:
  ModelBuilder(mlir::MLIRContext *context, llvm::StringRef name, int64_t sequence);

  mlir::OwningOpRef<mlir::ModuleOp> take();

  ModelBuilder &as(llvm::ArrayRef<llvm::StringRef> names);
  ModelBuilder &as(llvm::StringRef name) { return as(llvm::ArrayRef<llvm::StringRef>(name)); }
  // Writes `type` as '!name', unless it has a name.
  void nameType(llvm::StringRef name, mlir::Type type);

  // Starts a function that owns parameters and makes it current.
  graph::FuncOp beginBlock(llvm::StringRef name,
                           llvm::ArrayRef<std::pair<llvm::StringRef, mlir::Type>> arguments);
  // Starts '@loss' with inputs "tokens" and "targets", and makes it current.
  graph::FuncOp beginLoss();
  void endFunc(mlir::ValueRange results);

  // Declares parameters of the current function in one op.
  llvm::SmallVector<mlir::Value> parameters(llvm::ArrayRef<ParameterSpec> specs);
  mlir::Value parameter(const ParameterSpec &spec) { return parameters(spec).front(); }
  // `callee` `count` times, each on the first `carrying` results of the one before and the other
  // operands, under `prefix`, in which "{}" is its number.
  llvm::SmallVector<mlir::Value> repeat(graph::FuncOp callee, int64_t count, llvm::StringRef prefix,
                                        mlir::ValueRange operands, int64_t carrying = 1);

  mlir::RankedTensorType tensor(llvm::ArrayRef<int64_t> shape);  // f32
  mlir::RankedTensorType batched(llvm::ArrayRef<int64_t> shape); // f32, [batch, shape...]
  // i32 [batch, sequence, shape...]
  mlir::RankedTensorType ids(llvm::ArrayRef<int64_t> shape = {});

  // Without `bias`, or with it added.
  mlir::Value linear(mlir::Value x, mlir::Value weight, mlir::Value bias, bool transposed,
                     int64_t contract = 1);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value multiply(mlir::Value a, mlir::Value b);
  mlir::Value gelu(mlir::Value x, graph::GeluKind kind);
  mlir::Value silu(mlir::Value x);
  mlir::Value layerNorm(mlir::Value x, mlir::Value weight, mlir::Value bias, double epsilon);
  mlir::Value rmsNorm(mlir::Value x, mlir::Value weight, double epsilon);
  // Look-ups of the row `padding` give it no gradient.
  mlir::Value embedding(mlir::Value table, mlir::Value ids,
                        std::optional<int64_t> padding = std::nullopt);
  // The first `size` of dim 0.
  mlir::Value first(mlir::Value x, int64_t size);
  // The elements of a dim.
  llvm::SmallVector<mlir::Value> unstack(mlir::Value x, int64_t dim);
  std::pair<mlir::Value, mlir::Value> rotaryTable(const RotarySpec &rotary, int64_t headDim);
  mlir::Value rotary(mlir::Value x, std::pair<mlir::Value, mlir::Value> table);
  // Causal. No scale: 1 / sqrt(head dim). Dropout of 0 draws nothing; `sliding` is the number of
  // keys that a query sees, 0: all up to it.
  mlir::Value attention(mlir::Value q, mlir::Value k, mlir::Value v,
                        std::optional<double> scale = {}, double dropout = 0, int64_t sliding = 0);
  // The `top` experts of each token by logits [batch, sequence, experts], weights normalised.
  Routing route(mlir::Value logits, int64_t top, double capacity);
  // Tokens [batch, sequence, columns] to rows [experts, batch, rows, columns] and back, weighted.
  mlir::Value dispatch(mlir::Value tokens, const Routing &routing);
  mlir::Value combine(mlir::Value rows, const Routing &routing);
  // Rows times weight [experts, out, in].
  mlir::Value expertLinear(mlir::Value rows, mlir::Value weight, const Routing &routing);
  // [batch]
  mlir::Value balanceLoss(const Routing &routing, double coefficient);
  mlir::Value dropout(mlir::Value x, double p); // `x` itself where p is 0
  // Over the targets that are not kIgnoredTarget.
  mlir::Value meanCrossEntropy(mlir::Value logits, mlir::Value targets);
  mlir::Value mean(mlir::Value x); // of all elements
  mlir::Value scale(mlir::Value x, double factor);
  mlir::Value zeroForEachSample(); // [batch]

  int64_t sequenceLength() const { return sequence; }

private:
  mlir::RankedTensorType typeOf(mlir::Value value) const;
  mlir::Location next(); // of the next op, with the names that as() gave

  mlir::OpBuilder builder;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::Location loc;
  int64_t sequence;
  graph::FuncOp current;
  graph::TypeNames typeNames;
  llvm::SmallVector<std::string> names; // of what the next call makes
};

} // namespace dtc
