// Builds Llama, Mistral, Mixtral and Qwen2 from their config.json.
#include "compiler/frontend/HfKeys.h"
#include "compiler/frontend/HfTable.h"
#include "compiler/frontend/Importers.h"

#include "models/Llama.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace dtc {
namespace {

// 1. Rotary embedding.

std::string spelled(int64_t value) { return std::to_string(value); }

// Reads a number that the type of rotary embedding may require. Returns `fallback` if it is absent
// and not required.
double readRotary(HfConfig &rope, const std::string &type, const char *key, double fallback) {
  if (!rope.has(key) && needsRotaryKey(type, key))
    rope.fail(key, "is missing, which " + type + " rotary embedding needs");
  return rope.number(key, fallback);
}

// Reads the factors of llama3, which slows waves by their length.
void readLlama3(HfConfig &rope, int64_t positions, RotarySpec &rotary) {
  rotary.low = readRotary(rope, "llama3", "low_freq_factor", 1);
  rotary.high = readRotary(rope, "llama3", "high_freq_factor", 4);
  rotary.positions = rope.integer("original_max_position_embeddings", positions, 1, kMostTokens);
  if (*rotary.low <= 0)
    rope.refuse("low_freq_factor", "a number greater than 0");
  else if (*rotary.high <= *rotary.low)
    rope.refuse("high_freq_factor", "a number greater than 'low_freq_factor'");
}

// Reads both spellings: `rope_theta` beside `rope_scaling`, and (transformers 5) `rope_parameters`
// with everything inside. Sequences are never longer than max_position_embeddings (`positions`),
// and up to that length transformers computes `dynamic` as `default`.
RotarySpec importRotary(TypedConfig &config, int64_t positions) {
  HfConfig &json = config.json;
  bool nested = json.has("rope_parameters");
  const char *key = nested ? "rope_parameters" : "rope_scaling";
  HfConfig rope = json.child(key);
  RotarySpec rotary;
  rotary.base = config.number("rope_theta");
  HfConfig &holder = rope.has("rope_theta") ? rope : json;
  double inside = rope.number("rope_theta", rotary.base);
  if (json.has("rope_theta") && inside != rotary.base)
    json.refuse("rope_theta", "what '" + std::string(key) + "' have");
  rotary.base = inside;
  if (rotary.base <= 0)
    holder.refuse("rope_theta", "a number greater than 0");
  std::string type = rope.word("rope_type", rope.word("type", "default"));
  double factor = readRotary(rope, type, "factor", 1);
  if (factor <= 0)
    rope.refuse("factor", "a number greater than 0");
  if (type == "linear" || type == "llama3")
    rotary.factor = factor;
  else if (type != "default" && type != "dynamic")
    rope.fail(rope.has("rope_type") ? "rope_type" : "type",
              "is '" + type + "'; dtc knows default, dynamic, linear and llama3",
              "taking '" + std::string(key) + "' out would train another model; " +
                  kWriteItYourself);
  if (type == "llama3")
    readLlama3(rope, positions, rotary);
  else // other types have no effect
    for (const char *unused :
         {"low_freq_factor", "high_freq_factor", "original_max_position_embeddings"})
      (void)rope.number(unused, 0);
  refuseUnreadKeys(rope, type + " rotary embedding");
  json.adopt(rope);
  return rotary;
}

// 2. Attention.

void importAttention(TypedConfig &config, LlamaConfig &model) {
  model.heads = config.integer("num_attention_heads");
  // Null means as many as heads.
  model.kvHeads = config.optionalInteger("num_key_value_heads").value_or(model.heads);
  std::optional<int64_t> headDim = config.optionalInteger("head_dim");
  if (!headDim)
    requireDivides(config, "num_attention_heads", model.heads, "hidden_size", model.width);
  model.headDim = headDim.value_or(model.width / model.heads);
  requireDivides(config, "num_key_value_heads", model.kvHeads, "num_attention_heads", model.heads);
  if (model.headDim % 2 != 0)
    config.json.fail("head_dim",
                     "is " + spelled(model.headDim) + "; rotary embedding needs an even head dim");
  model.attentionDropout = config.probability("attention_dropout");
  if (config.type == "qwen2")
    model.projectionBias = true;
  if (config.type == "llama") {
    model.projectionBias = model.outputBias = config.flag("attention_bias");
    model.mlpBias = config.flag("mlp_bias");
  }
}

// Counts the layers that newer files list as having a window. Returns nothing if the file has no
// list.
std::optional<int64_t> listedWindows(HfConfig &json, int64_t layers) {
  std::vector<std::string> kinds = json.words("layer_types");
  if (kinds.empty())
    return std::nullopt;
  if (static_cast<int64_t>(kinds.size()) != layers)
    json.fail("layer_types", "has the kinds of " + spelled(static_cast<int64_t>(kinds.size())) +
                                 " layers, wanted " + spelled(layers) +
                                 " as 'num_hidden_layers' says");
  for (const std::string &kind : kinds)
    if (kind != "full_attention" && kind != "sliding_attention")
      json.fail("layer_types", "has '" + kind + "'; dtc knows full_attention and sliding_attention",
                kWriteItYourself);
  return llvm::count(kinds, "sliding_attention");
}

// A window as long as the sequence has no effect, and neither has null.
void importWindow(TypedConfig &config, LlamaConfig &model, int64_t sequence) {
  HfConfig &json = config.json;
  int64_t window = 0, windows = model.layers; // number of layers with the window
  std::string key = "max_window_layers";
  if (config.type != "llama")
    window = config.optionalInteger("sliding_window", 1, kMostTokens).value_or(0);
  if (config.type == "qwen2") {
    // Layers from max_window_layers on have the window.
    windows = std::max<int64_t>(0, model.layers - config.integer(key.c_str(), 0));
    if (!config.flag("use_sliding_window"))
      window = 0;
  }
  std::optional<int64_t> listed = listedWindows(json, model.layers);
  if (listed && *listed != windows && config.type == "qwen2") {
    windows = *listed;
    key = "layer_types";
  }
  int64_t have = window > 0 ? windows : 0;
  if (listed && window < sequence && *listed != have)
    json.fail("layer_types", "has sliding_attention " + spelled(*listed) + " times, but " +
                                 spelled(have) + " layers of this " + config.type +
                                 " have a window");
  if (have == 0 || window >= sequence)
    return;
  if (windows < model.layers)
    json.fail(key.c_str(), (key == "layer_types" ? "is a list"
                                                 : "is " + spelled(model.layers - windows) +
                                                       config.byDefault(key.c_str())) +
                               ", so that only some of the " + spelled(model.layers) +
                               " layers have the sliding window of " + spelled(window) +
                               "; dtc builds layers that are alike: use --seq-len " +
                               spelled(window) + " or less");
  model.sliding = window;
}

// 3. Experts and other parts.

void importExperts(TypedConfig &config, LlamaConfig &model) {
  HfConfig &json = config.json;
  model.experts = config.integer("num_local_experts", 1, kMostExperts);
  model.top = config.integer("num_experts_per_tok");
  if (model.top > model.experts)
    json.fail("num_experts_per_tok",
              "is " + spelled(model.top) + config.byDefault("num_experts_per_tok") +
                  ", more than 'num_local_experts' = " + spelled(model.experts));
  double coefficient = config.number("router_aux_loss_coef");
  if (coefficient < 0)
    json.refuse("router_aux_loss_coef", "a number of 0 or more");
  // The class adds the loss of uneven use only if the model outputs the router's logits.
  model.balanceCoefficient = config.flag("output_router_logits") ? coefficient : 0;
  if (config.number("router_jitter_noise") != 0)
    json.refuse("router_jitter_noise", "0: dtc can't build the noise");
  // Hugging Face has no such key, because it never drops a token. The name is that of Megatron-LM's
  // option.
  model.capacity = json.number("moe_expert_capacity_factor", 1);
  if (model.capacity <= 0 || model.capacity > static_cast<double>(model.experts))
    json.refuse("moe_expert_capacity_factor",
                "a number greater than 0 and at most 'num_local_experts' = " +
                    spelled(model.experts));
}

// Reads the row without gradient from look-ups. A negative number counts from the end of the table.
std::optional<int64_t> importPadding(TypedConfig &config, int64_t vocabulary) {
  std::optional<int64_t> padding =
      config.optionalInteger("pad_token_id", -vocabulary, vocabulary - 1);
  return padding && *padding < 0 ? *padding + vocabulary : padding;
}

} // namespace

