// Builds models as graph IR in the style that people write: blocks that own their parameters,
// layers by call, names for values and types, inferred result types.
#pragma once

#include "dialects/graph/Graph.h"
#include "dialects/graph/Names.h"
#include "dialects/graph/PointFunctions.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "models/Documents.h"

#include <optional>
#include <string>

namespace dtc {

// The target that transformers ignores in losses (ignore_index of torch.nn.CrossEntropyLoss).
constexpr int64_t kIgnoredTarget = -100;

// The inputs of models of documents: the number of each token's document, its place there, and the
// weight of its loss, which only losses per document read.
constexpr llvm::StringLiteral kDocumentsInput = "documents", kPositionsInput = "positions",
                              kWeightsInput = "weights";

// Describes one parameter of a block.
struct ParameterSpec {
  std::string value; // name in the function: "c_attn_weight"
  std::string name;  // name in checkpoints, below the prefix of the block: "attn.c_attn.weight"
  // Shape with heads and head dim as separate dims, so that heads can be split.
  llvm::SmallVector<int64_t, 4> shape;
  // The number of dims of `shape` that each dim in safetensors combines: {1, 3}. Empty if both are
  // the same.
  llvm::SmallVector<int64_t, 4> stored;
  graph::InitKind init = graph::InitKind::Normal;
  double stddev = 0.02;
  bool decay = true;
  bool frozen = false; // has no gradient and no update
  double constant = 0; // an initial value of that kind

  // Describes a bias: zeros without decay.
  static ParameterSpec bias(llvm::StringRef value, llvm::StringRef name,
                            llvm::ArrayRef<int64_t> shape) {
    ParameterSpec spec{
        value.str(), name.str(), llvm::SmallVector<int64_t, 4>(shape), {}, graph::InitKind::Zeros,
        0,           false};
    if (shape.size() > 1) // one dim in the file
      spec.stored = {static_cast<int64_t>(shape.size())};
    return spec;
  }
  // Describes the factors of a normalised row: ones without decay.
  static ParameterSpec norm(llvm::StringRef value, llvm::StringRef name, int64_t width) {
    return {value.str(), name.str(), {width}, {}, graph::InitKind::Ones, 0, false};
  }
};

// The experts to which each token goes, and the number of rows that an expert has.
struct Routing {
  mlir::Value weights, experts, slots; // [batch, sequence, top]
  mlir::Value load, importance;        // [batch, experts], for the balance loss
  int64_t group = 0;                   // tokens that share the rows of an expert
  double capacity = 1;                 // rows per choice if experts are used alike
};

// The frequencies of rotary position embedding. See graph.rotary_table.
struct RotarySpec {
  double base = 10000;
  std::optional<double> factor;
  // Set together with `factor`: the range of wave lengths in which waves are slowed.
  std::optional<double> low, high;
  std::optional<int64_t> positions;
  // The frequencies of all pairs, if no formula above gives them.
  llvm::SmallVector<double> frequencies;
  double magnitude = 1; // factor of cosines and sines

  bool operator==(const RotarySpec &) const = default;
};

// The masks and the arithmetic of attention beside queries, keys and values. See graph.attention.
struct AttentionSpec {
  std::optional<double> scale = std::nullopt; // 1 / sqrt(head dim) if there is none
  double dropout = 0;
  bool causal = false;
  int64_t sliding = 0;      // keys of a window, 0 for all
  mlir::Value lengths = {}; // [batch], or null
  mlir::Value bias = {};    // [batch, heads, queries, keys] with 1 for dims that share it, or null
};

// Builds a module. Values are f32 except ids, and the batch (dim 0) is dynamic. as("q") names the
// results of the next call, so make its arguments before. Example:
//   Value q = model.as("q").linear(x, weight, bias, /*transposed=*/true);
//
// A model of `documents` has samples of several documents, and inputs that say where they are.
// Blocks get the documents' numbers as their last argument, attention stays within documents, and
// the tables of rotations are looked up by positions.
class ModelBuilder {
public:
  ModelBuilder(mlir::MLIRContext *context, llvm::StringRef name, int64_t sequence,
               Documents documents = Documents::None);

  // Returns the module. The builder cannot be used afterwards.
  mlir::OwningOpRef<mlir::ModuleOp> take();

  // Names the results of the next op.
  ModelBuilder &as(llvm::ArrayRef<llvm::StringRef> names);
  // Names the result of the next op.
  ModelBuilder &as(llvm::StringRef name) { return as(llvm::ArrayRef<llvm::StringRef>(name)); }
  // Makes an op with the names that as() gave.
  template <typename Op, typename... Args> Op make(Args &&...args) {
    return Op::create(builder, next(), std::forward<Args>(args)...);
  }
  // Writes `type` as '!name', unless it already has a name.
  void nameType(llvm::StringRef name, mlir::Type type);

