// Reads a config.json of one model_type.
#include "compiler/describe/frontend/TypedConfig.h"

#include "compiler/describe/frontend/HfTable.h"

#include <cassert>

namespace dtc {

nlohmann::json TypedConfig::fallbackOf(const char *key) {
  const HfKey *row = findHfKey(type, key);
  if (!row)
    return nullptr;
  const char *name = nameOf(key);
  if (json.mentions(name) && !json.has(name)) {
    if (!row->nullable)
      json.fail(name,
                "is null, which " + type + " of transformers " + kTransformersVersion +
                    " does not take",
                "leave it out for its default, " + row->fallback.str() + ", or give a value");
    return nullptr;
  }
  return nlohmann::json::parse(row->fallback.begin(), row->fallback.end());
}

const char *TypedConfig::nameOf(const char *key) {
  llvm::StringRef alias = aliasOf(type, key);
  if (alias.empty() || !json.has(alias.data()))
    return key;
  if (json.has(key) && !json.sameValue(key, alias.data()))
    json.fail(alias.data(), "is another number than '" + std::string(key) +
                                "', of which it is another name; take one of them out");
  return alias.data();
}

int64_t TypedConfig::integer(const char *key, int64_t low, int64_t high) {
  nlohmann::json fallback = fallbackOf(key);
  return json.integer(nameOf(key), fallback.is_number() ? fallback.get<int64_t>() : low, low, high);
}

std::optional<int64_t> TypedConfig::optionalInteger(const char *key, int64_t low, int64_t high) {
  nlohmann::json fallback = fallbackOf(key);
  const char *name = nameOf(key);
  if (!json.has(name) && fallback.is_null())
    return std::nullopt;
  return json.integer(name, fallback.is_number() ? fallback.get<int64_t>() : low, low, high);
}

double TypedConfig::number(const char *key) {
  nlohmann::json fallback = fallbackOf(key);
  return json.number(nameOf(key), fallback.is_number() ? fallback.get<double>() : 0);
}

std::optional<double> TypedConfig::optionalNumber(const char *key) {
  nlohmann::json fallback = fallbackOf(key);
  const char *name = nameOf(key);
  if (!json.has(name) && fallback.is_null())
    return std::nullopt;
  return json.number(name, fallback.is_number() ? fallback.get<double>() : 0);
}

double TypedConfig::probability(const char *key) {
  nlohmann::json fallback = fallbackOf(key);
  return json.probability(nameOf(key), fallback.is_number() ? fallback.get<double>() : 0);
}

bool TypedConfig::flag(const char *key) {
  nlohmann::json fallback = fallbackOf(key);
  return json.flag(nameOf(key), fallback.is_boolean() && fallback.get<bool>());
}

std::string TypedConfig::word(const char *key) {
  nlohmann::json fallback = fallbackOf(key);
  return json.word(nameOf(key), fallback.is_string() ? fallback.get<std::string>() : "");
}

} // namespace dtc
