// Features, sizes and options of Llama and related models. A family is a set of features,
// LlamaFeatures: compiler/describe/frontend/Families.cpp has one row for each.
#pragma once

#include "models/Experts.h"
#include "models/ModelBuilder.h"

namespace dtc {

// The norms of a model: by root mean square, the same with a weight that counts from 1, and by mean
// and variance, with a bias, without one, and without a weight, too.
enum class LlamaNorm { Rms, RmsPlusOne, Layer, LayerWithoutBias, Plain };

// The norms of queries and keys: none, one weight for every head, one for all heads together, or a
// layer norm of every head with a weight of its own.
enum class LlamaQkNorm { None, PerHead, Whole, EachHead };

// The weights of queries, keys and values: apart, one after the other in one weight, or side by
// side for each head in one weight.
enum class LlamaQkv { Apart, InOne, ByHead };

// The activation of an MLP.
enum class LlamaActivation { Silu, GeluTanh, GeluErf, Relu };

// The features of a family that no size tells. Names are relative to those of the module around
// them; an empty name means that the family has no such part.
struct LlamaFeatures {
  LlamaNorm norm = LlamaNorm::Rms;
  // Names of the norms in front of and behind attention and the MLP. Without `mlpIn` the MLP of a
  // parallel layer reads what attention reads.
  const char *attentionIn = "input_layernorm", *attentionOut = "";
  const char *mlpIn = "post_attention_layernorm", *mlpOut = "";
  bool parallel = false; // x + attention(norm x) + mlp(norm x), one sum of three
  LlamaQkNorm qkNorm = LlamaQkNorm::None;
  const char *qkNormName = "_norm"; // the name of the norms, behind "q" and "k"
  // The names of the weights of EachHead, behind "q" and "k". "*" stands for the number of a head.
  const char *qkNormWeight = "_norm.weight";
  LlamaQkv qkv = LlamaQkv::Apart;
  bool interleaved = false;     // rotary embedding turns elements 2i and 2i + 1, not i and i + d/2
  bool gated = true;            // the MLP is down(active(gate x) * up x), not down(active(up x))
  bool gateUpInOne = false;     // gate and up are one weight, one after the other
  bool sinks = false;           // each head of attention has a sink
  bool embeddingScaled = false; // embeddings are multiplied by the root of the width
  bool headBias = false;        // the output layer has a bias
  const char *base = "model", *embedding = "embed_tokens", *lastNorm = "norm";
  const char *layers = "layers";
  const char *head = "lm_head"; // the output layer, beside the base
  const char *attention = "self_attn", *fusedQkv = "qkv_proj", *output = "o_proj";
  const char *up = "up_proj", *down = "down_proj";
};

// Sizes of latents and of the heads that are made of them.
struct LatentConfig {
  int64_t keyRank = 0;   // columns of the latent of keys and values; 0: attention has no latents
  int64_t queryRank = 0; // columns of that of queries; 0: a layer's input is in its place
  // Elements of a head: of queries and keys, those before the rotated ones, and those of values.
  int64_t plainDim = 0, valueDim = 0;
};

// Sizes and options. The fields have the meaning of those in Hugging Face's LlamaConfig and its
// kin.
struct LlamaConfig {
  std::string name = "llama";
  int64_t vocabulary = 32000, width = 4096, innerWidth = 11008, layers = 32, heads = 32,
          kvHeads = 32, headDim = 128;
  double epsilon = 1e-6, initializerRange = 0.02;
  double attentionDropout = 0, embeddingDropout = 0;
  double outputDropout = 0, mlpDropout = 0; // behind attention and behind the MLP
  RotarySpec rotary;
  int64_t rotaryDims = 0; // the first elements of a head, which are rotated; 0 for all
  // One for each layer: 1 if it has rotary embedding. Empty if all layers have it.
  llvm::SmallVector<int64_t> rotaryLayers;
  // One for each layer: 1 if it is local, which is to have the window `sliding` and the rotary
  // embedding `localRotary`. Empty if all layers are.
  llvm::SmallVector<int64_t> localLayers;
  std::optional<RotarySpec> localRotary; // `rotary` if there is none
  bool tied = false, mlpBias = false;
  bool projectionBias = false; // q, k and v have biases
  bool outputBias = false;     // the output of attention has a bias
  int64_t sliding = 0;         // keys that a query sees; 0 for all keys up to it
  LlamaActivation activation = LlamaActivation::Silu;
  // The factor of scores, 1 / sqrt(head dim) if there is none.
  std::optional<double> attentionScale;
  // Soft caps of scores and of logits: x becomes cap * tanh(x / cap); 0 for none.
  double scoreCap = 0, logitCap = 0;
  double clip = 0; // queries, keys and values are clipped to this magnitude; 0 for none
  // Factors of embeddings, of what attention and the MLP add to a layer's input, and of logits.
  double embeddingScale = 1, residualScale = 1, logitScale = 1;
  // The row of the embedding that gets no gradient from look-ups (pad_token_id).
  std::optional<int64_t> padding;
  // With latents, `headDim` has the elements of a query or key that are rotated.
  LatentConfig latent;
  ExpertConfig experts; // of all layers but dense ones
  // One for each layer: 1 if it has an MLP of width `innerWidth` in the place of experts. Empty if
  // no layer has, or there are no experts.
  llvm::SmallVector<int64_t> denseLayers;
  // The tokens behind the next one that are predicted, each by a module of its own that reads the
  // one before (multi-token prediction, arXiv:2412.19437), and the factor of the mean of their
  // losses. A sequence has more tokens than these.
  int64_t laterTokens = 0;
  double laterLoss = 0;
  Documents documents = Documents::None;
  LlamaFeatures features = {};
};

} // namespace dtc
