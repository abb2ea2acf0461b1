// Builds GPT-2 from its config.json.
#include "compiler/describe/frontend/HfKeys.h"
#include "compiler/describe/frontend/ImportHf.h"
#include "compiler/describe/frontend/Importers.h"

#include "models/Gpt2.h"

#include <map>

using namespace mlir;

namespace dtc {

// Refuses a part that dtc does not build, unless it is off.
static void requireOff(TypedConfig &config, const char *key) {
  if (config.flag(key))
    config.json.fail(key, "is true, and dtc builds gpt2 without it", kWriteItYourself);
}

OwningOpRef<ModuleOp> importGpt2(MLIRContext *context, TypedConfig &config, int64_t sequence) {
  HfConfig &json = config.json;
  Gpt2Config model;
  model.vocabulary = config.integer("vocab_size", 1, kMostTokens);
  model.positions = config.integer("n_positions", 1, kMostTokens);
  model.width = config.integer("n_embd");
  model.layers = config.integer("n_layer", 1, kMostLayers);
  model.heads = config.integer("n_head");
  model.innerWidth = config.optionalInteger("n_inner").value_or(0);
  model.epsilon = readEpsilon(config, "layer_norm_epsilon");
  model.initializerRange = readDeviation(config);
  requireOff(config, "add_cross_attention");
  model.residualDropout = config.probability("resid_pdrop");
  model.embeddingDropout = config.probability("embd_pdrop");
  model.attentionDropout = config.probability("attn_pdrop");
  model.tied = config.flag("tie_word_embeddings");
  model.scaleAttention = config.flag("scale_attn_weights");
  requireOff(config, "scale_attn_by_inverse_layer_idx");
  const std::map<std::string, graph::GeluKind> activations{
      {"gelu_new", graph::GeluKind::Tanh},
      {"gelu_pytorch_tanh", graph::GeluKind::Tanh},
      {"gelu", graph::GeluKind::Erf}};
  std::string activation = config.word("activation_function");
  if (auto it = activations.find(activation); it != activations.end())
    model.activation = it->second;
  else
    json.fail("activation_function",
              "is '" + activation + "'; dtc knows gelu, gelu_new and gelu_pytorch_tanh");
  requireDivides(config, "n_head", model.heads, "n_embd", model.width);
  sequence = chooseSequence(config, sequence, model.positions, "n_positions");
  model.documents = json.documents;
  refuseUnreadKeys(json, config.type);
  return json.ok() ? buildGpt2(context, model, sequence) : nullptr;
}

} // namespace dtc
