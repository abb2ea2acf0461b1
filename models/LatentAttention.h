// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434) under the names of transformers.
// Queries, and keys and values, are made of latents: short rows that all heads share.
#pragma once

#include "models/ModelBuilder.h"

namespace dtc {

struct LlamaConfig;

// Sizes of latents and of the heads that are made of them.
struct LatentConfig {
  int64_t keyRank = 0;   // columns of the latent of keys and values; 0: attention has no latents
  int64_t queryRank = 0; // columns of that of queries; 0: a layer's input is in its place
  // Elements of a head: of queries and keys, those before the rotated ones, and those of values.
  int64_t plainDim = 0, valueDim = 0;
};

// The attention of one kind of layers. Its parameters are declared in the current function of the
// builder.
class LatentAttention {
public:
  // Keeps the references.
  LatentAttention(ModelBuilder &model, const LlamaConfig &config) : model(model), config(config) {}

  // Declares the parameters, below the names of a layer.
  void declare();
  // Returns what attention adds to a layer, for its normalised input [batch, sequence, columns].
  // `rotate` gives the named rotary embedding of heads [batch, sequence, heads, rotated elements].
  mlir::Value build(mlir::Value x,
                    llvm::function_ref<mlir::Value(llvm::StringRef, mlir::Value)> rotate);

private:
  // A linear layer. `bias` is null if it has none.
  struct Linear {
    mlir::Value weight, bias;
  };

  Linear declareLinear(llvm::StringRef name, llvm::ArrayRef<int64_t> shape,
                       llvm::ArrayRef<int64_t> stored = {}, bool hasBias = false);
  mlir::Value declareNorm(llvm::StringRef name, int64_t size);
  mlir::Value project(llvm::StringRef name, mlir::Value x, const Linear &linear,
                      int64_t contract = 1);

  ModelBuilder &model;
  const LlamaConfig &config;
  Linear queryDown, queryUp, keyDown, keyUp, output;
  mlir::Value queryNorm, keyNorm;
};

} // namespace dtc
