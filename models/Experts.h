// Mixtures of experts as the MLP of a layer: router, experts, an expert that all tokens use, and
// the loss of uneven use, under the names of transformers.
#pragma once

#include "models/ModelBuilder.h"

namespace dtc {

// The form in which a checkpoint has the weights of experts.
enum class ExpertWeights {
  Apart,       // a weight for each expert and part, [out, in]
  GateUpInOne, // all experts in one, [experts, out, in], the gate's rows before those of up
  Alternating  // all experts in one, [experts, in, out], the columns of gate and up in turns
};

// The features of a family's experts that no size tells. Names are relative to those around them;
// an empty name means that the family has no such part.
struct ExpertFeatures {
  const char *module = "mlp", *router = "gate";
  const char *gate = "gate_proj", *up = "up_proj", *down = "down_proj";
  ExpertWeights weights = ExpertWeights::Apart;
  const char *shared = "";     // the module of the expert that all tokens use
  const char *sharedGate = ""; // the weight by which a token scales that expert
  const char *correction = ""; // beside the router's weight: what the choice adds to scores
  bool routerBias = false, expertBias = false;
  bool routerIsWide = false; // the router's weight and its product are in f32 in every precision
  // Gate and up are clamped to `clamp`, and the MLP is down((up + 1) * gate * sigmoid(1.702 gate)).
  double clamp = 0;
};

// Sizes and options of a mixture of experts.
struct ExpertConfig {
  int64_t experts = 0; // 0: no experts
  int64_t top = 2, width = 0, sharedWidth = 0;
  // Rows of an expert per token that it would get if all experts were used alike, beyond which
  // tokens are dropped. None: nothing is dropped.
  std::optional<double> capacity;
  // The router, as graph.route has it.
  const char *score = "softmax";
  bool normalised = true;
  double epsilon = 0, scale = 1;
  int64_t groups = 1, kept = 1, members = 1;
  bool sharedBias = false; // the expert that all tokens use has biases
  // The factor of the loss of uneven use: of transformers' for all layers and samples together, or
  // of the mean over layers and samples of that of each.
  double balance = 0;
  bool balancesSequences = false;
  // The loss of each sample is that of Megatron-LM: divided by the choices of a token, added up
  // over layers, and of scores that add up to 1.
  bool balancesAsMegatron = false;
  double zLoss = 0;          // factor of the squares of the logarithm of the sum of exp(logits)
  double correctionRate = 0; // by which the correction moves with the load after a step; 0: never
  ExpertFeatures features = {};
};

// The mixture of experts of one kind of layers. Its parameters are declared in the current function
// of the builder.
class ExpertLayer {
public:
  // Weights begin with the standard deviation `deviation`. Keeps the references.
  ExpertLayer(ModelBuilder &model, const ExpertConfig &config, int64_t columns, double deviation)
      : model(model), config(config), features(config.features), columns(columns),
        deviation(deviation) {}

  // Declares the parameters, below the names of a layer.
  void declare();
  // The numbers that a layer adds to its input, and to each of the values that layers pass on for
  // the loss of uneven use (carriedTypes).
  struct Output {
    mlir::Value tokens;
    llvm::SmallVector<mlir::Value> carried;
  };
  // Returns the experts' output for tokens [batch, sequence, columns].
  Output build(mlir::Value x, llvm::function_ref<mlir::Value(mlir::Value)> activate);

private:
  mlir::Value parameter(llvm::StringRef value, llvm::StringRef name, llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<int64_t> stored = {});
  mlir::Value bias(llvm::StringRef value, llvm::StringRef name, llvm::ArrayRef<int64_t> shape);
  void declareExperts();
  void addBalance(mlir::Value logits, mlir::Value counts, Output &output);
  mlir::Value scoresOf(mlir::Value logits);
  mlir::Value countsByScore(mlir::Value logits, mlir::Value counts);
  mlir::Value zLossOf(mlir::Value logits);
  mlir::Value moveCorrection(mlir::Value tokens, mlir::Value counts);
  mlir::Value buildWithoutDrops(mlir::Value x, mlir::Value logits,
                                llvm::function_ref<mlir::Value(mlir::Value)> activate,
                                Output &output);
  mlir::Value buildWithCapacity(mlir::Value x, mlir::Value logits,
                                llvm::function_ref<mlir::Value(mlir::Value)> activate,
                                Output &output);
  mlir::Value gated(mlir::Value gate, mlir::Value up,
                    llvm::function_ref<mlir::Value(mlir::Value)> activate);
  mlir::Value buildShared(mlir::Value x, llvm::function_ref<mlir::Value(mlir::Value)> activate);

  ModelBuilder &model;
  const ExpertConfig &config;
  const ExpertFeatures &features;
  int64_t columns;
  double deviation;
  mlir::Value router, routerBias, correction;
  mlir::Value gate, up, down; // `up` is the gate, too, if one weight has both
  mlir::Value upBias, downBias;
  mlir::Value sharedGate, sharedUp, sharedDown, sharedScale;
  mlir::Value sharedGateBias, sharedUpBias, sharedDownBias;
};

// Returns names and types of the values that layers pass on for the loss of uneven use: none
// without one, the loss of each sample so far, or the uses of each expert and its scores; then the
// loss of large logits of each sample.
llvm::SmallVector<std::pair<llvm::StringRef, mlir::Type>> carriedTypes(ModelBuilder &model,
                                                                       const ExpertConfig &config);

// Returns the loss of uneven use, and of large logits, from what `layers` layers have passed on.
mlir::Value balanceLoss(ModelBuilder &model, const ExpertConfig &config, int64_t layers,
                        mlir::ValueRange carried);

} // namespace dtc
