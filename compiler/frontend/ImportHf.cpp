// Builds the model that a Hugging Face config.json describes.
#include "compiler/frontend/HfConfig.h"
#include "compiler/frontend/HfKeys.h"

#include "models/Gpt2.h"
#include "models/Llama.h"

#include <map>

using namespace mlir;

namespace dtc {
namespace {

// Of a vocabulary or a sequence.
constexpr int64_t kMostTokens = int64_t(1) << 31;
constexpr int64_t kMostLayers = 10000, kMostExperts = 1 << 16;

// The class of transformers' whose model each model_type becomes.
const std::map<std::string, std::string> kBuilt{{"gpt2", "GPT2LMHeadModel"},
                                                {"llama", "LlamaForCausalLM"},
                                                {"mistral", "MistralForCausalLM"},
                                                {"mixtral", "MixtralForCausalLM"},
                                                {"qwen2", "Qwen2ForCausalLM"}};

std::string number(int64_t value) { return std::to_string(value); }

// What a norm adds to the variance.
double epsilonOf(HfConfig &json, const char *key, double fallback) {
  double epsilon = json.number(key, fallback);
  if (epsilon <= 0 || epsilon >= 1)
    json.refuse(key, "a number above 0 and below 1");
  return epsilon;
}

double deviationOf(HfConfig &json, double fallback) {
  double deviation = json.number("initializer_range", fallback);
  if (deviation < 0)
    json.refuse("initializer_range", "a number of 0 or more");
  return deviation;
}

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
  config.vocabulary = json.integer("vocab_size", config.vocabulary, 1, kMostTokens);
  config.positions = json.integer("n_positions", config.positions, 1, kMostTokens);
  config.width = json.integer("n_embd", config.width);
  config.layers = json.integer("n_layer", config.layers, 1, kMostLayers);
  config.heads = json.integer("n_head", config.heads);
  config.innerWidth = json.integer("n_inner", 0, 1);
  config.epsilon = epsilonOf(json, "layer_norm_epsilon", config.epsilon);
  config.initializerRange = deviationOf(json, config.initializerRange);
  if (json.flag("add_cross_attention", false))
    json.fail("add_cross_attention", "is true, which dtc can't build; set it to false");
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
  refuseUnreadKeys(json, "gpt2");
  return json.ok() ? buildGpt2(context, config, sequence) : nullptr;
}

std::string mendOfRotary(const std::string &key) {
  return "set '" + key +
         "' to null where sequences are no longer than the model was trained on, or " +
         kWriteItYourself;
}

// Both spellings: `rope_theta` beside `rope_scaling`, and (transformers 5) `rope_parameters` with
// everything inside.
RotarySpec importRotary(HfConfig &json, int64_t positions, double defaultBase) {
  bool nested = json.has("rope_parameters");
  const char *key = nested ? "rope_parameters" : "rope_scaling";
  HfConfig rope = json.child(key);
  RotarySpec rotary;
  HfConfig &holder = nested && rope.has("rope_theta") ? rope : json;
  rotary.base = holder.number("rope_theta", defaultBase);
  std::string type = rope.word("rope_type", rope.word("type", "default"));
  if (rotary.base <= 0)
    holder.refuse("rope_theta", "a number greater than 0");
  if (nested && json.number("rope_theta", rotary.base) != rotary.base)
    json.refuse("rope_theta", "what 'rope_parameters' have");
  double factor = rope.number("factor", 1);
  if (factor <= 0)
    rope.refuse("factor", "a number greater than 0");
  if (type == "linear" || type == "llama3")
    rotary.factor = factor;
  else if (type != "default")
    rope.fail(rope.has("rope_type") ? "rope_type" : "type",
              "is '" + type + "'; dtc knows default, linear and llama3", mendOfRotary(key));
  // These say nothing of the other types.
  double low = rope.number("low_freq_factor", 1), high = rope.number("high_freq_factor", 4);
  int64_t original = rope.integer("original_max_position_embeddings", positions, 1, kMostTokens);
  if (type == "llama3") {
    rotary.low = low;
    rotary.high = high;
    if (*rotary.low <= 0)
      rope.refuse("low_freq_factor", "a number greater than 0");
    else if (*rotary.high <= *rotary.low)
      rope.refuse("high_freq_factor", "a number greater than 'low_freq_factor'");
    rotary.positions = original;
  }
  refuseUnreadKeys(rope, type + " rotary embedding");
  json.adopt(rope);
  return rotary;
}

// What the config classes of Llama's kin assume where the file is silent.
struct LlamaDefaults {
  LlamaConfig config;
  int64_t positions = 2048;
  double theta = 10000;
};

LlamaDefaults defaultsOf(const std::string &type) {
  LlamaDefaults defaults;
  LlamaConfig &config = defaults.config;
  config.name = type;
  if (type == "mistral" || type == "mixtral") {
    config.innerWidth = 14336;
    config.kvHeads = 8;
    defaults.positions = 131072;
  }
  if (type == "mixtral") {
    config.epsilon = 1e-5;
    config.experts = 8;
    config.balanceCoefficient = 0.001;
    defaults.theta = 1e6;
  }
  if (type == "qwen2") {
    config.vocabulary = 151936;
    config.innerWidth = 22016;
    config.projectionBias = true;
    defaults.positions = 32768;
  }
  return defaults;
}

void importAttention(HfConfig &json, LlamaConfig &config) {
  config.heads = json.integer("num_attention_heads", config.heads);
  // An explicit null means as many as heads; the classes of Mistral and Mixtral assume fewer.
  bool defaulted = (config.name == "mistral" || config.name == "mixtral") &&
                   !json.mentions("num_key_value_heads");
  config.kvHeads = json.integer("num_key_value_heads", defaulted ? config.kvHeads : config.heads);
  if (!json.has("head_dim"))
    requireDivides(json, "num_attention_heads", config.heads, "hidden_size", config.width);
  config.headDim = json.integer("head_dim", config.width / config.heads);
  requireDivides(json, "num_key_value_heads", config.kvHeads, "num_attention_heads", config.heads);
  if (config.headDim % 2 != 0)
    json.fail("head_dim",
              "is " + number(config.headDim) + "; rotary embedding needs an even head dim");
  config.attentionDropout = json.probability("attention_dropout", 0);
  if (config.name == "llama") {
    config.projectionBias = config.outputBias = json.flag("attention_bias", false);
    config.mlpBias = json.flag("mlp_bias", false);
  }
}

// How many layers newer files list as having a window; nothing where they do not say.
std::optional<int64_t> listedWindows(HfConfig &json, int64_t layers) {
  std::vector<std::string> kinds = json.words("layer_types");
  if (kinds.empty())
    return std::nullopt;
  if (static_cast<int64_t>(kinds.size()) != layers)
    json.fail("layer_types", "has the kinds of " + number(static_cast<int64_t>(kinds.size())) +
                                 " layers, wanted " + number(layers) +
                                 " as 'num_hidden_layers' says");
  for (const std::string &kind : kinds)
    if (kind != "full_attention" && kind != "sliding_attention")
      json.fail("layer_types", "has '" + kind + "'; dtc knows full_attention and sliding_attention",
                kWriteItYourself);
  return llvm::count(kinds, "sliding_attention");
}

// A window as long as the sequence is none.
void importWindow(HfConfig &json, LlamaConfig &config, int64_t sequence) {
  int64_t window = 0, windows = config.layers; // how many layers have it
  const char *key = "max_window_layers";
  // Null is no window; the classes of Mistral and Qwen2 assume one where the key is absent.
  if (config.name != "llama")
    window = json.integer("sliding_window", 0, 1, kMostTokens);
  if ((config.name == "mistral" || config.name == "qwen2") && !json.mentions("sliding_window"))
    window = 4096;
  if (config.name == "qwen2") {
    // Layers from max_window_layers on have the window.
    windows = std::max<int64_t>(0, config.layers - json.integer(key, 28, 0));
    if (!json.flag("use_sliding_window", false))
      window = 0;
  }
  std::optional<int64_t> listed = listedWindows(json, config.layers);
  if (listed && *listed != windows && config.name == "qwen2") {
    windows = *listed;
    key = "layer_types";
  }
  if (listed && window < sequence && *listed != (window > 0 ? windows : 0))
    json.fail("layer_types", "has sliding_attention " + number(*listed) + " times, but " +
                                 number(window > 0 ? windows : 0) + " layers of this " +
                                 config.name + " have a window");
  if (window == 0 || windows == 0 || window >= sequence)
    return;
  if (windows < config.layers)
    json.fail(key, (key == std::string("layer_types") ? std::string("is a list")
                                                      : "is " + number(config.layers - windows)) +
                       ", so that only some of the " + number(config.layers) +
                       " layers have the sliding window of " + number(window) +
                       "; dtc builds layers that are alike: use --seq-len " + number(window) +
                       " or less" + (key == std::string("layer_types") ? "" : ", or set it to 0"));
  config.sliding = window;
}

void importExperts(HfConfig &json, LlamaConfig &config) {
  config.experts = json.integer("num_local_experts", config.experts, 1, kMostExperts);
  config.top = json.integer("num_experts_per_tok", config.top);
  if (config.top > config.experts)
    json.fail("num_experts_per_tok",
              "is " + number(config.top) +
                  ", more than 'num_local_experts' = " + number(config.experts));
  config.balanceCoefficient = json.number("router_aux_loss_coef", config.balanceCoefficient);
  if (config.balanceCoefficient < 0)
    json.refuse("router_aux_loss_coef", "a number of 0 or more");
  if (json.number("router_jitter_noise", 0) != 0)
    json.refuse("router_jitter_noise", "0: dtc can't build the noise");
  // No key of Hugging Face's, which never drops a token; named as Megatron-LM's option.
  config.capacity = json.number("moe_expert_capacity_factor", 1);
  if (config.capacity <= 0 || config.capacity > static_cast<double>(config.experts))
    json.refuse("moe_expert_capacity_factor",
                "a number greater than 0 and at most 'num_local_experts' = " +
                    number(config.experts));
}

OwningOpRef<ModuleOp> importLlama(MLIRContext *context, HfConfig &json, const std::string &type,
                                  int64_t sequence) {
  LlamaDefaults defaults = defaultsOf(type);
  LlamaConfig &config = defaults.config;
  config.vocabulary = json.integer("vocab_size", config.vocabulary, 1, kMostTokens);
  config.width = json.integer("hidden_size", config.width);
  config.innerWidth = json.integer("intermediate_size", config.innerWidth);
  config.layers = json.integer("num_hidden_layers", config.layers, 1, kMostLayers);
  importAttention(json, config);
  config.epsilon = epsilonOf(json, "rms_norm_eps", config.epsilon);
  config.initializerRange = deviationOf(json, config.initializerRange);
  config.tied = json.flag("tie_word_embeddings", false);
  std::string activation = json.word("hidden_act", "silu");
  if (activation != "silu" && activation != "swish")
    json.fail("hidden_act", "is '" + activation + "'; dtc builds " + type + " with silu");
  if (config.experts > 0)
    importExperts(json, config);
  int64_t positions = json.integer("max_position_embeddings", defaults.positions, 1, kMostTokens);
  config.rotary = importRotary(json, positions, defaults.theta);
  sequence = chooseSequence(json, sequence, positions, "max_position_embeddings");
  importWindow(json, config, sequence);
  refuseUnreadKeys(json, type);
  return json.ok() ? buildLlama(context, config, sequence) : nullptr;
}

} // namespace

OwningOpRef<ModuleOp> importHfConfig(MLIRContext *context, HfConfig &config, int64_t sequence) {
  std::string type = config.word("model_type", "");
  if (!config.ok())
    return nullptr;
  auto built = kBuilt.find(type);
  if (built == kBuilt.end()) {
    std::string known = "; dtc imports gpt2, llama, mistral, mixtral and qwen2";
    std::string part = unknownPartOf(type);
    std::string why = type.empty()   ? "set it to what the model is, or "
                      : part.empty() ? ""
                                     : type + " has " + part + ", which dtc can't import; ";
    config.fail("model_type", (type.empty() ? "is missing" : "is '" + type + "'") + known,
                why + kWriteItYourself);
    return nullptr;
  }
  for (const std::string &name : config.words("architectures"))
    if (name != built->second)
      config.fail("architectures", "is '" + name + "'; dtc builds " + built->second + " of " + type,
                  "set it to [\"" + built->second + "\"] to train the language model");
  if (!config.ok())
    return nullptr;
  return type == "gpt2" ? importGpt2(context, config, sequence)
                        : importLlama(context, config, type, sequence);
}

} // namespace dtc
