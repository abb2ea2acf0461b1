// The families of models that are built like Llama. Each is one row of the table in Families.cpp;
// docs/adding-a-model.md tells how to add one. Internal to this folder.
#pragma once

#include "models/Llama.h"

#include "llvm/ADT/ArrayRef.h"

namespace dtc {

// The layers that have the window of a config.
enum class HfWindows {
  None,      // the class has no window
  All,       // all layers, if `sliding_window` is set
  FromLayer, // layers from `max_window_layers` on, if `use_sliding_window` is true
  Listed     // the layers that `layer_types` lists
};

// The layers that have rotary embedding.
enum class HfRotaryLayers {
  All,
  Listed,  // the layers for which `no_rope_layers` has 1
  Windowed // layers with a window
};

// A bias that every model of a family has, in the place of a key.
inline constexpr const char *kAlways = "always";

// The default of `rope_theta` in the place of a key for another base.
inline constexpr const char *kOwnDefault = "own default";

// The number that a norm without weights adds to a variance.
inline constexpr double kPlainEpsilon = 1e-5;

// An interval that is longer than every model.
inline constexpr int64_t kNever = int64_t(1) << 62;

// Weights of experts that are never normalised, in the place of a key.
inline constexpr const char *kNotNormalised = "not normalised";

// The experts of a family: their features, and the keys from which the class reads the rest.
struct HfExperts {
  ExpertFeatures features = {};
  const char *count = "num_experts";
  const char *width = "moe_intermediate_size"; // empty: that of the MLP
  const char *score = "softmax";
  const char *normalised = "norm_topk_prob"; // empty: weights always are; or kNotNormalised
  double epsilon = 0;
  const char *scale = "", *groups = "", *kept = "";
  int64_t members = 1; // experts by which a group is judged
  const char *sharedWidth = "", *sharedCount = "";
  const char *denseFirst = ""; // the number of the first layers, which have an MLP
  bool areSparse = false;      // the class has `decoder_sparse_step` and `mlp_only_layers`
  // A key whose value makes the class choose from the best groups only; empty: it always does.
  const char *groupedBy = "", *groupedValue = "";
  bool sharedMayHaveBias = false; // the shared expert has biases where MLPs have them
  const char *balance = "router_aux_loss_coef", *jitter = "", *clamp = "";
  bool mayDrop = false; // there may be a capacity, which transformers does not know
};

// A family: its names, its features, and the keys from which the class of transformers reads the
// rest. An empty key means that the class has none. Defaults are those of most families.
struct Family {
  const char *type = "", *architecture = "";
  LlamaFeatures features = {};
  const char *width = "hidden_size", *layers = "num_hidden_layers";
  const char *heads = "num_attention_heads", *positions = "max_position_embeddings";
  const char *innerWidth = "intermediate_size"; // 4 times the width where the class has null
  const char *epsilon = "rms_norm_eps";         // kPlainEpsilon if there is no key
  const char *projectionBias = "", *outputBias = "", *mlpBias = "";
  const char *activation = "hidden_act";
  const char *theta = "rope_theta";
  // Layers with and without a window have rotary embedding of their own: `rope_parameters` has an
  // object for each of the two. Older files have one base for the layers without, and one under
  // this key for those with; kOwnDefault if it is always that of the class.
  const char *localTheta = "";
  const char *rotaryPart = ""; // the part of a head that is rotated
  const char *rotaryDims = ""; // the elements of a head that are rotated, by the usual base
  const char *attentionDropout = "attention_dropout";
  const char *embeddingDropout = "", *outputDropout = "", *mlpDropout = "";
  const char *embeddingScale = "", *residualScale = "", *attentionScale = "", *logitScale = "";
  const char *logitDivisor = "";
  const char *scoreDivisor = "";             // scores are divided by its root
  const char *scoreCap = "", *logitCap = ""; // soft caps
  const char *clip = "";                     // the largest magnitude of queries, keys and values
  const char *qkNormFlag = "";               // false: the norms of queries and keys are left out
  const char *parallel = "";                 // true: layers are parallel
  bool parallelSharesNorm = false;           // and the MLP then has no norm of its own
  HfWindows windows = HfWindows::None;
  HfRotaryLayers rotaryLayers = HfRotaryLayers::All;
  // The interval of layers without a window, if there is no `layer_types`; 0: layers without rotary
  // embedding have one. A file may have it under the key.
  int64_t unwindowedEvery = 0;
  const char *unwindowedKey = "";
  bool grouped = true;              // the class has `num_key_value_heads`
  bool latent = false;              // attention is that of latents, whose keys all classes share
  const char *interleavedFlag = ""; // rotary embedding turns elements 2i and 2i + 1
  bool freeHeadDim = true;          // the class takes a `head_dim` that heads and width do not give
  bool geluIsTanh = false;          // "gelu" means the approximation by tanh
  // The class takes no type of rotary embedding but default and longrope, which older files call su
  // or yarn.
  bool onlyLongrope = false;
  bool needsRotaryKind = false;       // a file without one: the class scales its rotary embedding
  const HfExperts *experts = nullptr; // experts of its layers; null: none
  // The number of modules behind the layers that predict later tokens (multi-token prediction).
  const char *laterTokens = "";
  const char *mustBeOff = ""; // a flag of a part that dtc does not build
};

// Returns all families.
llvm::ArrayRef<Family> allFamilies();

// Returns the family of a model_type, or null.
const Family *findFamily(llvm::StringRef type);

} // namespace dtc