  // Starts a function that owns parameters, and makes it the current one.
  graph::FuncOp beginBlock(llvm::StringRef name,
                           llvm::ArrayRef<std::pair<llvm::StringRef, mlir::Type>> arguments);
  // Starts '@loss' with these inputs, and makes it the current function.
  graph::FuncOp beginLoss(llvm::ArrayRef<std::pair<llvm::StringRef, mlir::Type>> inputs);
  // Starts '@loss' with the inputs "tokens" and "targets", and makes it the current function.
  graph::FuncOp beginLoss();
  // Ends the current function with these results.
  void endFunc(mlir::ValueRange results);

  // Declares parameters of the current function in one op. Returns one value for each.
  llvm::SmallVector<mlir::Value> parameters(llvm::ArrayRef<ParameterSpec> specs);
  // Declares one parameter of the current function.
  mlir::Value parameter(const ParameterSpec &spec) { return parameters(spec).front(); }
  // Calls `callee` `count` times. Each call gets the first `carrying` results of the one before and
  // the other operands. Its parameters are under `prefix`, in which "{}" is the number of the call.
  // `instance` is the number of the first call among all calls of the model.
  llvm::SmallVector<mlir::Value> repeat(graph::FuncOp callee, int64_t count, llvm::StringRef prefix,
                                        mlir::ValueRange operands, int64_t carrying = 1,
                                        int64_t instance = 0);

  mlir::RankedTensorType tensor(llvm::ArrayRef<int64_t> shape);   // f32
  mlir::RankedTensorType batched(llvm::ArrayRef<int64_t> shape);  // f32, [batch, shape...]
  mlir::RankedTensorType integers(llvm::ArrayRef<int64_t> shape); // i32, [batch, shape...]
  // i32, [batch, sequence, shape...]
  mlir::RankedTensorType ids(llvm::ArrayRef<int64_t> shape = {});

  // Multiplies the last `contract` dims of x by the weight, and adds `bias` unless it is null.
  // `transposed` means that the weight is [out..., in...].
  mlir::Value linear(mlir::Value x, mlir::Value weight, mlir::Value bias, bool transposed,
                     int64_t contract = 1);
  // Returns a + b, element by element.
  mlir::Value add(mlir::Value a, mlir::Value b);
  // Returns a * b, element by element.
  mlir::Value multiply(mlir::Value a, mlir::Value b);
  // Returns the GELU of each element.
  mlir::Value gelu(mlir::Value x, graph::GeluKind kind);
  // Returns the SiLU of each element.
  mlir::Value silu(mlir::Value x);
  // Normalises the last dim to mean 0 and variance 1, then applies weight and bias.
  mlir::Value layerNorm(mlir::Value x, mlir::Value weight, mlir::Value bias, double epsilon);
  // Divides the last dim by its root mean square, then applies the weight.
  mlir::Value rmsNorm(mlir::Value x, mlir::Value weight, double epsilon);
  // Returns the hyperbolic tangent of each element.
  mlir::Value tanh(mlir::Value x);
  // Returns the positive part of each element.
  mlir::Value relu(mlir::Value x);
  // Looks up rows of the table. Look-ups of the row `padding` give it no gradient.
  mlir::Value embedding(mlir::Value table, mlir::Value ids,
                        std::optional<int64_t> padding = std::nullopt);
  // Returns the first `size` elements of dim 0.
  mlir::Value first(mlir::Value x, int64_t size);
  // Returns `size` elements of a dim, from `start` on. `squeeze` drops the dim.
  mlir::Value slice(mlir::Value x, int64_t dim, int64_t start, int64_t size, bool squeeze = false);
  // Joins values along a dim.
  mlir::Value concat(mlir::ValueRange values, int64_t dim);
  // Returns the same elements with another shape.
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  // Returns x with its dims in another order.
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation);
  // Returns a tensor of one repeated value.
  mlir::Value constant(double value, llvm::ArrayRef<int64_t> shape);
  // Returns the elements of a dim, each as a value without that dim.
  llvm::SmallVector<mlir::Value> unstack(mlir::Value x, int64_t dim);
  // Returns the cosines and sines of rotary position embedding for every position, for heads of
  // `headDim`: [sequence, headDim / 2], or with documents [batch, sequence, headDim / 2].
  std::pair<mlir::Value, mlir::Value> rotaryTable(const RotarySpec &rotary, int64_t headDim);
  // Rotates the heads of x by the angles of a table.
  mlir::Value rotary(mlir::Value x, std::pair<mlir::Value, mlir::Value> table);
  // Attention, causal or to all keys. The scale is 1 / sqrt(head dim) if none is given. `sliding`
  // is the number of keys that a query sees, 0 for all keys up to it. `softCap` caps scores, unless
  // it is 0.
  mlir::Value attention(mlir::Value q, mlir::Value k, mlir::Value v,
                        std::optional<double> scale = {}, double dropout = 0, int64_t sliding = 0,
                        double softCap = 0, bool causal = true);
  // Attention of any masks; see AttentionSpec.
  mlir::Value attend(mlir::Value q, mlir::Value k, mlir::Value v, const AttentionSpec &spec);
  // Returns the lengths of samples, [batch], of a mask [batch, tokens] that is 0 at padding: the
  // number of tokens up to the last one that is no padding.
  mlir::Value lengthsOf(mlir::Value mask);
  // Returns `heads` times the one head of x, [batch, sequence, 1, elements].
  mlir::Value repeatHead(mlir::Value x, int64_t heads);
  // Chooses the `top` experts of each token by logits [batch, sequence, experts]. Weights are
  // normalised.
  Routing route(mlir::Value logits, int64_t top, double capacity);
  // Sends tokens [batch, sequence, columns] to the rows of their experts, [experts, batch, rows,
  // columns].
  mlir::Value dispatch(mlir::Value tokens, const Routing &routing);
  // Brings rows of experts back to their tokens and adds them up, weighted: [batch, sequence,
  // columns].
  mlir::Value combine(mlir::Value rows, const Routing &routing);
  // Multiplies the rows of each expert by its weight, [experts, out, in].
  mlir::Value expertLinear(mlir::Value rows, mlir::Value weight, const Routing &routing);
  // Returns the loss of uneven use of experts, [batch].
  mlir::Value balanceLoss(const Routing &routing, double coefficient);
  mlir::Value dropout(mlir::Value x, double p); // returns `x` itself if p is 0
  // Returns the mean over the targets that are not kIgnoredTarget; in a model with a loss per
  // document, the mean over documents of their means.
  mlir::Value meanCrossEntropy(mlir::Value logits, mlir::Value targets);
  // Returns ids [batch, sequence] that are `by` places further left, with zeros behind them.
  mlir::Value shiftLeft(mlir::Value ids, int64_t by);
  // Returns the mean of the losses of `logits` over the targets that are not kIgnoredTarget, plus
  // `factor` times the mean of those of `later`: number i of these predicts the target i + 1 places
  // further right. The last places of a sample have no such target. Each of these losses has
  // (sequence - i - 1) / sequence of the counted targets as its divisor, which is the number of its
  // own ones where no target is ignored.
  mlir::Value meanWithLater(mlir::Value logits, mlir::ValueRange later, mlir::Value targets,
                            double factor);
  mlir::Value mean(mlir::Value x); // over all elements
  // Returns x times a factor.
  mlir::Value scale(mlir::Value x, double factor);

