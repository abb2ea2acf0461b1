// Builds the model that a Hugging Face config.json describes.
#include "compiler/describe/frontend/ImportHf.h"
#include "compiler/describe/frontend/Encoders.h"
#include "compiler/describe/frontend/Families.h"
#include "compiler/describe/frontend/HfConfig.h"
#include "compiler/describe/frontend/HfKeys.h"
#include "compiler/describe/frontend/HfTable.h"
#include "compiler/describe/frontend/Importers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dtc {
namespace {

constexpr const char *kGpt2 = "gpt2", *kT5 = "t5";

// Returns the model types that dtc builds. Example: "gpt2, llama and bert".
std::string knownTypes() {
  std::string types = std::string(kGpt2) + ", " + kT5;
  for (const Family &family : allFamilies())
    types += ", " + std::string(family.type);
  for (const EncoderFamily &family : allEncoders())
    types += (&family == &allEncoders().back() ? " and " : ", ") + std::string(family.type);
  return types;
}

// Returns the classes of transformers that dtc builds for a model_type. The first is that of a file
// that names none.
std::vector<std::string> architecturesOf(llvm::StringRef modelType) {
  if (modelType == kGpt2)
    return {"GPT2LMHeadModel"};
  if (modelType == kT5)
    return {"T5ForConditionalGeneration"};
  if (const Family *family = findFamily(modelType))
    return {family->architecture};
  std::vector<std::string> names;
  if (const EncoderFamily *family = findEncoder(modelType))
    for (const char *name : {family->maskedWords, family->classes})
      if (*name)
        names.emplace_back(name);
  return names;
}

} // namespace

std::string architectureOf(llvm::StringRef modelType) {
  std::vector<std::string> names = architecturesOf(modelType);
  return names.empty() ? "" : names.front();
}

std::string architectureOfConfig(const std::string &text) {
  HfConfig config("config.json", text);
  std::string type = config.word("model_type", "");
  std::vector<std::string> named = config.words("architectures");
  bool isBuilt = !named.empty() && llvm::is_contained(architecturesOf(type), named.front());
  return isBuilt ? named.front() : architectureOf(type);
}

double readEpsilon(TypedConfig &config, const char *key) {
  double epsilon = config.number(key);
  if (epsilon <= 0 || epsilon >= 1)
    config.json.refuse(key, "a number above 0 and below 1");
  return epsilon;
}

double readDeviation(TypedConfig &config) {
  double deviation = config.number("initializer_range");
  if (deviation < 0)
    config.json.refuse("initializer_range", "a number of 0 or more");
  return deviation;
}

int64_t chooseSequence(TypedConfig &config, int64_t asked, int64_t positions, const char *key) {
  std::string most = std::to_string(positions);
  if (asked > positions)
    config.json.fail(config.nameOf(key), "is " + most + config.byDefault(key) +
                                             ", less than --seq-len " + std::to_string(asked) +
                                             "; use a sequence length of at most " + most);
  return asked > 0 ? asked : positions;
}

void requireDivides(TypedConfig &config, const char *key, int64_t divisor, const char *ofKey,
                    int64_t dividend) {
  if (divisor <= 0 || dividend % divisor == 0)
    return;
  int64_t below = divisor, above = divisor;
  while (dividend % below != 0)
    --below;
  while (above < dividend && dividend % above != 0)
    ++above;
  std::string values = std::to_string(below);
  if (above < dividend || divisor < dividend)
    values += " or " + std::to_string(above);
  config.json.fail(config.nameOf(key), "is " + std::to_string(divisor) + config.byDefault(key) +
                                           ", which does not divide '" + config.nameOf(ofKey) +
                                           "' = " + std::to_string(dividend) +
                                           "; transformers takes " + values);
}

std::optional<int64_t> readPadding(TypedConfig &config, int64_t vocabulary) {
  const char *key = "pad_token_id";
  const HfKey *row = findHfKey(config.type, key);
  if (row && row->effect == HfEffect::Nothing)
    return std::nullopt;
  std::optional<int64_t> padding = config.optionalInteger(key, -vocabulary, vocabulary - 1);
  if (padding && (*padding < -vocabulary || *padding >= vocabulary))
    config.json.fail(key, "is " + std::to_string(*padding) + config.byDefault(key) +
                              ", which is no row of the " + std::to_string(vocabulary) +
                              " of 'vocab_size'; set it to one, or to null for none");
  return padding && *padding < 0 ? *padding + vocabulary : padding;
}

std::optional<SmallVector<int64_t>> listedWindows(HfConfig &json, int64_t layers) {
  std::vector<std::string> kinds = json.words("layer_types");
  if (kinds.empty())
    return std::nullopt;
  if (static_cast<int64_t>(kinds.size()) != layers)
    json.fail("layer_types", "has the kinds of " + std::to_string(kinds.size()) +
                                 " layers, wanted " + std::to_string(layers) +
                                 " as 'num_hidden_layers' says");
  SmallVector<int64_t> windows;
  for (const std::string &kind : kinds) {
    if (kind != "full_attention" && kind != "sliding_attention")
      json.fail("layer_types", "has '" + kind + "'; dtc knows full_attention and sliding_attention",
                kWriteItYourself);
    windows.push_back(kind == "sliding_attention");
  }
  return windows;
}

OwningOpRef<ModuleOp> importHfConfig(MLIRContext *context, HfConfig &config, int64_t sequence) {
  std::string type = config.word("model_type", "");
  if (!config.ok())
    return nullptr;
  config.setType(type);
  std::vector<std::string> built = architecturesOf(type);
  if (built.empty()) {
    std::string known = "; dtc imports " + knownTypes();
    std::string part = unknownPartOf(type);
    std::string why = type.empty()   ? "set it to what the model is, or "
                      : part.empty() ? ""
                                     : type + " has " + part + ", which dtc can't import; ";
    config.fail("model_type", (type.empty() ? "is missing" : "is '" + type + "'") + known,
                why + kWriteItYourself);
    return nullptr;
  }
  std::vector<std::string> named = config.words("architectures");
  for (const std::string &name : named)
    if (!llvm::is_contained(built, name))
      config.fail("architectures",
                  "is '" + name + "'; dtc builds " + llvm::join(built, " and ") + " of " + type,
                  "set it to [\"" + llvm::join(built, "\"] or [\"") + "\"] to train that model");
  if (!config.ok())
    return nullptr;
  TypedConfig typed(config, type);
  if (type == kGpt2)
    return importGpt2(context, typed, sequence);
  if (config.documents != Documents::None && !findFamily(type)) {
    config.fail("model_type",
                "is '" + type + "'; --documents is for models whose tokens see earlier ones",
                "leave --documents out");
    return nullptr;
  }
  if (type == kT5)
    return importT5(context, typed, sequence);
  if (findFamily(type))
    return importLlama(context, typed, sequence);
  return importEncoder(context, typed, named.empty() ? built.front() : named.front(), sequence);
}

} // namespace dtc
