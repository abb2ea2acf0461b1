// A model of the user's family and traits that trains in seconds.
#include "compiler/measure/validate/SmallModel.h"

#include "compiler/support/JsonText.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace dtc {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kHeadDim = 8, kSequence = 16;

int64_t integerOf(const Json &config, const char *key, int64_t fallback) {
  auto found = config.find(key);
  return found != config.end() && found->is_number_integer() ? found->get<int64_t>() : fallback;
}

// The keys of equivalent numbers in each family of models.
struct Keys {
  const char *layers, *hidden, *heads, *inner, *positions;
};
constexpr Keys kGpt2 = {"n_layer", "n_embd", "n_head", "n_inner", "n_positions"};
constexpr Keys kOthers = {"num_hidden_layers", "hidden_size", "num_attention_heads",
                          "intermediate_size", "max_position_embeddings"};

// Other names that transformers' GPT2Config knows for the keys of GPT-2.
constexpr std::pair<const char *, const char *> kGpt2Aliases[] = {
    {"num_hidden_layers", kGpt2.layers},
    {"hidden_size", kGpt2.hidden},
    {"num_attention_heads", kGpt2.heads},
    {"max_position_embeddings", kGpt2.positions}};

bool isGpt2(const Json &config) {
  auto type = config.find("model_type");
  return config.contains(kGpt2.layers) || (type != config.end() && *type == "gpt2");
}

// Divides by `small` ranks just where `value` divides by `whole` ones; near `near`.
int64_t dividesLike(int64_t value, int64_t whole, int64_t near, int64_t small) {
  int64_t divided = (near + small - 1) / small * small;
  return value % whole == 0 ? divided : divided + 1;
}

} // namespace

Result<SmallModel> shrinkModel(const std::string &path, const std::string &text,
                               const Decisions &whole, const Decisions &small) {
  if (std::optional<UserError> error = findJsonError(path, text))
    return *error;
  Json config = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object())
    return UserError("a config.json holds one object", "", {path, 1, 1});
  const Keys &keys = isGpt2(config) ? kGpt2 : kOthers;
  if (isGpt2(config))
    for (auto [alias, key] : kGpt2Aliases)
      if (auto value = config.find(alias); value != config.end()) {
        config[key] = Json(*value);
        config.erase(alias);
      }
  int64_t hidden = integerOf(config, keys.hidden, 768), heads = integerOf(config, keys.heads, 12);
  int64_t kvHeads = integerOf(config, "num_key_value_heads", heads);
  int64_t group = std::max<int64_t>(1, heads / std::max<int64_t>(1, kvHeads));
  // An odd number of query heads of a kv head can't be shared out by two ranks.
  int64_t smallGroup = std::min<int64_t>(group, group % 2 ? 3 : 2);
  int64_t smallKv = kvHeads >= whole.tp ? small.tp : std::max<int64_t>(1, small.tp / 2);
  int64_t smallHeads = smallKv * smallGroup,
          smallHidden = std::max<int64_t>(2, smallHeads) * kHeadDim;
  if (smallHidden != smallHeads * kHeadDim && !config.contains("head_dim"))
    smallHidden = smallHeads * kHeadDim;
  int64_t inner = integerOf(config, keys.inner, 4 * hidden),
          words = integerOf(config, "vocab_size", 50257);
  int64_t chunks = whole.pp * whole.virtualStages, smallChunks = small.pp * small.virtualStages;
  int64_t layers = integerOf(config, keys.layers, 12);
  config[keys.layers] = std::max<int64_t>(2, dividesLike(layers, chunks, smallChunks, smallChunks));
  if (auto kinds = config.find("layer_types"); kinds != config.end() && kinds->is_array()) {
    auto smallLayers = config[keys.layers].get<size_t>();
    Json small = Json::array();
    for (size_t layer = 0; layer < smallLayers && !kinds->empty(); ++layer)
      small.push_back((*kinds)[layer * kinds->size() / smallLayers]);
    *kinds = small;
  }
  config[keys.heads] = smallHeads;
  config[keys.hidden] = smallHidden;
  config[keys.inner] = dividesLike(
      inner, whole.tp, std::max<int64_t>(small.tp, inner * smallHidden / hidden), small.tp);
  config["vocab_size"] = dividesLike(words, whole.tp, 64, small.tp);
  // A row of the table, or one from its end.
  int64_t smallWords = config["vocab_size"].get<int64_t>();
  if (config.contains("pad_token_id") && config["pad_token_id"].is_number_integer())
    config["pad_token_id"] =
        std::clamp<int64_t>(config["pad_token_id"].get<int64_t>(), -smallWords, smallWords - 1);
  if (!isGpt2(config)) // also where it is absent: classes have defaults for larger models
    config["num_key_value_heads"] = smallKv;
  if (config.contains("head_dim"))
    config["head_dim"] = kHeadDim;
  int64_t sequence = std::min(kSequence, integerOf(config, keys.positions, kSequence));
  if (config.contains(keys.positions))
    config[keys.positions] =
        std::max(sequence, std::min<int64_t>(4 * kSequence, integerOf(config, keys.positions, 0)));
  for (const char *window : {"sliding_window"})
    if (config.contains(window) && config[window].is_number_integer())
      config[window] = sequence / 2;
  return SmallModel{config.dump(2), sequence};
}

} // namespace dtc
