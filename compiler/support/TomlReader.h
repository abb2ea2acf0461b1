// Reads typed values from a TOML table, with errors that point at the key or value.
#pragma once

#include "compiler/support/Toml.h"
#include "compiler/support/Units.h"

namespace dtc {

// Keeps the first error of a file. Reads after it return defaults.
struct FirstError {
  std::string path;
  std::optional<UserError> error;

  // Records an error unless there is one already.
  void set(const toml::source_region &at, const std::string &message, const std::string &note = "");
};

// Parses text and returns the root table. Errors: text that is not TOML, with the location of the
// first such character.
Result<toml::table> parseToml(llvm::StringRef text, const std::string &path);

// Reads one table. Example: TableReader device(table, "[device]", {"name", "memory"}, errors);
// device.quantity("memory", Quantity::Bytes).
class TableReader {
public:
  // Messages use `what` as the name of the table. A key that is not in `known` is an error at once,
  // so that a misspelt key is not reported as a missing one.
  TableReader(const toml::table &table, std::string what, llvm::ArrayRef<llvm::StringRef> known,
              FirstError &errors);

  // Returns true if the table has the key.
  bool has(llvm::StringRef key) const { return find(key) != nullptr; }
  // Returns true if `table` has the key.
  static bool has(const toml::table &table, llvm::StringRef key) {
    return table.get(std::string_view(key.data(), key.size())) != nullptr;
  }
  // Returns true if the value of `key` is the string `word`.
  static bool holds(const toml::table &table, llvm::StringRef key, llvm::StringRef word);
  // Returns the location of the value of `key`, or of the table if the key is absent.
  static toml::source_region locationOf(const toml::table &table, llvm::StringRef key);
  // Returns true if the value is the word "discover".
  bool isDiscover(llvm::StringRef key) const { return isWord(key, "discover"); }
  // Returns true if the value is the string `word`.
  bool isWord(llvm::StringRef key, llvm::StringRef word) const { return holds(source, key, word); }

  // Returns a string that is not empty, or `fallback` if the key is absent. Without a fallback the
  // key is required.
  std::string word(llvm::StringRef key, std::optional<std::string> fallback = std::nullopt);
  // Returns the index of the value in `choices`. Errors: the value is not one of them.
  size_t choice(llvm::StringRef key, llvm::ArrayRef<llvm::StringRef> choices);
  // Returns an integer from `low` to `high`, or `fallback` if the key is absent. Without a fallback
  // the key is required.
  int64_t count(llvm::StringRef key, int64_t low, int64_t high,
                std::optional<int64_t> fallback = std::nullopt);
  // Returns a number from `low` to `high`, or `fallback` if the key is absent. Messages put
  // `orElse` before the range: "'none', or ".
  double number(llvm::StringRef key, double low, double high, double fallback,
                const std::string &orElse = "");
  // Returns true or false, or `fallback` if the key is absent.
  bool flag(llvm::StringRef key, bool fallback);
  // Returns the value of a string with a unit, above zero unless `zeroAllowed`.
  double quantity(llvm::StringRef key, Quantity quantity, bool zeroAllowed = false);
  // Same as above, within bounds that may include zero.
  double quantity(llvm::StringRef key, Quantity quantity, double low, double high);

  // Returns an array of 1 to `most` integers from `low` to `high`. This and the functions below
  // return an empty array after an error.
  std::vector<int64_t> counts(llvm::StringRef key, int64_t low, int64_t high, size_t most);
  // Returns an array of `length` quantities, each a string with a unit.
  std::vector<double> quantities(llvm::StringRef key, Quantity quantity, size_t length);
  // Returns an array of `length` strings.
  std::vector<std::string> words(llvm::StringRef key, size_t length);
  // Reads an array of some of `choices`, none of them twice. Returns a bit for each, in the order
  // of `choices`. At most 32 choices.
  uint32_t choices(llvm::StringRef key, llvm::ArrayRef<llvm::StringRef> choices);

  // Returns the table of the key, or null.
  const toml::table *table(llvm::StringRef key);
  // Returns the tables of an array of tables. Empty after an error.
  std::vector<const toml::table *> tables(llvm::StringRef key);

  // Records an error at the key's value, or at the table if the key is absent.
  void fail(llvm::StringRef key, const std::string &message, const std::string &note = "");

private:
  const toml::node *find(llvm::StringRef key) const {
    return source.get(std::string_view(key.data(), key.size()));
  }
  // Returns the value, or null after recording that it is absent or not `wanted`.
  const toml::node *require(llvm::StringRef key);
  void failType(llvm::StringRef key, const std::string &wanted);
  // Returns the array of `least` to `most` elements, or null after recording that it is not one.
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
