// Builds the model that a Hugging Face config.json describes.
#include "compiler/frontend/HfConfig.h"
#include "compiler/frontend/HfKeys.h"
#include "compiler/frontend/Importers.h"

#include <map>

using namespace mlir;

namespace dtc {
namespace {

// The class of transformers that dtc builds for each model_type.
const std::map<std::string, std::string> kBuilt{{"gpt2", "GPT2LMHeadModel"},
                                                {"llama", "LlamaForCausalLM"},
                                                {"mistral", "MistralForCausalLM"},
                                                {"mixtral", "MixtralForCausalLM"},
                                                {"qwen2", "Qwen2ForCausalLM"}};

} // namespace

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
  TypedConfig typed(config, type);
  return type == "gpt2" ? importGpt2(context, typed, sequence)
                        : importLlama(context, typed, sequence);
}

} // namespace dtc
