// A config.json of one model_type, read as transformers' class of that type reads it.
#pragma once

#include "compiler/frontend/HfConfig.h"

#include <optional>

namespace dtc {

// Reads keys with the defaults, the other names and the nulls of the class. Where the class has no
// such key, it is absent by default and null stands for absent.
class TypedConfig {
public:
  TypedConfig(HfConfig &json, std::string type) : json(json), type(std::move(type)) {}

  // A whole number from `low` to `high`; see HfConfig::integer.
  int64_t integer(const char *key, int64_t low = 1, int64_t high = 1 << 20);
  // The same where the class allows null, which gives nullopt.
  std::optional<int64_t> optionalInteger(const char *key, int64_t low = 1, int64_t high = 1 << 20);
  double number(const char *key);
  // A probability: 0 <= p < 1.
  double probability(const char *key);
  bool flag(const char *key);
  std::string word(const char *key);

  // The name under which the file has a key: its own, or the other one that the class knows.
  // Example: "hidden_size" for "n_embd". A file that has both with different values is refused.
  const char *nameOf(const char *key);
  // " by default" where the file has no value for the key, for messages that tell a value.
  const char *byDefault(const char *key) { return json.has(nameOf(key)) ? "" : " by default"; }

  HfConfig &json;
  const std::string type;

private:
  // The default of the class as JSON; refuses a null that the class does not take.
  nlohmann::json fallbackOf(const char *key);
};

} // namespace dtc
