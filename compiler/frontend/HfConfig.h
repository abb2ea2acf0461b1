// A Hugging Face config.json with errors that point at the key.
#pragma once

#include "compiler/support/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/raw_ostream.h"

#include <nlohmann/json.hpp>

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
  // A whole number from `low` to `high`; `fallback` where the key is absent or null. The default
  // `high` is above every width and count of a layer and keeps products of three in 64 bits.
  int64_t integer(const char *key, int64_t fallback, int64_t low = 1, int64_t high = 1 << 20);
  double number(const char *key, double fallback);
  // A probability: 0 <= p < 1.
  double probability(const char *key, double fallback);
  bool flag(const char *key, bool fallback);
  std::string word(const char *key, const std::string &fallback);
  // The object under `key`, or an empty one.
  HfConfig child(const char *key) const;
  // Takes over a child's error.
  void adopt(const HfConfig &child);

  // Records an error at `key` (the start of the file where it is absent).
  void fail(const char *key, const std::string &what);
  // The same with the value as it is written. Example: refuse("factor", "a number greater than 0").
  void refuse(const char *key, const std::string &wanted);

private:
  const nlohmann::json *find(const char *key) const;

  std::string path, text;
  nlohmann::json root;
  size_t begin = 0; // where `root` starts in the text: keys are looked for after it
  std::optional<UserError> failure;
};

mlir::OwningOpRef<mlir::ModuleOp> importHfConfig(mlir::MLIRContext *context, HfConfig &config,
                                                 int64_t sequence);

} // namespace dtc
