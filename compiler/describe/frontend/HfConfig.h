// Reads a Hugging Face config.json, with errors that point at the key.
#pragma once

#include "compiler/support/Error.h"
#include "models/Documents.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/raw_ostream.h"

#include <nlohmann/json.hpp>

#include <set>
#include <string>

namespace dtc {

// Typed reads with defaults. Keeps the first error with its location. Later reads return defaults.
class HfConfig {
public:
  HfConfig(std::string path, std::string text);

  Documents documents = Documents::None; // of the model to build (--documents)

  // Says whose class of transformers has the defaults that messages tell of top-level keys.
  void setType(std::string type) { modelType = std::move(type); }

  // Returns true if there was no error.
  bool ok() const { return !failure; }
  // Returns the first error. Call only if not ok().
  const UserError &error() const { return *failure; }

  bool has(const char *key) const;      // present and not null
  bool mentions(const char *key) const; // present, perhaps null
  bool isList(const char *key) const;   // present and a list
  // Returns true if both keys are present with equal values.
  bool sameValue(const char *a, const char *b) const;
  // Returns a whole number from `low` to `high`, or `fallback` if the key is absent or null. The
  // default of `high` is above every width and count of a layer, and keeps products of three in 64
  // bits.
  int64_t integer(const char *key, int64_t fallback, int64_t low = 1, int64_t high = 1 << 20);
  // Returns a finite number, or `fallback` if the key is absent or null.
  double number(const char *key, double fallback);
  // Returns a probability, 0 <= p < 1.
  double probability(const char *key, double fallback);
  // Returns true or false, or `fallback` if the key is absent or null.
  bool flag(const char *key, bool fallback);
  // Returns a string, or `fallback` if the key is absent or null.
  std::string word(const char *key, const std::string &fallback);
  // Returns a list of strings, empty if the key is absent or null.
  std::vector<std::string> words(const char *key);
  // Returns a list of whole numbers from `low` to `high`, nothing if the key is absent or null.
  std::optional<std::vector<int64_t>> integers(const char *key, int64_t low, int64_t high);
  // Returns a list of finite numbers, nothing if the key is absent or null.
  std::optional<std::vector<double>> numbers(const char *key);
  // Returns the object under `key`, or an empty one.
  HfConfig child(const char *key) const;
  // Takes over a child's error.
  void adopt(const HfConfig &child);

  // Returns the keys of this object that no call above has asked for, in the order of the text.
  std::vector<std::pair<std::string, const nlohmann::json *>> unread() const;

  // Records an error at `key`, or at the start of the object if it is absent.
  void fail(const char *key, const std::string &what, const std::string &note = "");
  // Records an error that shows the value as written and, of a top-level key of the class, its
  // default. Example: refuse("factor", "a number greater than 0").
  void refuse(const char *key, const std::string &wanted);

private:
  const nlohmann::json *find(const char *key) const;

  size_t offsetOf(const std::string &key) const;

  std::string path, text, modelType;
  nlohmann::json root;
  std::vector<std::string> within;     // the keys that lead to `root` in the text
  mutable std::set<std::string> asked; // keys that a call has asked for
  std::optional<UserError> failure;
};

// Returns a value for messages: a number, word or flag itself, or the kind of a list or an object.
std::string shownValue(const nlohmann::json &value);

} // namespace dtc