  // Small ops. Operands broadcast as in NumPy.
  // Returns a - b, element by element.
  mlir::Value subtract(mlir::Value a, mlir::Value b);
  // Returns a / b, element by element.
  mlir::Value divide(mlir::Value a, mlir::Value b);
  // Returns 1 where a comparison holds, else 0.
  mlir::Value compare(graph::CompareKind kind, mlir::Value a, mlir::Value b);
  // Returns `a` where the mask is not 0, else b.
  mlir::Value where(mlir::Value mask, mlir::Value a, mlir::Value b);
  // Returns a function of each element, with its parameters.
  mlir::Value point(graph::PointFunction function, mlir::Value x,
                    llvm::ArrayRef<double> parameters = {});
  // Returns x as i32 or as f32.
  mlir::Value castTo(mlir::Value x, bool isInteger);
  // Returns 0, 1, 2 and so on, in f32.
  mlir::Value iota(int64_t size);
  // Returns the sums of the elements along a dim up to each of them.
  mlir::Value cumsum(mlir::Value x, int64_t dim);
  // Returns the sum, mean or maximum along a dim, which the result lacks, times `scale`.
  mlir::Value reduce(graph::ReduceKind kind, mlir::Value x, int64_t dim, double scale = 1);
  // Returns x with zeros before and after the elements of a dim.
  mlir::Value pad(mlir::Value x, int64_t dim, int64_t low, int64_t high);
  // Returns the softmax over the last dim.
  mlir::Value softmax(mlir::Value x);
  // Returns the product of matrices, the last two dims, batch by batch. `transposeB` means that b
  // is [..., columns, rows].
  mlir::Value matmul(mlir::Value a, mlir::Value b, bool transposeB);

  int64_t sequenceLength() const { return sequence; }
  bool hasDocuments() const { return documentKind != Documents::None; }
  // Returns the documents of the current function; null for a model without.
  mlir::Value documents();
  // Returns the place of each token in its document, an input of '@loss'; null for a model without.
  mlir::Value positions();

private:
  mlir::Value documentLoss(mlir::Value logits, mlir::Value targets);
  mlir::RankedTensorType typeOf(mlir::Value value) const;
  // Returns the type of operands that broadcast against each other.
  mlir::RankedTensorType broadcastType(mlir::Value a, mlir::Value b) const;
  mlir::Location next(); // location of the next op, with the names that as() gave

  mlir::OpBuilder builder;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::Location loc;
  int64_t sequence;
  Documents documentKind;
  graph::FuncOp current;
  graph::TypeNames typeNames;
  llvm::SmallVector<std::string> names; // names for the results of the next call
};

} // namespace dtc
