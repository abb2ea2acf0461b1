// Builds the model that a Hugging Face config.json describes.
#include "compiler/describe/frontend/Families.h"
#include "compiler/describe/frontend/Frontend.h"
#include "compiler/describe/frontend/HfConfig.h"
#include "compiler/describe/frontend/HfKeys.h"
#include "compiler/describe/frontend/Importers.h"

using namespace mlir;

namespace dtc {
namespace {

constexpr const char *kGpt2 = "gpt2";

// Returns the model types that dtc builds. Example: "gpt2, llama and mistral".
std::string knownTypes() {
  std::string types = kGpt2;
  for (const Family &family : allFamilies())
    types += (&family == &allFamilies().back() ? " and " : ", ") + std::string(family.type);
  return types;
}

} // namespace

std::string architectureOf(llvm::StringRef modelType) {
  if (modelType == kGpt2)
    return "GPT2LMHeadModel";
  const Family *family = findFamily(modelType);
  return family ? family->architecture : "";
}

std::string architectureOfConfig(const std::string &text) {
  HfConfig config("config.json", text);
  return architectureOf(config.word("model_type", ""));
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
  if (divisor > 0 && dividend % divisor != 0)
    config.json.fail(config.nameOf(key), "is " + std::to_string(divisor) + config.byDefault(key) +
                                             ", which does not divide '" + config.nameOf(ofKey) +
                                             "' = " + std::to_string(dividend));
}

OwningOpRef<ModuleOp> importHfConfig(MLIRContext *context, HfConfig &config, int64_t sequence) {
  std::string type = config.word("model_type", "");
  if (!config.ok())
    return nullptr;
  std::string built = architectureOf(type);
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
  for (const std::string &name : config.words("architectures"))
    if (name != built)
      config.fail("architectures", "is '" + name + "'; dtc builds " + built + " of " + type,
                  "set it to [\"" + built + "\"] to train the language model");
  if (!config.ok())
    return nullptr;
  TypedConfig typed(config, type);
  return type == kGpt2 ? importGpt2(context, typed, sequence)
                       : importLlama(context, typed, sequence);
}

} // namespace dtc
