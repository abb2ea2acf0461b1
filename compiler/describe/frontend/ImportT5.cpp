// Builds T5 from its config.json.
#include "compiler/describe/frontend/HfKeys.h"
#include "compiler/describe/frontend/HfTable.h"
#include "compiler/describe/frontend/ImportHf.h"
#include "compiler/describe/frontend/Importers.h"

#include "models/EncoderDecoder.h"

#include <map>

using namespace mlir;

namespace dtc {
namespace {

constexpr int64_t kUsualLength = 512; // T5 has no longest sequence; it was trained with this one

// Reads the MLP: "relu" or "gated-gelu". Files that transformers saves have its parts, too, which
// the class prefers.
void importMlp(TypedConfig &config, T5Config &model) {
  HfConfig &json = config.json;
  const char *key = "feed_forward_proj";
  std::string kind = config.word(key);
  llvm::StringRef name(kind);
  model.gated = name.consume_front("gated-");
  bool isOld = kind == "gated-gelu"; // which has meant the other GELU from the start
  std::string activation = isOld ? "gelu_new" : name.str();
  if (json.has("dense_act_fn")) {
    key = "dense_act_fn";
    activation = json.word(key, activation);
  }
  model.gated = json.flag("is_gated_act", model.gated);
  const std::map<std::string, T5Activation> known{
      {"relu", T5Activation::Relu},    {"gelu_new", T5Activation::GeluTanh},
      {"gelu", T5Activation::GeluErf}, {"gelu_pytorch_tanh", T5Activation::GeluTanh},
      {"silu", T5Activation::Silu},    {"swish", T5Activation::Silu}};
  if (auto found = known.find(activation); found != known.end())
    model.activation = found->second;
  else
    json.fail(key, "is '" + json.word(key, kind) +
                       "'; dtc knows relu, gelu, gelu_new, gelu_pytorch_tanh and silu" +
                       (key == std::string("dense_act_fn") ? "" : ", and each behind 'gated-'"));
}

void importBuckets(TypedConfig &config, T5Config &model) {
  const char *key = "relative_attention_num_buckets";
  const char *distanceKey = "relative_attention_max_distance";
  model.buckets = config.integer(key, 1, kMostTokens);
  model.maxDistance = config.integer(distanceKey, 1, kMostTokens);
  if (model.buckets < 4)
    config.json.refuse(key, "4 or more, two for each side of a query");
  else if (model.maxDistance <= model.buckets / 2)
    config.json.fail(distanceKey, "is " + std::to_string(model.maxDistance) +
                                      config.byDefault(distanceKey) + ", no more than half of '" +
                                      key + "' = " + std::to_string(model.buckets) +
                                      "; transformers takes a larger one");
}

// Reads a token of the vocabulary that the decoder's inputs need.
int64_t readToken(TypedConfig &config, const char *key, int64_t vocabulary) {
  HfConfig &json = config.json;
  if (const HfKey *row = findHfKey(config.type, key); !json.has(key) && row->fallback == "null")
    json.fail(key, json.mentions(key) ? "is null" : "is missing",
              "the decoder's inputs need it; T5's files have 0");
  int64_t token = config.optionalInteger(key, 0, kMostTokens).value_or(0);
  if (token >= vocabulary)
    json.fail(key, "is " + std::to_string(token) + ", which is no row of the " +
                       std::to_string(vocabulary) + " of 'vocab_size'");
  return token;
}

} // namespace

OwningOpRef<ModuleOp> importT5(MLIRContext *context, TypedConfig &config, int64_t sequence) {
  HfConfig &json = config.json;
  T5Config model;
  model.vocabulary = config.integer("vocab_size", 1, kMostTokens);
  model.width = config.integer("d_model");
  model.headDim = config.integer("d_kv");
  model.innerWidth = config.integer("d_ff");
  model.layers = config.integer("num_layers", 1, kMostLayers);
  model.decoderLayers =
      config.optionalInteger("num_decoder_layers", 1, kMostLayers).value_or(model.layers);
  model.heads = config.integer("num_heads");
  model.epsilon = readEpsilon(config, "layer_norm_epsilon");
  model.initializerFactor = config.number("initializer_factor");
  if (model.initializerFactor < 0)
    json.refuse("initializer_factor", "a number of 0 or more");
  model.dropout = config.probability("dropout_rate");
  importMlp(config, model);
  importBuckets(config, model);
  model.padding = readToken(config, "pad_token_id", model.vocabulary);
  model.start = readToken(config, "decoder_start_token_id", model.vocabulary);
  // The class ties the output layer in any case, and takes this key to ask whether logits have a
  // factor; files that it saves say so.
  model.scalesOutputs = json.flag("scale_decoder_outputs", json.flag("tie_word_embeddings", true));
  int64_t usual = json.integer("n_positions", kUsualLength, 1, kMostTokens);
  for (const char *key : {"classifier_dropout", "id2label", "label2id", "problem_type"})
    (void)json.has(key); // of other heads
  refuseUnreadKeys(json, config.type);
  return json.ok() ? buildT5(context, model, sequence > 0 ? sequence : usual) : nullptr;
}

} // namespace dtc
