// Llama (Touvron et al. 2023, arXiv:2302.13971; grouped queries as in Llama 2 and 3) and its kin as
// graph IR, with Hugging Face's parameter names and layouts: Mistral (arXiv:2310.06825; a sliding
// window), Qwen2 (arXiv:2407.10671; biases on q, k and v), Mixtral (arXiv:2401.04088; experts).
#pragma once

#include "models/ModelBuilder.h"

namespace dtc {

// Fields as in Hugging Face's LlamaConfig, MistralConfig, Qwen2Config and MixtralConfig.
struct LlamaConfig {
  std::string name = "llama";
  int64_t vocabulary = 32000, width = 4096, innerWidth = 11008, layers = 32, heads = 32,
          kvHeads = 32, headDim = 128;
  double epsilon = 1e-6, initializerRange = 0.02, attentionDropout = 0;
  RotarySpec rotary;
  bool tied = false, mlpBias = false;
  bool projectionBias = false; // of q, k and v
  bool outputBias = false;     // of attention's output
  int64_t sliding = 0;         // keys that a query sees; 0: all up to it
  // The row of the embedding that look-ups give no gradient (pad_token_id).
  std::optional<int64_t> padding;
  // With experts each layer has that many of width `innerWidth`, of which a token uses `top`.
  int64_t experts = 0, top = 2;
  double capacity = 1;           // rows of an expert per token it would get if all were used alike
  double balanceCoefficient = 0; // of the loss of uneven use, averaged over layers
};

// The model for sequences of `sequence` tokens. Weights are [out, in], as torch.nn.Linear stores
// them. The weights of all experts of a layer are one parameter [experts, out, in], in whose name
// "*" stands for the number of the expert: "...experts.*.w1.weight" is "...experts.0.w1.weight" and
// so on in a checkpoint.
mlir::OwningOpRef<mlir::ModuleOp> buildLlama(mlir::MLIRContext *context, const LlamaConfig &config,
                                             int64_t sequence);

} // namespace dtc
