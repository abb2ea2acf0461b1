// Builds the families of Families.cpp from their config.json.
#include "compiler/describe/frontend/Families.h"
#include "compiler/describe/frontend/HfKeys.h"
#include "compiler/describe/frontend/HfTable.h"
#include "compiler/describe/frontend/ImportExperts.h"
#include "compiler/describe/frontend/ImportHf.h"
#include "compiler/describe/frontend/Importers.h"
#include "compiler/describe/frontend/RotaryKinds.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <map>

using namespace mlir;

namespace dtc {
namespace {

// 1. Rotary embedding.

std::string spelled(int64_t value) { return std::to_string(value); }

bool isThere(const char *key) { return *key != 0; }

// Returns the default of a number in the class.
double defaultNumber(const TypedConfig &config, const char *key) {
  const HfKey *row = findHfKey(config.type, key);
  return nlohmann::json::parse(row->fallback.begin(), row->fallback.end()).get<double>();
}

// Reads a number that the object of rotary embedding has, or the config beside it under the name
// `key`. What the object has counts; both are refused if they differ.
double readInside(TypedConfig &config, HfConfig &rope, const char *inside, const char *key,
                  const char *object) {
  double beside = config.number(key);
  double value = rope.number(inside, beside);
  if (config.json.has(key) && value != beside)
    config.json.refuse(key, "what '" + std::string(object) + "' have");
  return value;
}

// Reads the part of a head that is rotated, and returns the number of its elements.
int64_t readRotaryDims(TypedConfig &config, HfConfig &rope, const char *key, const char *object,
                       int64_t headDim) {
  const char *inside = "partial_rotary_factor";
  double part = readInside(config, rope, inside, key, object);
  HfConfig &holder = rope.has(inside) ? rope : config.json;
  const char *name = rope.has(inside) ? inside : key;
  if (part <= 0 || part > 1) {
    holder.refuse(name, "a number greater than 0 and at most 1");
    return headDim;
  }
  auto dims = static_cast<int64_t>(static_cast<double>(headDim) * part);
  if (dims == 0 || dims % 2 != 0)
    holder.fail(name, "is " + nlohmann::json(part).dump() +
                          (rope.has(inside) ? "" : config.byDefault(key)) + ", so that " +
                          spelled(dims) + " of " + spelled(headDim) +
                          " elements of a head are rotated; dtc rotates an even number of them");
  return dims;
}

// Reads the number of elements of a head that are rotated, by the base 10000.
void importRotaryDims(TypedConfig &config, const char *key, LlamaConfig &model) {
  model.rotaryDims = config.integer(key, 2, std::max<int64_t>(2, model.headDim));
  if (model.rotaryDims % 2 != 0)
    config.json.refuse(key, "an even number: pairs of elements are rotated");
}

// Returns the factor of scores: one over the root of the elements of a query, times the square of
// yarn's factor for `mscale_all_dim`, by which the class divides cosines and sines
// (RotaryKinds.cpp).
double scaleOfLatents(HfConfig &rope, const LlamaConfig &model) {
  double weight = rope.number("mscale_all_dim", 0), factor = rope.number("factor", 1);
  double scale = weight == 0 || factor <= 1 ? 1 : 0.1 * weight * std::log(factor) + 1;
  return scale * scale / std::sqrt(static_cast<double>(model.latent.plainDim + model.headDim));
}

// Reads both spellings: `rope_theta` beside `rope_scaling`, and (transformers 5) `rope_parameters`
// with everything inside.
void importRotary(TypedConfig &config, const Family &family, RotarySizes sizes,
                  LlamaConfig &model) {
  HfConfig &json = config.json;
  const char *key = json.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  HfConfig rope = json.child(key);
  bool isInside = rope.has("rope_theta");
  if (family.needsRotaryKind && !json.has(key))
    json.fail("rope_parameters", "is missing, and the class then has a scaling that no file tells",
              "write the one that is meant, such as {\"rope_type\": \"default\"}");
  model.rotary.base = readInside(config, rope, "rope_theta", family.theta, key);
  if (model.rotary.base <= 0)
    (isInside ? rope : json)
        .refuse(isInside ? "rope_theta" : family.theta, "a number greater than 0");
  if (isThere(family.rotaryPart))
    model.rotaryDims = sizes.dims =
        readRotaryDims(config, rope, family.rotaryPart, key, model.headDim);
  if (family.onlyLongrope)
    sizes.original = config.integer("original_max_position_embeddings", 1, kMostTokens);
  readRotaryKind(config, family, rope, key, sizes, model.rotary);
  if (family.latent)
    model.attentionScale = scaleOfLatents(rope, model);
  json.adopt(rope);
}

// Reads the rotary embedding of a family whose layers with a window have one of their own. In files
// without `rope_parameters`, `rope_scaling` is that of the layers without a window. What such a
// file says beside an object does not count where the object says it, too.
void importRotaryOfKinds(TypedConfig &config, const Family &family, const RotarySizes &sizes,
                         LlamaConfig &model) {
  HfConfig &json = config.json;
  auto read = [&](HfConfig &rope, const char *key, double base, RotarySpec &rotary) {
    rotary.base = rope.number("rope_theta", base);
    if (rotary.base <= 0)
      rope.refuse("rope_theta", "a number greater than 0");
    readRotaryKind(config, family, rope, key, sizes, rotary);
  };
  bool isOwn = family.localTheta == kOwnDefault;
  double base = config.number(family.theta);
  double localBase = isOwn ? defaultNumber(config, family.theta) : config.number(family.localTheta);
  model.localRotary.emplace();
  if (json.has("rope_parameters")) {
    HfConfig both = json.child("rope_parameters");
    HfConfig full = both.child("full_attention"), local = both.child("sliding_attention");
    read(full, "full_attention", base, model.rotary);
    read(local, "sliding_attention", localBase, *model.localRotary);
    both.adopt(full);
    both.adopt(local);
    refuseUnreadKeys(both, "the rotary embedding of " + config.type);
    json.adopt(both);
    return;
  }
  HfConfig full = json.child("rope_scaling");
  read(full, "rope_scaling", base, model.rotary);
  model.localRotary->base = localBase;
  json.adopt(full);
}

// 2. Attention.

// Reads the sizes of latents. The class has a query head for each key head, or fails.
void importLatents(TypedConfig &config, const Family &family, LlamaConfig &model) {
  LatentConfig &latent = model.latent;
  latent.queryRank = config.optionalInteger("q_lora_rank").value_or(0);
  latent.keyRank = config.integer("kv_lora_rank");
  latent.plainDim = config.integer("qk_nope_head_dim");
  latent.valueDim = config.integer("v_head_dim");
  model.headDim = config.integer("qk_rope_head_dim", 2);
  if (model.headDim % 2 != 0)
    config.json.refuse("qk_rope_head_dim", "an even number: pairs of elements are rotated");
  if (!family.freeHeadDim)
    requireDivides(config, family.heads, model.heads, family.width, model.width);
  if (model.kvHeads != model.heads)
    config.json.fail("num_key_value_heads",
                     "is " + spelled(model.kvHeads) + config.byDefault("num_key_value_heads") +
                         ", and latents give each of the " + spelled(model.heads) + " heads of '" +
                         family.heads + "' its own key; write that number");
  if (isThere(family.interleavedFlag))
    model.features.interleaved = config.flag(family.interleavedFlag);
}

// Returns true if a family has a bias: always, or as its key says.
bool hasBias(TypedConfig &config, const char *key) {
  return key == kAlways || (isThere(key) && config.flag(key));
}

// Reads a soft cap; 0 if the family has none, or the file has null.
double readCap(TypedConfig &config, const char *key) {
  std::optional<double> cap = isThere(key) ? config.optionalNumber(key) : std::nullopt;
  if (cap && *cap <= 0)
    config.json.refuse(key, "a number greater than 0, or null for none");
  return cap.value_or(0);
}

void importHeadDim(TypedConfig &config, const Family &family, LlamaConfig &model) {
  std::optional<int64_t> headDim;
  if (family.freeHeadDim)
    headDim = config.optionalInteger("head_dim");
  if (!headDim)
    requireDivides(config, family.heads, model.heads, family.width, model.width);
  model.headDim = headDim.value_or(model.width / model.heads);
  requireDivides(config, "num_key_value_heads", model.kvHeads, family.heads, model.heads);
}

void importAttention(TypedConfig &config, const Family &family, LlamaConfig &model) {
  model.heads = config.integer(family.heads);
  model.kvHeads = model.heads;
  if (family.grouped) // null means as many as heads
    model.kvHeads = config.optionalInteger("num_key_value_heads").value_or(model.heads);
  if (family.latent)
    importLatents(config, family, model);
  else
    importHeadDim(config, family, model);
  if (model.headDim % 2 != 0 && !family.latent && !isThere(family.rotaryPart) &&
      !isThere(family.rotaryDims))
    config.json.fail("head_dim",
                     "is " + spelled(model.headDim) + "; rotary embedding needs an even head dim");
  model.attentionDropout = config.probability(family.attentionDropout);
  model.projectionBias = hasBias(config, family.projectionBias);
  model.outputBias = hasBias(config, family.outputBias);
  model.mlpBias = hasBias(config, family.mlpBias);
  if (isThere(family.attentionScale))
    model.attentionScale = config.number(family.attentionScale);
  if (isThere(family.scoreDivisor)) {
    double divisor = config.number(family.scoreDivisor);
    if (divisor <= 0)
      config.json.refuse(family.scoreDivisor, "a number greater than 0");
    model.attentionScale = 1 / std::sqrt(divisor);
  }
  model.scoreCap = readCap(config, family.scoreCap);
  model.logitCap = readCap(config, family.logitCap);
  model.clip = readCap(config, family.clip);
  if (isThere(family.qkNormFlag) && !config.flag(family.qkNormFlag))
    model.features.qkNorm = LlamaQkNorm::None;
}

// Reads which layers have rotary embedding from a list, or from the interval of those without it.
void importRotaryLayers(TypedConfig &config, LlamaConfig &model) {
  const char *key = "no_rope_layers";
  int64_t interval = config.integer("no_rope_layer_interval", 1, kMostLayers);
  std::optional<std::vector<int64_t>> listed = config.json.integers(key, 0, 1);
  if (listed && static_cast<int64_t>(listed->size()) < model.layers) {
    config.json.fail(key, "has " + spelled(static_cast<int64_t>(listed->size())) +
                              " layers, wanted " + spelled(model.layers) +
                              " as 'num_hidden_layers' says");
    return;
  }
  for (int64_t i = 0; i < model.layers; ++i)
    model.rotaryLayers.push_back(listed ? (*listed)[i] : (i + 1) % interval != 0);
  if (!llvm::is_contained(model.rotaryLayers, 0))
    model.rotaryLayers.clear();
}

// Returns which layers have a window if the file does not list them.
SmallVector<int64_t> usualWindows(TypedConfig &config, const Family &family,
                                  const LlamaConfig &model) {
  SmallVector<int64_t> windows(static_cast<size_t>(model.layers), 1);
  if (family.windows == HfWindows::FromLayer) {
    int64_t full = std::min(model.layers, config.integer("max_window_layers", 0));
    std::fill_n(windows.begin(), full, 0);
  } else if (family.windows == HfWindows::Listed) {
    int64_t every = family.unwindowedEvery;
    if (isThere(family.unwindowedKey))
      every = config.json.integer(family.unwindowedKey, every, 1, kMostLayers);
    for (int64_t i = 0; i < model.layers; ++i)
      windows[i] = every > 0 ? (i + 1) % every != 0
                             : !model.rotaryLayers.empty() && model.rotaryLayers[i] == 0;
  }
  return windows;
}

// Reads which layers are local: with a window, and with the rotary embedding of such layers. A
// window as long as the sequence has no effect, and neither has null.
void importWindow(TypedConfig &config, const Family &family, LlamaConfig &model, int64_t sequence) {
  HfConfig &json = config.json;
  int64_t window = 0;
  if (family.windows != HfWindows::None)
    window = config.optionalInteger("sliding_window", 1, kMostTokens).value_or(0);
  SmallVector<int64_t> layers = usualWindows(config, family, model);
  if (findHfKey(config.type, "use_sliding_window") && !config.flag("use_sliding_window"))
    window = 0;
  std::optional<SmallVector<int64_t>> listed = listedWindows(json, model.layers);
  if (listed && (family.windows == HfWindows::FromLayer || family.windows == HfWindows::Listed))
    layers = *listed;
  int64_t windows = llvm::count(layers, 1), have = window > 0 ? windows : 0;
  if (listed && window < sequence && llvm::count(*listed, 1) != have)
    json.fail("layer_types", "has sliding_attention " + spelled(llvm::count(*listed, 1)) +
                                 " times, but " + spelled(have) + " layers of this " + config.type +
                                 " have a window");
  if (family.rotaryLayers == HfRotaryLayers::Windowed)
    model.rotaryLayers = window > 0 ? layers : SmallVector<int64_t>(layers.size(), 0);
  if (windows == 0 || (model.localRotary && *model.localRotary == model.rotary))
    model.localRotary.reset();
  if (window < sequence && have > 0)
    model.sliding = window;
  else if (!model.localRotary)
    return;
  if (windows < model.layers)
    model.localLayers = layers;
}

// 3. Other parts.

// Reads the activation of the MLP.
LlamaActivation importActivation(TypedConfig &config, const Family &family) {
  const std::map<std::string, LlamaActivation> known{
      {"gelu", family.geluIsTanh ? LlamaActivation::GeluTanh : LlamaActivation::GeluErf},
      {"gelu_new", LlamaActivation::GeluTanh},
      {"gelu_pytorch_tanh", LlamaActivation::GeluTanh},
      {"relu", LlamaActivation::Relu},
      {"silu", LlamaActivation::Silu},
      {"swish", LlamaActivation::Silu}};
  std::string name = config.word(family.activation);
  auto found = known.find(name);
  if (found != known.end())
    return found->second;
  config.json.fail(family.activation,
                   "is '" + name + "'; dtc knows gelu, gelu_new, gelu_pytorch_tanh, relu and silu");
  return LlamaActivation::Silu;
}

// Reads the numbers with which a family multiplies values, and its dropouts behind the parts of a
// layer.
void importFactors(TypedConfig &config, const Family &family, LlamaConfig &model) {
  auto number = [&](const char *key) { return isThere(key) ? config.number(key) : 1; };
  auto probability = [&](const char *key) { return isThere(key) ? config.probability(key) : 0; };
  model.embeddingScale = number(family.embeddingScale);
  model.residualScale = number(family.residualScale);
  model.logitScale = number(family.logitScale);
  if (isThere(family.logitDivisor)) {
    double divisor = config.number(family.logitDivisor);
    if (divisor == 0)
      config.json.refuse(family.logitDivisor, "a number other than 0");
    model.logitScale = 1 / divisor;
  }
  model.embeddingDropout = probability(family.embeddingDropout);
  model.outputDropout = probability(family.outputDropout);
  model.mlpDropout = probability(family.mlpDropout);
}

// Reads the modules that predict later tokens. The class of transformers does not train them, and
// has one where a file says nothing; here a model has those that its file names. The factor of
// their loss has the name of Megatron-LM's option, and its default.
void importLaterTokens(TypedConfig &config, const Family &family, LlamaConfig &model,
                       int64_t sequence) {
  HfConfig &json = config.json;
  if (!isThere(family.laterTokens))
    return;
  constexpr int64_t most = 16;
  const char *key = config.nameOf(family.laterTokens), *factorKey = "mtp_loss_scaling_factor";
  model.laterTokens = json.integer(key, 0, 0, most);
  if (model.laterTokens == 0)
    return;
  model.laterLoss = json.number(factorKey, 0.1);
  if (model.laterLoss <= 0)
    json.refuse(factorKey,
                "a number greater than 0; '" + std::string(key) + "' of 0 leaves the modules out");
  if (sequence <= model.laterTokens)
    json.fail(key,
              "is " + spelled(model.laterTokens) + ", and a sequence of " + spelled(sequence) +
                  " tokens has none so far behind the next one",
              "give a longer --seq-len, or put 0 there");
  if (json.documents != Documents::None)
    json.fail(key,
              "is " + spelled(model.laterTokens) +
                  ", and dtc can't predict later tokens within the documents of a sample",
              "leave --documents out, or put 0 there");
}

} // namespace

OwningOpRef<ModuleOp> importLlama(MLIRContext *context, TypedConfig &config, int64_t sequence) {
  HfConfig &json = config.json;
  const Family &family = *findFamily(config.type);
  LlamaConfig model;
  model.name = config.type;
  model.features = family.features;
  model.vocabulary = config.integer("vocab_size", 1, kMostTokens);
  model.width = config.integer(family.width);
  model.innerWidth = config.optionalInteger(family.innerWidth).value_or(4 * model.width);
  model.layers = config.integer(family.layers, 1, kMostLayers);
  importAttention(config, family, model);
  model.epsilon = isThere(family.epsilon) ? readEpsilon(config, family.epsilon) : kPlainEpsilon;
  model.initializerRange = readDeviation(config);
  model.tied = config.flag("tie_word_embeddings");
  model.padding = readPadding(config, model.vocabulary);
  model.activation = importActivation(config, family);
  if (family.experts)
    importExperts(config, *family.experts, model);
  importFactors(config, family, model);
  if (isThere(family.parallel))
    model.features.parallel = config.flag(family.parallel);
  if (model.features.parallel && family.parallelSharesNorm)
    model.features.mlpIn = "";
  if (isThere(family.mustBeOff) && config.flag(family.mustBeOff))
    json.fail(family.mustBeOff, "is true, and dtc builds " + config.type + " without it",
              kWriteItYourself);
  int64_t positions = config.integer(family.positions, 1, kMostTokens);
  sequence = chooseSequence(config, sequence, positions, family.positions);
  RotarySizes sizes{model.headDim, positions, sequence};
  sizes.isOfLayerType = isThere(family.localTheta);
  if (isThere(family.rotaryDims))
    importRotaryDims(config, family.rotaryDims, model);
  else if (sizes.isOfLayerType)
    importRotaryOfKinds(config, family, sizes, model);
  else
    importRotary(config, family, sizes, model);
  if (family.rotaryLayers == HfRotaryLayers::Listed)
    importRotaryLayers(config, model);
  importWindow(config, family, model, sequence);
  importLaterTokens(config, family, model, sequence);
  model.documents = json.documents;
  refuseUnreadKeys(json, config.type);
  return json.ok() ? buildLlama(context, model, sequence) : nullptr;
}

} // namespace dtc
