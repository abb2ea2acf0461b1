// A Hugging Face config.json with errors that point at the key.
#include "compiler/frontend/HfConfig.h"

#include <cmath>

namespace dtc {
namespace {

std::string positionIn(const std::string &text, size_t offset) {
  size_t line = 1, column = 1;
  for (size_t i = 0; i < offset && i < text.size(); ++i) {
    column = text[i] == '\n' ? 1 : column + 1;
    line += text[i] == '\n';
  }
  return std::to_string(line) + ":" + std::to_string(column);
}

} // namespace

HfConfig::HfConfig(std::string path, std::string text)
    : path(std::move(path)), text(std::move(text)) {
  size_t stop = 0;
  // The SAX parser reports where it stopped; the DOM parser without exceptions does not.
  struct ErrorPosition : nlohmann::json_sax<nlohmann::json> {
    size_t at = 0;
    std::string what;
    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t &) override { return true; }
    bool string(string_t &) override { return true; }
    bool binary(binary_t &) override { return true; }
    bool start_object(std::size_t) override { return ++depth < 64; }
    bool key(string_t &) override { return true; }
    bool end_object() override { return --depth, true; }
    bool start_array(std::size_t) override { return ++depth < 64; }
    bool end_array() override { return --depth, true; }
    bool parse_error(std::size_t position, const std::string &token,
                     const nlohmann::detail::exception &) override {
      at = position;
      what = token;
      return false;
    }
    int depth = 0;
  } position;
  if (!nlohmann::json::sax_parse(this->text, &position)) {
    stop = position.at > 0 ? position.at - 1 : 0;
    message = this->path + ":" + positionIn(this->text, stop) + ": error: not JSON from here on" +
              (position.what.empty() ? "" : " (near '" + position.what + "')");
    return;
  }
  root = nlohmann::json::parse(this->text, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object())
    message = this->path + ":1:1: error: a config.json holds one object, this file holds " +
              root.type_name();
}

const nlohmann::json *HfConfig::find(const char *key) const {
  if (!root.is_object())
    return nullptr;
  auto it = root.find(key);
  return it == root.end() || it->is_null() ? nullptr : &*it;
}

bool HfConfig::has(const char *key) const { return find(key) != nullptr; }

bool HfConfig::mentions(const char *key) const { return root.is_object() && root.contains(key); }

void HfConfig::fail(const char *key, const std::string &what) {
  if (!ok())
    return;
  size_t at = text.find("\"" + std::string(key) + "\"", begin);
  message = path + ":" + positionIn(text, at == std::string::npos ? begin : at) + ": error: '" +
            key + "' " + what;
}

void HfConfig::refuse(const char *key, const std::string &wanted) {
  const nlohmann::json *value = find(key);
  fail(key, "is " + (value ? value->dump() : "absent") + ", wanted " + wanted);
}

int64_t HfConfig::integer(const char *key, int64_t fallback, int64_t low) {
  const nlohmann::json *value = find(key);
  if (!value)
    return fallback;
  constexpr int64_t kHigh = int64_t(1) << 40;
  bool whole = value->is_number_integer();
  if (!whole || (value->is_number_unsigned() && value->get<uint64_t>() > uint64_t(kHigh)) ||
      value->get<int64_t>() < low || value->get<int64_t>() > kHigh) {
    refuse(key, "a whole number from " + std::to_string(low) + " to 2^40");
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

HfConfig HfConfig::child(const char *key) const {
  HfConfig child = *this;
  const nlohmann::json *value = find(key);
  child.root = value && value->is_object() ? *value : nlohmann::json::object();
  size_t at = text.find("\"" + std::string(key) + "\"", begin);
  child.begin = at == std::string::npos ? begin : at;
  if (value && !value->is_object())
    child.fail(key, "is " + value->dump() + ", wanted an object");
  return child;
}

void HfConfig::adopt(const HfConfig &child) {
  if (ok())
    message = child.message;
}

} // namespace dtc
