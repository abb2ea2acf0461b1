// GPT-2 (Radford et al. 2019) as graph IR, with Hugging Face's parameter names and layouts.
#pragma once

#include "models/ModelBuilder.h"

namespace dtc {

// Fields as in Hugging Face's GPT2Config.
struct Gpt2Config {
  int64_t vocabulary = 50257, positions = 1024, width = 768, layers = 12, heads = 12;
  int64_t innerWidth = 0; // 0: 4 * width
  graph::GeluKind activation = graph::GeluKind::Tanh;
  double epsilon = 1e-5, initializerRange = 0.02;
  double residualDropout = 0, embeddingDropout = 0, attentionDropout = 0;
  bool tied = true;           // lm_head shares wte
  bool scaleAttention = true; // by 1/sqrt(head dim)
};

// The model for sequences of `sequence` tokens (at most `positions`). Conv1D weights are [in, out],
// as stored.
mlir::OwningOpRef<mlir::ModuleOp> buildGpt2(mlir::MLIRContext *context, const Gpt2Config &config,
                                            int64_t sequence);

} // namespace dtc
