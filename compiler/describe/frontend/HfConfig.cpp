// Reads a Hugging Face config.json, with errors that point at the key.
#include "compiler/describe/frontend/HfConfig.h"

#include "compiler/describe/frontend/HfTable.h"
#include "compiler/support/JsonText.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace dtc {

HfConfig::HfConfig(std::string path, std::string text)
    : path(std::move(path)), text(std::move(text)) {
  if (std::optional<UserError> error = findJsonError(this->path, this->text)) {
    failure = error;
    return;
  }
  root = nlohmann::json::parse(this->text, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object())
    failure.emplace(std::string("a config.json holds one object, this file holds ") +
                        root.type_name(),
                    "", SourceLocation{this->path, 1, 1});
}

const nlohmann::json *HfConfig::find(const char *key) const {
  if (!root.is_object())
    return nullptr;
  asked.insert(key);
  auto it = root.find(key);
  return it == root.end() || it->is_null() ? nullptr : &*it;
}

bool HfConfig::has(const char *key) const { return find(key) != nullptr; }

bool HfConfig::mentions(const char *key) const { return root.is_object() && root.contains(key); }

bool HfConfig::isList(const char *key) const {
  const nlohmann::json *value = find(key);
  return value && value->is_array();
}

bool HfConfig::sameValue(const char *a, const char *b) const {
  const nlohmann::json *left = find(a), *right = find(b);
  return left && right && *left == *right;
}

size_t HfConfig::offsetOf(const std::string &key) const {
  std::vector<std::string> keys = within;
  keys.push_back(key);
  return findInJson(text, keys);
}

std::vector<std::pair<std::string, const nlohmann::json *>> HfConfig::unread() const {
  std::vector<std::tuple<size_t, std::string, const nlohmann::json *>> placed;
  for (const auto &[key, value] : root.items())
    if (!asked.count(key))
      placed.emplace_back(offsetOf(key), key, &value);
  llvm::sort(placed);
  std::vector<std::pair<std::string, const nlohmann::json *>> keys;
  for (const auto &[offset, key, value] : placed)
    keys.emplace_back(key, value);
  return keys;
}

void HfConfig::fail(const char *key, const std::string &what, const std::string &note) {
  if (ok())
    failure.emplace("'" + std::string(key) + "' " + what, note,
                    locationAt(path, text, offsetOf(key)));
}

void HfConfig::refuse(const char *key, const std::string &wanted) {
  const nlohmann::json *value = find(key);
  const HfKey *row = within.empty() ? findHfKey(modelType, key) : nullptr;
  fail(key, "is " + (value ? value->dump() : "absent") + ", wanted " + wanted +
                (row ? "; by default transformers has " + row->fallback.str() : ""));
}

int64_t HfConfig::integer(const char *key, int64_t fallback, int64_t low, int64_t high) {
  const nlohmann::json *value = find(key);
  if (!value)
    return fallback;
  bool whole = value->is_number_integer();
  if (!whole || (value->is_number_unsigned() && value->get<uint64_t>() > uint64_t(high)) ||
      value->get<int64_t>() < low || value->get<int64_t>() > high) {
    refuse(key, "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
    return fallback;
  }
  return value->get<int64_t>();
}

double HfConfig::number(const char *key, double fallback) {
  const nlohmann::json *value = find(key);
  if (!value)
    return fallback;
  if (!value->is_number() || !std::isfinite(value->get<double>())) {
    refuse(key, "a number");
    return fallback;
  }
  return value->get<double>();
}

double HfConfig::probability(const char *key, double fallback) {
  double p = number(key, fallback);
  if (p < 0 || p >= 1) {
    refuse(key, "a probability of 0 or more and less than 1");
    return 0;
  }
  return p;
}

bool HfConfig::flag(const char *key, bool fallback) {
  const nlohmann::json *value = find(key);
  if (!value)
    return fallback;
  if (!value->is_boolean()) {
    refuse(key, "true or false");
    return fallback;
  }
  return value->get<bool>();
}

std::string HfConfig::word(const char *key, const std::string &fallback) {
  const nlohmann::json *value = find(key);
  if (!value)
    return fallback;
  if (!value->is_string()) {
    refuse(key, "a string");
    return fallback;
  }
  return value->get<std::string>();
}

std::vector<std::string> HfConfig::words(const char *key) {
  const nlohmann::json *value = find(key);
  std::vector<std::string> words;
  if (!value)
    return words;
  if (!value->is_array()) {
    refuse(key, "a list of strings");
    return words;
  }
  for (const nlohmann::json &each : *value) {
    if (!each.is_string()) {
      refuse(key, "a list of strings");
      return {};
    }
    words.push_back(each.get<std::string>());
  }
  return words;
}

std::optional<std::vector<int64_t>> HfConfig::integers(const char *key, int64_t low, int64_t high) {
  const nlohmann::json *value = find(key);
  if (!value)
    return std::nullopt;
  auto isWanted = [&](const nlohmann::json &each) {
    return each.is_number_integer() && each.get<int64_t>() >= low && each.get<int64_t>() <= high;
  };
  if (value->is_array() && llvm::all_of(*value, isWanted))
    return value->get<std::vector<int64_t>>();
  fail(key, "is " + shownValue(*value) + ", wanted a list of whole numbers from " +
                std::to_string(low) + " to " + std::to_string(high));
  return std::nullopt;
}

std::optional<std::vector<double>> HfConfig::numbers(const char *key) {
  const nlohmann::json *value = find(key);
  if (!value)
    return std::nullopt;
  auto isNumber = [](const nlohmann::json &each) { return each.is_number(); };
  if (value->is_array() && llvm::all_of(*value, isNumber))
    return value->get<std::vector<double>>();
  fail(key, "is " + shownValue(*value) + ", wanted a list of numbers");
  return std::nullopt;
}

HfConfig HfConfig::child(const char *key) const {
  HfConfig child = *this;
  const nlohmann::json *value = find(key);
  child.root = value && value->is_object() ? *value : nlohmann::json::object();
  child.asked.clear();
  if (value && !value->is_object())
    child.fail(key, "is " + value->dump() + ", wanted an object");
  child.within.emplace_back(key);
  return child;
}

void HfConfig::adopt(const HfConfig &child) {
  if (ok())
    failure = child.failure;
}

std::string shownValue(const nlohmann::json &value) {
  if (value.is_object())
    return "an object";
  return value.is_array() ? "a list" : value.dump();
}

} // namespace dtc
