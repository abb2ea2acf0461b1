// Typed reads from a TOML table, with errors that point at the key or value.
#pragma once

#include "compiler/support/Toml.h"
#include "compiler/support/Units.h"

namespace dtc {

// The first error of a file; reads after it return defaults.
struct FirstError {
  std::string path;
  std::optional<UserError> error;

  void set(const toml::source_region &at, const std::string &message, const std::string &note = "");
};

// The root table; the error is at the first character that is not TOML.
Result<toml::table> parseToml(llvm::StringRef text, const std::string &path);

// Reads one table. Example: TableReader device(table, "[device]", {"name", "memory"}, errors);
// device.quantity("memory", Quantity::Bytes).
class TableReader {
public:
  // `what` names the table in messages. A key that is not in `known` is an error at once, so that a
  // misspelt key is reported as that and not as a missing one.
  TableReader(const toml::table &table, std::string what, llvm::ArrayRef<llvm::StringRef> known,
              FirstError &errors);

  bool has(llvm::StringRef key) const { return find(key) != nullptr; }
  static bool has(const toml::table &table, llvm::StringRef key) {
    return table.get(std::string_view(key.data(), key.size())) != nullptr;
  }
  // Whether the value of `key` is the string `word`.
  static bool holds(const toml::table &table, llvm::StringRef key, llvm::StringRef word);
  // Where the value of `key` is, or the table where it is absent.
  static toml::source_region placeOf(const toml::table &table, llvm::StringRef key);
  // Whether the value is the word "discover".
  bool isDiscover(llvm::StringRef key) const { return isWord(key, "discover"); }
  bool isWord(llvm::StringRef key, llvm::StringRef word) const { return holds(source, key, word); }

  // Not empty. `fallback` where the key is absent; without one the key is required.
  std::string word(llvm::StringRef key, std::optional<std::string> fallback = std::nullopt);
  // One of `choices`; its index.
  size_t choice(llvm::StringRef key, llvm::ArrayRef<llvm::StringRef> choices);
  int64_t count(llvm::StringRef key, int64_t low, int64_t high,
                std::optional<int64_t> fallback = std::nullopt);
  // `orElse` is what messages say may stand there instead: "'none', or ".
  double number(llvm::StringRef key, double low, double high, double fallback,
                const std::string &orElse = "");
  bool flag(llvm::StringRef key, bool fallback);
  // A string with a unit, above zero unless `zeroAllowed`.
  double quantity(llvm::StringRef key, Quantity quantity, bool zeroAllowed = false);
  // The same within bounds, which may include zero.
  double quantity(llvm::StringRef key, Quantity quantity, double low, double high);

  // Arrays; empty after an error. Counts: 1 to `most` of them. Quantities, words: `length` of them.
  std::vector<int64_t> counts(llvm::StringRef key, int64_t low, int64_t high, size_t most);
  std::vector<double> quantities(llvm::StringRef key, Quantity quantity, size_t length);
  std::vector<std::string> words(llvm::StringRef key, size_t length);
  // Some of `choices`, none of them twice; a bit for each, in their order. At most 32 choices.
  uint32_t choices(llvm::StringRef key, llvm::ArrayRef<llvm::StringRef> choices);

  // A table, or an array of tables; empty after an error.
  const toml::table *table(llvm::StringRef key);
  std::vector<const toml::table *> tables(llvm::StringRef key);

  // Records an error at the key's value, or at the table where the key is absent.
  void fail(llvm::StringRef key, const std::string &message, const std::string &note = "");

private:
  const toml::node *find(llvm::StringRef key) const {
    return source.get(std::string_view(key.data(), key.size()));
  }
  // The value, or null after recording that it is absent or not `wanted`.
  const toml::node *require(llvm::StringRef key);
  void failType(llvm::StringRef key, const std::string &wanted);
  // The array of `least` to `most` elements, or null after recording that it is not one.
  const toml::array *array(llvm::StringRef key, size_t least, size_t most,
                           const std::string &wanted);
  // Records an error at element `index` of the array.
  void failElement(llvm::StringRef key, const toml::array &array, size_t index,
                   const std::string &wanted);

  const toml::table &source;
  std::string what;
  FirstError &errors;
};

} // namespace dtc
