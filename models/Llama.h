// Builds Llama (Touvron et al. 2023, arXiv:2302.13971; grouped queries as in Llama 2 and 3) and
// related models as graph IR, with the parameter names and layouts of Hugging Face: Mistral
// (arXiv:2310.06825; a sliding window), Qwen2 (arXiv:2407.10671; biases on q, k and v), Mixtral
// (arXiv:2401.04088; experts).
#pragma once

#include "models/ModelBuilder.h"

namespace dtc {

// Sizes and options. The fields have the meaning of those in Hugging Face's LlamaConfig,
// MistralConfig, Qwen2Config and MixtralConfig.
struct LlamaConfig {
  std::string name = "llama";
  int64_t vocabulary = 32000, width = 4096, innerWidth = 11008, layers = 32, heads = 32,
          kvHeads = 32, headDim = 128;
  double epsilon = 1e-6, initializerRange = 0.02, attentionDropout = 0;
  RotarySpec rotary;
  bool tied = false, mlpBias = false;
  bool projectionBias = false; // q, k and v have biases
  bool outputBias = false;     // the output of attention has a bias
  int64_t sliding = 0;         // keys that a query sees; 0 for all keys up to it
  // The row of the embedding that gets no gradient from look-ups (pad_token_id).
  std::optional<int64_t> padding;
  // If not 0, each layer has this many experts of width `innerWidth`, and a token uses `top` of
  // them.
  int64_t experts = 0, top = 2;
  // rows of an expert per token that it would get if all experts were used alike
  double capacity = 1;
  double balanceCoefficient = 0; // factor of the loss of uneven use, which is averaged over layers
};

// Builds the model for sequences of `sequence` tokens. Weights are [out, in], the layout of
// torch.nn.Linear. The weights of all experts of a layer are one parameter [experts, out, in]. In
// its name "*" stands for the number of the expert: "...experts.*.w1.weight" is
// "...experts.0.w1.weight" and so on in a checkpoint.
mlir::OwningOpRef<mlir::ModuleOp> buildLlama(mlir::MLIRContext *context, const LlamaConfig &config,
                                             int64_t sequence);

} // namespace dtc
