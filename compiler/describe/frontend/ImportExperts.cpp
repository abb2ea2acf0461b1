// Reads the mixture of experts of a config.json.
#include "compiler/describe/frontend/ImportExperts.h"

#include <string>

using namespace mlir;

namespace dtc {
namespace {

bool isThere(const char *key) { return *key != 0; }

std::string spelled(int64_t value) { return std::to_string(value); }

// Reads which layers have an MLP in the place of experts: the first ones, or those that are listed
// or between each few (qwen).
void importDenseLayers(TypedConfig &config, const HfExperts &keys, LlamaConfig &model) {
  SmallVector<int64_t> dense(static_cast<size_t>(model.layers), 0);
  if (isThere(keys.denseFirst))
    std::fill_n(dense.begin(),
                std::min(model.layers, config.integer(keys.denseFirst, 0, kMostLayers)), 1);
  if (keys.areSparse) {
    int64_t step = config.integer("decoder_sparse_step", 1, kMostLayers);
    std::optional<std::vector<int64_t>> listed =
        config.json.integers("mlp_only_layers", 0, kMostLayers);
    for (int64_t layer = 0; layer < model.layers; ++layer)
      dense[layer] = (layer + 1) % step != 0 || (listed && llvm::is_contained(*listed, layer));
  }
  if (llvm::is_contained(dense, 1))
    model.denseLayers = dense;
}

// Returns true if the class chooses from the best groups only. Groups have no effect otherwise.
bool isGrouped(TypedConfig &config, const HfExperts &keys) {
  std::string method = config.word(keys.groupedBy);
  for (const char *key : {keys.groups, keys.kept})
    if (!config.json.has(key) && method == keys.groupedValue)
      config.json.fail(key, "is missing, which '" + method + "' of '" + keys.groupedBy + "' needs");
  if (method != "greedy" && method != keys.groupedValue)
    config.json.refuse(keys.groupedBy, std::string("greedy or ") + keys.groupedValue);
  return method == keys.groupedValue;
}

// Reads the groups of experts, of which the best may be chosen from.
void importGroups(TypedConfig &config, const HfExperts &keys, ExpertConfig &experts) {
  if (!isThere(keys.groups))
    return;
  if (isThere(keys.groupedBy) && !isGrouped(config, keys))
    return;
  experts.groups = config.integer(keys.groups, 1, kMostExperts);
  experts.kept = config.integer(keys.kept, 1, kMostExperts);
  if (experts.experts % experts.groups != 0)
    config.json.fail(keys.groups, "is " + spelled(experts.groups) + config.byDefault(keys.groups) +
                                      ", wanted a divisor of the " + spelled(experts.experts) +
                                      " experts of '" + keys.count + "'");
  if (experts.kept > experts.groups)
    config.json.fail(keys.kept, "is " + spelled(experts.kept) + config.byDefault(keys.kept) +
                                    ", more than the " + spelled(experts.groups) + " groups of '" +
                                    keys.groups + "'");
  if (experts.groups == 1)
    return;
  experts.members = keys.members;
  int64_t inGroup = experts.experts / experts.groups, kept = experts.kept * inGroup;
  if (inGroup < experts.members)
    config.json.fail(keys.groups, "is " + spelled(experts.groups) + config.byDefault(keys.groups) +
                                      ", so that a group has " + spelled(inGroup) + " of " +
                                      spelled(experts.experts) + " experts; its " +
                                      spelled(experts.members) + " best judge it");
  if (experts.top > kept)
    config.json.fail("num_experts_per_tok",
                     "is " + spelled(experts.top) + config.byDefault("num_experts_per_tok") +
                         ", more than the " + spelled(kept) + " experts of " +
                         spelled(experts.kept) + " groups, from which a token chooses");
}

constexpr const char *kMegatronBalance = "moe_aux_loss_coeff";

// Reads a number of 0 or more, 0 if there is none, under a key that transformers does not know.
double positive(TypedConfig &config, const char *key) {
  double value = config.json.number(key, 0);
  if (value < 0)
    config.json.refuse(key, "a number of 0 or more");
  return value;
}

// Reads the loss of uneven use, which the class adds only if the model outputs the router's logits.
// The name of the key of its kind, and of one of its values, is that of Megatron-LM's option.
void importBalance(TypedConfig &config, const HfExperts &keys, ExpertConfig &experts) {
  const char *kindKey = "moe_router_load_balancing_type";
  std::string kind = config.json.word(kindKey, "");
  if (!kind.empty() && kind != "seq_aux_loss")
    config.json.refuse(kindKey, "seq_aux_loss, for the mean of each sample's and layer's loss; "
                                "without the key all samples and layers have one, as in "
                                "transformers");
  experts.balancesSequences = kind == "seq_aux_loss";
  if (isThere(keys.balance)) {
    double coefficient = config.number(keys.balance);
    if (coefficient < 0)
      config.json.refuse(keys.balance, "a number of 0 or more");
    experts.balance = config.flag("output_router_logits") ? coefficient : 0;
  }
  double coefficient = positive(config, kMegatronBalance);
  if (coefficient == 0)
    return;
  if (!experts.balancesSequences)
    config.json.fail(kMegatronBalance, "is there, and dtc builds that loss of each sample only",
                     "put \"moe_router_load_balancing_type\": \"seq_aux_loss\" beside it");
  if (experts.balance > 0)
    config.json.fail(kMegatronBalance, "is there beside '" + std::string(keys.balance) +
                                           "', which is another factor of the same loss; take one "
                                           "of them out");
  experts.balance = coefficient;
  experts.balancesAsMegatron = true;
}

// Reads what transformers does not have, under the names of Megatron-LM's options: the loss of
// large logits, and the rate by which the correction moves.
void importRouterTraining(TypedConfig &config, const HfExperts &keys, ExpertConfig &experts) {
  experts.zLoss = positive(config, "moe_z_loss_coeff");
  const char *rateKey = "moe_router_bias_update_rate";
  experts.correctionRate = positive(config, rateKey);
  if (experts.correctionRate > 0 && !isThere(keys.features.correction))
    config.json.fail(rateKey,
                     "is there, and the router of " + config.type +
                         " has no bias that moves with the load",
                     "take it out; deepseek_v3 and glm4_moe have one");
}

} // namespace

void importExperts(TypedConfig &config, const HfExperts &keys, LlamaConfig &model) {
  HfConfig &json = config.json;
  ExpertConfig &experts = model.experts;
  experts.features = keys.features;
  experts.experts = config.integer(keys.count, 1, kMostExperts);
  std::optional<int64_t> top = config.optionalInteger("num_experts_per_tok");
  if (!top)
    json.fail("num_experts_per_tok", "is missing, and " + config.type + " has no default for it");
  experts.top = top.value_or(1);
  experts.width = isThere(keys.width) ? config.integer(keys.width) : model.innerWidth;
  if (experts.top > experts.experts)
    json.fail("num_experts_per_tok", "is " + spelled(experts.top) +
                                         config.byDefault("num_experts_per_tok") + ", more than '" +
                                         keys.count + "' = " + spelled(experts.experts));
  experts.score = keys.score;
  experts.normalised = keys.normalised != kNotNormalised &&
                       (!isThere(keys.normalised) || config.flag(keys.normalised));
  experts.epsilon = keys.epsilon;
  if (isThere(keys.scale))
    experts.scale = config.number(keys.scale);
  importGroups(config, keys, experts);
  if (isThere(keys.sharedWidth))
    experts.sharedWidth = config.integer(keys.sharedWidth, 0);
  if (isThere(keys.sharedCount))
    experts.sharedWidth = config.integer(keys.sharedCount, 0) * experts.width;
  experts.sharedBias = keys.sharedMayHaveBias && model.mlpBias;
  importDenseLayers(config, keys, model);
  importBalance(config, keys, experts);
  importRouterTraining(config, keys, experts);
  if (isThere(keys.jitter) && config.number(keys.jitter) != 0)
    json.refuse(keys.jitter, "0: dtc can't build the noise");
  if (isThere(keys.clamp))
    experts.features.clamp = config.number(keys.clamp);
  // Hugging Face has no such key, because it never drops a token. The name is that of Megatron-LM's
  // option.
  const char *capacityKey = "moe_expert_capacity_factor";
  if (!json.has(capacityKey))
    return;
  if (!keys.mayDrop)
    json.fail(capacityKey, "is there, and dtc builds " + config.type + " without drops",
              "take it out; mixtral has it");
  if (experts.balancesAsMegatron)
    json.fail(capacityKey,
              "is there, and dtc builds '" + std::string(kMegatronBalance) + "' without drops",
              "take one of them out");
  experts.capacity = json.number(capacityKey, 1);
  if (*experts.capacity <= 0 || *experts.capacity > static_cast<double>(experts.experts))
    json.refuse(capacityKey, "a number greater than 0 and at most '" + std::string(keys.count) +
                                 "' = " + spelled(experts.experts));
}

} // namespace dtc