OwningOpRef<ModuleOp> importLlama(MLIRContext *context, TypedConfig &config, int64_t sequence) {
  HfConfig &json = config.json;
  LlamaConfig model;
  model.name = config.type;
  model.vocabulary = config.integer("vocab_size", 1, kMostTokens);
  model.width = config.integer("hidden_size");
  model.innerWidth = config.integer("intermediate_size");
  model.layers = config.integer("num_hidden_layers", 1, kMostLayers);
  importAttention(config, model);
  model.epsilon = readEpsilon(config, "rms_norm_eps");
  model.initializerRange = readDeviation(config);
  model.tied = config.flag("tie_word_embeddings");
  model.padding = importPadding(config, model.vocabulary);
  std::string activation = config.word("hidden_act");
  if (activation != "silu" && activation != "swish")
    json.fail("hidden_act", "is '" + activation + "'; dtc builds " + config.type + " with silu");
  if (config.type == "mixtral")
    importExperts(config, model);
  int64_t positions = config.integer("max_position_embeddings", 1, kMostTokens);
  model.rotary = importRotary(config, positions);
  sequence = chooseSequence(config, sequence, positions, "max_position_embeddings");
  importWindow(config, model, sequence);
  refuseUnreadKeys(json, config.type);
  return json.ok() ? buildLlama(context, model, sequence) : nullptr;
}

} // namespace dtc
