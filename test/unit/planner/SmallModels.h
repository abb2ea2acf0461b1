// Models that are planned in milliseconds.
#pragma once

#include "compiler/describe/frontend/Frontend.h"
#include "models/Gpt2.h"
#include "models/Llama.h"
#include "test/unit/estimate/SmallMixture.h"

namespace dtc {

// Returns a GPT-2 with heads of 64.
inline mlir::OwningOpRef<mlir::ModuleOp> smallGpt2(mlir::MLIRContext &context, int64_t layers,
                                                   int64_t sequence, int64_t width = 256,
                                                   int64_t vocabulary = 512) {
  Gpt2Config config;
  config.vocabulary = vocabulary;
  config.positions = sequence;
  config.width = width;
  config.layers = layers;
  config.heads = width / 64;
  return completed(buildGpt2(&context, config, sequence));
}

// Returns a Llama without shared parameters of embedding and output layer.
inline mlir::OwningOpRef<mlir::ModuleOp> smallUntied(mlir::MLIRContext &context, int64_t layers,
                                                     int64_t sequence, int64_t vocabulary) {
  LlamaConfig config;
  config.vocabulary = vocabulary;
  config.width = 256;
  config.innerWidth = 512;
  config.layers = layers;
  config.heads = config.kvHeads = 4;
  config.headDim = 64;
  return completed(buildLlama(&context, config, sequence));
}

// Returns a Llama with four experts a layer.
inline mlir::OwningOpRef<mlir::ModuleOp> smallMixture(mlir::MLIRContext &context, int64_t layers,
                                                      int64_t sequence) {
  LlamaConfig config;
  config.vocabulary = 512;
  config.width = 256;
  config.innerWidth = 512;
  config.layers = layers;
  config.heads = config.kvHeads = 4;
  config.headDim = 64;
  config.experts = smallMixture(4, config.innerWidth);
  return completed(buildLlama(&context, config, sequence));
}

} // namespace dtc
