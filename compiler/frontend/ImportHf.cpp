// Builds the model that a Hugging Face config.json describes.
#include "compiler/frontend/HfConfig.h"

#include "models/Gpt2.h"
#include "models/Llama.h"

#include <map>

using namespace mlir;

namespace dtc {
namespace {

std::string number(int64_t value) { return std::to_string(value); }

// The sequence length: the command line's, or `positions`; checked against `positions`.
int64_t chooseSequence(HfConfig &config, int64_t asked, int64_t positions, const char *key) {
  if (asked > positions)
    config.fail(key, "is " + number(positions) + ", less than --seq-len " + number(asked) +
                         "; use a sequence length of at most " + number(positions));
  return asked > 0 ? asked : positions;
}

void requireDivides(HfConfig &config, const char *key, int64_t divisor, const char *ofKey,
                    int64_t dividend) {
  if (divisor > 0 && dividend % divisor != 0)
    config.fail(key, "is " + number(divisor) + ", which does not divide '" + ofKey +
                         "' = " + number(dividend));
}

OwningOpRef<ModuleOp> importGpt2(MLIRContext *context, HfConfig &json, int64_t sequence) {
  Gpt2Config config;
  config.vocabulary = json.integer("vocab_size", config.vocabulary);
  config.positions = json.integer("n_positions", config.positions);
  config.width = json.integer("n_embd", config.width);
  config.layers = json.integer("n_layer", config.layers);
  config.heads = json.integer("n_head", config.heads);
  config.innerWidth = json.integer("n_inner", 0, 1);
  config.epsilon = json.number("layer_norm_epsilon", config.epsilon);
  config.initializerRange = json.number("initializer_range", config.initializerRange);
  // Hugging Face trains with dropout 0.1 where the config does not say.
  config.residualDropout = json.probability("resid_pdrop", 0.1);
  config.embeddingDropout = json.probability("embd_pdrop", 0.1);
  config.attentionDropout = json.probability("attn_pdrop", 0.1);
  config.tied = json.flag("tie_word_embeddings", true);
  config.scaleAttention = json.flag("scale_attn_weights", true);
  if (json.flag("scale_attn_by_inverse_layer_idx", false))
    json.fail("scale_attn_by_inverse_layer_idx", "is true, which dtc can't build; set it to false");
  const std::map<std::string, graph::GeluKind> activations{
      {"gelu_new", graph::GeluKind::Tanh},
      {"gelu_pytorch_tanh", graph::GeluKind::Tanh},
      {"gelu", graph::GeluKind::Erf}};
  std::string activation = json.word("activation_function", "gelu_new");
  if (auto it = activations.find(activation); it != activations.end())
    config.activation = it->second;
  else
    json.fail("activation_function",
              "is '" + activation + "'; dtc knows gelu, gelu_new and gelu_pytorch_tanh");
  requireDivides(json, "n_head", config.heads, "n_embd", config.width);
  sequence = chooseSequence(json, sequence, config.positions, "n_positions");
  return json.ok() ? buildGpt2(context, config, sequence) : nullptr;
}

// Both spellings: `rope_theta` beside `rope_scaling`, and (transformers 5) `rope_parameters` with
// everything inside.
std::vector<double> importRotary(HfConfig &json, int64_t headDim, int64_t positions) {
  bool nested = json.has("rope_parameters");
  const char *key = nested ? "rope_parameters" : "rope_scaling";
  HfConfig rope = json.child(key);
  double theta = nested ? rope.number("rope_theta", 10000) : json.number("rope_theta", 10000);
  std::string type = rope.word("rope_type", rope.word("type", "default"));
  std::vector<double> frequencies;
  if (theta <= 0)
    rope.fail("rope_theta", "is " + std::to_string(theta) + ", wanted a number greater than 0");
  else
    frequencies = rotaryFrequencies(theta, headDim);
  double factor = rope.number("factor", 1);
  if (factor <= 0)
    rope.fail("factor", "is " + std::to_string(factor) + ", wanted a number greater than 0");
  else if (type == "linear")
    for (double &frequency : frequencies)
      frequency /= factor;
  else if (type == "llama3")
    stretchLlama3(frequencies, factor, rope.number("low_freq_factor", 1),
                  rope.number("high_freq_factor", 4),
                  static_cast<double>(rope.integer("original_max_position_embeddings", positions)));
  else if (type != "default")
    rope.fail("rope_type", "is '" + type + "'; dtc knows default, linear and llama3");
  json.adopt(rope);
  return frequencies;
}

OwningOpRef<ModuleOp> importLlama(MLIRContext *context, HfConfig &json, int64_t sequence) {
  LlamaConfig config;
  config.vocabulary = json.integer("vocab_size", config.vocabulary);
  config.width = json.integer("hidden_size", config.width);
  config.innerWidth = json.integer("intermediate_size", config.innerWidth);
  config.layers = json.integer("num_hidden_layers", config.layers);
  config.heads = json.integer("num_attention_heads", config.heads);
  config.kvHeads = json.integer("num_key_value_heads", config.heads);
  if (!json.has("head_dim"))
    requireDivides(json, "num_attention_heads", config.heads, "hidden_size", config.width);
  config.headDim = json.integer("head_dim", config.width / config.heads);
  config.epsilon = json.number("rms_norm_eps", config.epsilon);
  config.initializerRange = json.number("initializer_range", config.initializerRange);
  config.attentionDropout = json.probability("attention_dropout", 0);
  config.tied = json.flag("tie_word_embeddings", false);
  config.attentionBias = json.flag("attention_bias", false);
  config.mlpBias = json.flag("mlp_bias", false);
  if (std::string activation = json.word("hidden_act", "silu"); activation != "silu")
    json.fail("hidden_act", "is '" + activation + "'; dtc builds Llama with silu");
  requireDivides(json, "num_key_value_heads", config.kvHeads, "num_attention_heads", config.heads);
  if (config.headDim % 2 != 0)
    json.fail("head_dim",
              "is " + number(config.headDim) + "; rotary embedding needs an even head dim");
  int64_t positions = json.integer("max_position_embeddings", 2048);
  config.inverseFrequencies = importRotary(json, config.headDim, positions);
  sequence = chooseSequence(json, sequence, positions, "max_position_embeddings");
  return json.ok() ? buildLlama(context, config, sequence) : nullptr;
}

} // namespace

OwningOpRef<ModuleOp> importHfConfig(MLIRContext *context, HfConfig &config, int64_t sequence) {
  std::string type = config.word("model_type", "");
  if (!config.ok())
    return nullptr;
  if (type == "gpt2")
    return importGpt2(context, config, sequence);
  if (type == "llama")
    return importLlama(context, config, sequence);
  config.fail("model_type", type.empty() ? "is missing; dtc imports gpt2 and llama"
                                         : "is '" + type + "'; dtc imports gpt2 and llama");
  return nullptr;
}

} // namespace dtc
