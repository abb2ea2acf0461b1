// The shape of a plan's model as JSON, written and read.
#include "compiler/decide/plan/ArchitectureJson.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <nlohmann/json.hpp>

namespace dtc {
namespace {

using Json = nlohmann::ordered_json;

constexpr llvm::StringRef kNorms[] = {"rms", "layer"};
constexpr llvm::StringRef kActivations[] = {"swiglu", "silu", "gelu", "gelu_tanh", "relu"};
constexpr double kMostNumber = 1e15; // limit of any size or factor

// Calls visit(key, member) for each field, in the order of the file.
template <typename Architecture, typename Visit> void visitAll(Architecture &of, Visit &&visit) {
  visit("hidden", of.hidden);
  visit("heads", of.heads);
  visit("kv_heads", of.kvHeads);
  visit("head_dim", of.headDim);
  visit("inner", of.inner);
  visit("vocabulary", of.vocabulary);
  visit("learned_positions", of.learnedPositions);
  visit("window", of.window);
  visit("rotary_base", of.rotaryBase);
  visit("rotary_factor", of.rotaryFactor);
  visit("norm", of.norm);
  visit("epsilon", of.epsilon);
  visit("activation", of.activation);
  visit("dropout", of.dropout);
  visit("attention_dropout", of.attentionDropout);
  visit("tied", of.tied);
  visit("biases", of.biases);
  visit("qkv_biases", of.qkvBiases);
  visit("experts", of.experts);
  visit("experts_of_token", of.expertsOfToken);
  visit("capacity", of.capacity);
  visit("whole", of.isWhole);
}

std::string wrong(const char *key, const char *wanted) {
  return "'" + std::string(key) + "' has another value than " + wanted;
}

struct Reading {
  const Json &json;
  std::string what; // description of the fault; "": none so far

  const Json *find(const char *key) const {
    auto found = json.find(key);
    return what.empty() && found != json.end() ? &*found : nullptr;
  }
  void operator()(const char *key, int64_t &out) {
    const Json *value = find(key);
    if (!value)
      return;
    double number = value->is_number_integer() ? value->get<double>() : -1;
    if (number < 0 || number > kMostNumber)
      what = wrong(key, "a whole number of 0 to 1e15");
    else
      out = value->get<int64_t>();
  }
  void operator()(const char *key, double &out) {
    const Json *value = find(key);
    if (!value)
      return;
    double number = value->is_number() ? value->get<double>() : 2 * kMostNumber;
    if (!(number >= -1 && number <= kMostNumber)) // -1: frequencies without a base
      what = wrong(key, "a number of -1 to 1e15");
    else
      out = number;
  }
  void operator()(const char *key, bool &out) {
    const Json *value = find(key);
    if (value && !value->is_boolean())
      what = wrong(key, "true or false");
    else if (value)
      out = value->get<bool>();
  }
  void operator()(const char *key, std::string &out) {
    const Json *value = find(key);
    if (!value)
      return;
    llvm::ArrayRef<llvm::StringRef> words =
        llvm::StringRef(key) == "norm" ? llvm::ArrayRef(kNorms) : llvm::ArrayRef(kActivations);
    if (!value->is_string() || !llvm::is_contained(words, value->get<std::string>()))
      what = wrong(key, "the words that dtc writes");
    else
      out = value->get<std::string>();
  }
};

} // namespace

Json architectureToJson(const ModelArchitecture &architecture) {
  Json json = Json::object();
  visitAll(architecture, [&](const char *key, const auto &value) {
    if (value != std::decay_t<decltype(value)>())
      json[key] = value;
  });
  return json;
}

std::string architectureFromJson(const Json &json, ModelArchitecture &architecture) {
  if (!json.is_object())
    return "is no object";
  Reading reading{json, ""};
  visitAll(architecture, reading);
  return reading.what;
}

} // namespace dtc
