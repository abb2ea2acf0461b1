// Builds the families of Encoders.cpp from their config.json.
#include "compiler/describe/frontend/Encoders.h"
#include "compiler/describe/frontend/HfKeys.h"
#include "compiler/describe/frontend/HfTable.h"
#include "compiler/describe/frontend/ImportHf.h"
#include "compiler/describe/frontend/Importers.h"
#include "compiler/describe/frontend/RotaryKinds.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace mlir;

namespace dtc {
namespace {

bool isThere(const char *key) { return *key != 0; }

double probability(TypedConfig &config, const char *key) {
  return isThere(key) ? config.probability(key) : 0;
}

// Returns true if layers have a bias: always, or as their key says.
bool hasBias(TypedConfig &config, const char *key) { return !isThere(key) || config.flag(key); }

EncoderActivation importActivation(TypedConfig &config, const char *key) {
  const std::map<std::string, EncoderActivation> known{
      {"gelu", EncoderActivation::GeluErf}, {"gelu_new", EncoderActivation::GeluTanh},
      {"relu", EncoderActivation::Relu},    {"gelu_pytorch_tanh", EncoderActivation::GeluTanh},
      {"silu", EncoderActivation::Silu},    {"swish", EncoderActivation::Silu},
      {"tanh", EncoderActivation::Tanh}};
  std::string name = config.word(key);
  if (auto found = known.find(name); found != known.end())
    return found->second;
  config.json.fail(key, "is '" + name +
                            "'; dtc knows gelu, gelu_new, gelu_pytorch_tanh, relu, silu and tanh");
  return EncoderActivation::GeluErf;
}

// 1. Attention.

void importAttention(TypedConfig &config, const EncoderFamily &family, EncoderConfig &model) {
  model.heads = config.integer(family.heads);
  requireDivides(config, family.heads, model.heads, family.width, model.width);
  model.attentionDropout = probability(config, family.attentionDropout);
  model.queryBias = hasBias(config, family.attentionBias) && hasBias(config, family.queryBias);
  model.outputBias = hasBias(config, family.attentionBias);
  if (!family.features.rotary || model.heads == 0)
    return;
  if (int64_t headDim = model.width / model.heads; headDim % 2 != 0)
    config.json.fail(config.nameOf(family.heads),
                     "is " + std::to_string(model.heads) + ", so that heads have " +
                         std::to_string(headDim) +
                         " elements; rotary embedding needs an even number");
}

// Reads the rotary embedding of layers without and with a window.
void importRotary(TypedConfig &config, const EncoderFamily &family, const RotarySizes &sizes,
                  EncoderConfig &model) {
  HfConfig &json = config.json;
  HfConfig both = json.child("rope_parameters");
  auto read = [&](const char *kind, const char *key, RotarySpec &rotary) {
    HfConfig rope = both.child(kind);
    rotary.base = rope.number("rope_theta", config.number(key));
    if (rotary.base <= 0)
      (rope.has("rope_theta") ? rope : json)
          .refuse(rope.has("rope_theta") ? "rope_theta" : key, "a number greater than 0");
    readRotaryKind(config, Family(), rope, kind, sizes, rotary);
    both.adopt(rope);
  };
  read("full_attention", family.theta, model.rotary);
  read("sliding_attention", family.localTheta, model.localRotary);
  refuseUnreadKeys(both, "the rotary embedding of " + config.type);
  json.adopt(both);
}

// Reads which layers have a window: those of a list, or all but every n-th one.
void importWindows(TypedConfig &config, const EncoderFamily &family, EncoderConfig &model) {
  HfConfig &json = config.json;
  int64_t window = config.integer(family.window, 1, kMostTokens);
  model.reach = window / 2;
  int64_t every = json.integer(family.unwindowedEvery, 3, 1, kMostLayers);
  std::optional<SmallVector<int64_t>> listed = listedWindows(json, model.layers);
  if (listed)
    model.localLayers = *listed;
  else
    for (int64_t layer = 0; layer < model.layers; ++layer)
      model.localLayers.push_back(layer % every != 0);
}

// 2. Heads.

// Reads the labels of samples: their number, and the loss.
void importLabels(TypedConfig &config, EncoderConfig &model) {
  HfConfig &json = config.json;
  model.labels = json.integer("num_labels", 2);
  if (json.has("id2label")) {
    HfConfig names = json.child("id2label");
    auto count = static_cast<int64_t>(names.unread().size());
    json.adopt(names);
    if (json.has("num_labels") && model.labels != count)
      json.fail("num_labels", "is " + std::to_string(model.labels) +
                                  ", which transformers takes, but 'id2label' has " +
                                  std::to_string(count) + " labels; take one of them out");
    model.labels = count;
    if (count == 0)
      json.fail("id2label", "has no labels");
  }
  const std::map<std::string, EncoderTask> tasks{
      {"single_label_classification", EncoderTask::OneOfClasses},
      {"multi_label_classification", EncoderTask::SomeOfClasses},
      {"regression", EncoderTask::Regression}};
  std::string usual = model.labels == 1 ? "regression" : "single_label_classification";
  std::string kind = json.word("problem_type", usual);
  auto found = tasks.find(kind);
  if (found == tasks.end())
    json.fail("problem_type", "is '" + kind +
                                  "'; transformers knows regression, single_label_classification "
                                  "and multi_label_classification");
  else if (found->second == EncoderTask::OneOfClasses && model.labels == 1)
    json.fail("problem_type", "is single_label_classification with one label; transformers takes "
                              "two labels or more, or regression");
  else
    model.task = found->second;
}

void importHeads(TypedConfig &config, const EncoderFamily &family, bool isOfWords,
                 EncoderConfig &model) {
  HfConfig &json = config.json;
  model.headActivation = isThere(family.headActivation)
                             ? importActivation(config, family.headActivation)
                             : model.activation;
  model.headBias = hasBias(config, family.headBias);
  model.decoderBias = hasBias(config, family.decoderBias);
  model.dropsHeadInput = family.dropsHeadInput;
  if (isThere(family.headDropout)) {
    std::optional<double> dropout = config.optionalNumber(family.headDropout);
    model.headDropout = dropout ? config.probability(family.headDropout)
                                : probability(config, family.usualHeadDropout);
  }
  if (isThere(family.pooling)) {
    std::string pooling = config.word(family.pooling);
    if (pooling != "cls" && pooling != "mean")
      json.fail(family.pooling, "is '" + pooling + "'; transformers takes cls and mean");
    model.meanPooled = pooling == "mean";
  }
  if (isThere(family.maskedWords))
    model.tied = config.flag("tie_word_embeddings");
  model.task = EncoderTask::MaskedWords;
  if (!isOfWords)
    importLabels(config, model);
  for (const char *key : {"id2label", "label2id", "num_labels", "problem_type",
                          "pooler_output_size", "chunk_size_feed_forward"})
    (void)json.has(key); // which are of other heads, or cut the work without other numbers
}

// 3. What goes in.

// Reads a height and a width: a number for both, or a list.
std::array<int64_t, 2> readArea(TypedConfig &config, const char *key) {
  if (!config.json.isList(key)) {
    int64_t size = config.integer(key);
    return {size, size};
  }
  std::vector<int64_t> sizes =
      config.json.integers(key, 1, 1 << 20).value_or(std::vector<int64_t>());
  if (sizes.size() == 2)
    return {sizes[0], sizes[1]};
  config.json.fail(key, "has " + std::to_string(sizes.size()) + " numbers, wanted 2 of at least 1");
  return {1, 1};
}

void importImages(TypedConfig &config, int64_t asked, EncoderConfig &model) {
  model.channels = config.integer("num_channels");
  model.image = readArea(config, "image_size");
  model.patch = readArea(config, "patch_size");
  for (int dim : {0, 1})
    if (model.patch[dim] > model.image[dim])
      config.json.fail("patch_size",
                       "is " + std::to_string(model.patch[dim]) + config.byDefault("patch_size") +
                           ", more than the 'image_size' of " + std::to_string(model.image[dim]));
  if (asked > 0)
    config.json.fail("model_type", "is '" + config.type +
                                       "', which reads images and has no "
                                       "sequences; leave --seq-len out");
}

// Returns the sequence length.
int64_t importTokens(TypedConfig &config, const EncoderFamily &family, int64_t asked,
                     EncoderConfig &model) {
  const char *key = "max_position_embeddings";
  model.vocabulary = config.integer("vocab_size", 1, kMostTokens);
  model.positions = config.integer(key, 1, kMostTokens);
  model.padding = readPadding(config, model.vocabulary);
  if (isThere(family.features.types))
    model.types = config.integer("type_vocab_size");
  int64_t most = model.positions;
  if (family.features.positionsSkipPadding) {
    most -= model.padding.value_or(0) + 1; // rows up to the padding row are of no word
    if (!model.padding)
      config.json.refuse("pad_token_id", "a row, from which positions count");
    else if (most < 1)
      config.json.fail(key, "is " + std::to_string(model.positions) + config.byDefault(key) +
                                ", no more than the rows up to 'pad_token_id' = " +
                                std::to_string(*model.padding));
    else if (asked > most)
      config.json.fail(key, "is " + std::to_string(model.positions) + config.byDefault(key) +
                                ", which leaves " + std::to_string(most) +
                                " positions behind 'pad_token_id', less than --seq-len " +
                                std::to_string(asked));
    return asked > 0 ? asked : most;
  }
  return chooseSequence(config, asked, most, key);
}

} // namespace

OwningOpRef<ModuleOp> importEncoder(MLIRContext *context, TypedConfig &config,
                                    const std::string &architecture, int64_t sequence) {
  HfConfig &json = config.json;
  const EncoderFamily &family = *findEncoder(config.type);
  EncoderConfig model;
  model.name = config.type;
  model.features = family.features;
  model.width = config.integer(family.width);
  model.embeddingWidth =
      isThere(family.embeddingWidth) ? config.integer(family.embeddingWidth) : model.width;
  model.innerWidth = config.integer(family.innerWidth);
  model.layers = config.integer(family.layers, 1, kMostLayers);
  importAttention(config, family, model);
  model.epsilon = isThere(family.epsilon) ? readEpsilon(config, family.epsilon) : kBertEpsilon;
  model.initializerRange = readDeviation(config);
  model.activation = importActivation(config, family.activation);
  model.embeddingDropout = probability(config, family.embeddingDropout);
  model.outputDropout = probability(config, family.outputDropout);
  model.innerDropout = probability(config, family.innerDropout);
  model.normBias = hasBias(config, family.normBias);
  model.mlpBias = hasBias(config, family.mlpBias);
  importHeads(config, family, architecture == family.maskedWords, model);
  if (family.features.ofImages)
    importImages(config, sequence, model);
  else
    sequence = importTokens(config, family, sequence, model);
  if (isThere(family.window))
    importWindows(config, family, model);
  if (family.features.rotary && json.ok()) {
    RotarySizes sizes{model.width / model.heads, model.positions, sequence};
    sizes.isOfLayerType = true;
    importRotary(config, family, sizes, model);
  }
  for (const char *key : {"is_decoder", "add_cross_attention"})
    if (findHfKey(config.type, key) && config.flag(key))
      json.fail(key, "is true, and dtc builds " + config.type + " as an encoder", kWriteItYourself);
  refuseUnreadKeys(json, config.type);
  return json.ok() ? buildEncoder(context, model, family.features.ofImages ? 0 : sequence)
                   : nullptr;
}

} // namespace dtc
