// Reads a config.json of one model_type in the way of transformers' class of that type.
#pragma once

#include "compiler/describe/frontend/HfConfig.h"

#include <optional>

namespace dtc {

// Reads keys with the defaults, the other names and the nulls of the class. A key that the class
// does not have is absent by default, and null means absent.
class TypedConfig {
public:
  TypedConfig(HfConfig &json, std::string type) : json(json), type(std::move(type)) {}

  // Returns a whole number from `low` to `high`. See HfConfig::integer.
  int64_t integer(const char *key, int64_t low = 1, int64_t high = 1 << 20);
  // Same as integer, for a key whose class allows null, which gives nullopt.
  std::optional<int64_t> optionalInteger(const char *key, int64_t low = 1, int64_t high = 1 << 20);
  // Returns a number, or the default of the class.
  double number(const char *key);
  // Same as number, for a key whose class allows null, which gives nullopt.
  std::optional<double> optionalNumber(const char *key);
  // Returns a probability, 0 <= p < 1.
  double probability(const char *key);
  // Returns true or false, or the default of the class.
  bool flag(const char *key);
  // Returns a string, or the default of the class.
  std::string word(const char *key);

  // Returns the name under which the file has a key: its own, or the other one that the class
  // knows. Example: "hidden_size" for "n_embd". A file that has both with different values is
  // refused.
  const char *nameOf(const char *key);
  // Returns " by default" if the file has no value for the key, for messages that show a value.
  const char *byDefault(const char *key) { return json.has(nameOf(key)) ? "" : " by default"; }

  HfConfig &json;
  const std::string type;

private:
  // Returns the default of the class as JSON. Refuses a null that the class does not accept.
  nlohmann::json fallbackOf(const char *key);
};

} // namespace dtc
