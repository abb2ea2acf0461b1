// Llama (Touvron et al. 2023, arXiv:2302.13971; grouped queries as in Llama 2 and 3) as graph IR,
// with Hugging Face's parameter names and layouts.
#pragma once

#include "models/ModelBuilder.h"

#include <vector>

namespace dtc {

// Fields as in Hugging Face's LlamaConfig.
struct LlamaConfig {
  int64_t vocabulary = 32000, width = 4096, innerWidth = 11008, layers = 32, heads = 32,
          kvHeads = 32, headDim = 128;
  double epsilon = 1e-6, initializerRange = 0.02, attentionDropout = 0;
  std::vector<double> inverseFrequencies; // head dim / 2 of them
  bool tied = false, attentionBias = false, mlpBias = false;
};

// Inverse frequencies of rotary embedding: theta^(-2i/headDim), i = 0..headDim/2-1 (Su et al. 2021,
// arXiv:2104.09864).
std::vector<double> rotaryFrequencies(double theta, int64_t headDim);
// Llama 3.1's stretching for longer contexts (transformers' rope type "llama3").
void stretchLlama3(std::vector<double> &frequencies, double factor, double lowFactor,
                   double highFactor, double originalPositions);

// The model for sequences of `sequence` tokens. Weights are [out, in], as torch.nn.Linear stores
// them.
mlir::OwningOpRef<mlir::ModuleOp> buildLlama(mlir::MLIRContext *context, const LlamaConfig &config,
                                             int64_t sequence);

} // namespace dtc
