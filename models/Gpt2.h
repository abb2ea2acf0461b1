// Builds GPT-2 (Radford et al. 2019) as graph IR, with the parameter names and layouts of Hugging
// Face.
#pragma once

#include "models/ModelBuilder.h"

namespace dtc {

// Sizes and options of GPT-2. The fields have the meaning of those in Hugging Face's GPT2Config.
struct Gpt2Config {
  int64_t vocabulary = 50257, positions = 1024, width = 768, layers = 12, heads = 12;
  int64_t innerWidth = 0; // 0 for 4 * width
  graph::GeluKind activation = graph::GeluKind::Tanh;
  double epsilon = 1e-5, initializerRange = 0.02;
  double residualDropout = 0, embeddingDropout = 0, attentionDropout = 0;
  bool tied = true;           // lm_head is the same parameter as wte
  bool scaleAttention = true; // scales the scores by 1/sqrt(head dim)
  Documents documents = Documents::None;
};

// Builds the model for sequences of `sequence` tokens (at most `positions`). Conv1D weights are
// [in, out], as in Hugging Face's files.
mlir::OwningOpRef<mlir::ModuleOp> buildGpt2(mlir::MLIRContext *context, const Gpt2Config &config,
                                            int64_t sequence);

} // namespace dtc
