// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434) under the names of transformers.
// Queries, and keys and values, are made of latents: short rows that all heads share.
#pragma once

#include "models/LlamaConfig.h"
#include "models/ModelBuilder.h"

namespace dtc {

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
