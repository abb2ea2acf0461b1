// A Hugging Face config.json with errors that point at the key.
#pragma once

#include "compiler/support/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/raw_ostream.h"

#include <nlohmann/json.hpp>

#include <set>
#include <string>

namespace dtc {

// Typed reads with defaults; the first error is kept, with its place, and later reads go on quietly.
class HfConfig {
public:
  HfConfig(std::string path, std::string text);

  bool ok() const { return !failure; }
  // The first error; there is one unless ok().
  const UserError &error() const { return *failure; }

  bool has(const char *key) const;      // present and not null
  bool mentions(const char *key) const; // present, perhaps null
  // Returns true if both keys are present with equal values.
  bool sameValue(const char *a, const char *b) const;
  // A whole number from `low` to `high`; `fallback` where the key is absent or null. The default
  // `high` is above every width and count of a layer and keeps products of three in 64 bits.
  int64_t integer(const char *key, int64_t fallback, int64_t low = 1, int64_t high = 1 << 20);
  double number(const char *key, double fallback);
  // A probability: 0 <= p < 1.
  double probability(const char *key, double fallback);
  bool flag(const char *key, bool fallback);
  std::string word(const char *key, const std::string &fallback);
  // A list of strings; empty where the key is absent or null.
  std::vector<std::string> words(const char *key);
  // The object under `key`, or an empty one.
  HfConfig child(const char *key) const;
  // Takes over a child's error.
  void adopt(const HfConfig &child);

  // The keys of this object that no call above has asked for, in the order of the text.
  std::vector<std::pair<std::string, const nlohmann::json *>> unread() const;

  // Records an error at `key` (the start of the object where it is absent).
  void fail(const char *key, const std::string &what, const std::string &note = "");
  // The same with the value as it is written. Example: refuse("factor", "a number greater than 0").
  void refuse(const char *key, const std::string &wanted);

private:
  const nlohmann::json *find(const char *key) const;

  size_t placeOf(const std::string &key) const;

  std::string path, text;
  nlohmann::json root;
  std::vector<std::string> within;     // the keys that lead to `root` in the text
  mutable std::set<std::string> asked; // for
  std::optional<UserError> failure;
};

// For messages: what a number, word or flag is, and of what kind a list or an object is.
std::string shownValue(const nlohmann::json &value);

mlir::OwningOpRef<mlir::ModuleOp> importHfConfig(mlir::MLIRContext *context, HfConfig &config,
                                                 int64_t sequence);

} // namespace dtc
