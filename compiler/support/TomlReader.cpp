// Reads typed values from a TOML table.
#include "compiler/support/TomlReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace dtc {

static std::string quoted(llvm::ArrayRef<llvm::StringRef> words) {
  std::string list;
  for (llvm::StringRef word : words)
    list += (list.empty() ? "'" : ", '") + word.str() + "'";
  return list;
}

static std::string numberText(double value) {
  char buffer[64];
  snprintf(buffer, sizeof(buffer), "%g", value);
  return buffer;
}

// Returns a short form of a value for messages.
static std::string shown(const toml::node &node) {
  if (auto *text = node.as_string())
    return "'" + llvm::StringRef(text->get()).take_front(40).str() + "'";
  if (auto *number = node.as_integer())
    return std::to_string(number->get());
  if (auto *number = node.as_floating_point())
    return numberText(number->get());
  if (auto *flag = node.as_boolean())
    return flag->get() ? "true" : "false";
  if (node.is_table())
    return "a table";
  return node.is_array() ? "an array" : "a date or time";
}

// Returns the end of the string that begins at `at` of `text`, in one or three quotes of either
// kind.
static size_t endOfString(llvm::StringRef text, size_t at) {
  char quote = text[at];
  llvm::StringRef triple = quote == '"' ? "\"\"\"" : "'''";
  bool isLong = text.substr(at).starts_with(triple);
  for (at += isLong ? 3 : 1; at < text.size(); ++at) {
    if (text[at] == '\\' && quote == '"')
      ++at;
    else if (isLong ? text.substr(at).starts_with(triple) : text[at] == quote)
      return at + (isLong ? 3 : 1);
    else if (!isLong && text[at] == '\n')
      return at; // not a string; the parser reports it
  }
  return text.size();
}

// Returns the offset of a dotted key (a.b."c d") with more than `most` dots, or npos. toml++ makes
// a table of each part, and destroys nested tables by recursion.
static size_t findDeepKey(llvm::StringRef text, int most) {
  int dots = 0;
  for (size_t at = 0; at < text.size();) {
    char c = text[at];
    if (c == '"' || c == '\'') { // may be a part of a key, whatever it contains
      at = endOfString(text, at);
      continue;
    }
    if (c == '#') {
      at = text.find('\n', at);
      continue;
    }
    if (c == '.' && ++dots > most)
      return at;
    if (!llvm::isAlnum(c) && !llvm::StringRef("._- \t").contains(c))
      dots = 0;
    ++at;
  }
  return llvm::StringRef::npos;
}

Result<toml::table> parseToml(llvm::StringRef text, const std::string &path) {
  constexpr int kMostDots = 100;
  if (size_t at = findDeepKey(text, kMostDots); at != llvm::StringRef::npos)
    return UserError("a key has more than " + std::to_string(kMostDots) + " dots", "",
                     {path, static_cast<int64_t>(text.take_front(at).count('\n') + 1), 1});
  toml::parse_result parsed = toml::parse(std::string_view(text.data(), text.size()), path);
  if (parsed)
    return std::move(parsed).table();
  const toml::parse_error &error = parsed.error();
  // Removes words that would repeat "error:".
  llvm::StringRef said(error.description().data(), error.description().size());
  said.consume_front("Error while ");
  std::string message = said.str();
  if (!message.empty())
    message[0] = llvm::toLower(message[0]);
  return UserError(message, "see https://toml.io for the syntax",
                   {path, static_cast<int64_t>(error.source().begin.line),
                    static_cast<int64_t>(error.source().begin.column)});
}

void FirstError::set(const toml::source_region &at, const std::string &message,
                     const std::string &note) {
  if (!error)
    error = UserError(
        message, note,
        {path, static_cast<int64_t>(at.begin.line), static_cast<int64_t>(at.begin.column)});
}

TableReader::TableReader(const toml::table &table, std::string what,
                         llvm::ArrayRef<llvm::StringRef> known, FirstError &errors)
    : source(table), what(std::move(what)), errors(errors) {
  // The table is sorted by key. The message is about the unknown key that comes first in the file.
  const toml::key *first = nullptr;
  for (auto &&[key, value] : table) {
    llvm::StringRef name(key.data(), key.length());
    if (!llvm::is_contained(known, name) && (!first || key.source().begin < first->source().begin))
      first = &key;
  }
  if (!first)
    return;
  llvm::StringRef name(first->data(), first->length());
  std::string nearest = nearestName(name, known);
  errors.set(first->source(), "unknown key '" + name.str() + "' in " + this->what,
             nearest.empty() ? "known keys are " + quoted(known)
                             : "did you mean '" + nearest + "'?");
}

void TableReader::fail(llvm::StringRef key, const std::string &message, const std::string &note) {
  const toml::node *node = find(key);
  errors.set(node ? node->source() : source.source(), message, note);
}

void TableReader::failType(llvm::StringRef key, const std::string &wanted) {
  fail(key, "'" + key.str() + "' of " + what + " is " + shown(*find(key)) + ", wanted " + wanted);
}

const toml::node *TableReader::require(llvm::StringRef key) {
  const toml::node *node = find(key);
  if (!node)
    fail(key, what + " has no '" + key.str() + "'");
  return node;
}

bool TableReader::holds(const toml::table &table, llvm::StringRef key, llvm::StringRef word) {
  const toml::node *node = table.get(std::string_view(key.data(), key.size()));
  return node && node->is_string() && node->as_string()->get() == word;
}

toml::source_region TableReader::locationOf(const toml::table &table, llvm::StringRef key) {
  const toml::node *node = table.get(std::string_view(key.data(), key.size()));
  return node ? node->source() : table.source();
}

std::string TableReader::word(llvm::StringRef key, std::optional<std::string> fallback) {
  if (!has(key) && fallback)
    return *fallback;
  const toml::node *node = require(key);
  if (!node)
    return "";
  if (!node->is_string() || node->as_string()->get().empty()) {
    failType(key, "a string that is not empty");
    return "";
  }
  return node->as_string()->get();
}

size_t TableReader::choice(llvm::StringRef key, llvm::ArrayRef<llvm::StringRef> choices) {
  const toml::node *node = require(key);
  if (!node)
    return 0;
  if (node->is_string())
    for (size_t i = 0; i < choices.size(); ++i)
      if (choices[i] == node->as_string()->get())
        return i;
  failType(key, "one of " + quoted(choices));
  return 0;
}

int64_t TableReader::count(llvm::StringRef key, int64_t low, int64_t high,
                           std::optional<int64_t> fallback) {
  if (!has(key) && fallback)
    return *fallback;
  const toml::node *node = require(key);
  if (!node)
    return low;
  if (node->is_integer() && node->as_integer()->get() >= low && node->as_integer()->get() <= high)
    return node->as_integer()->get();
  failType(key, "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  return low;
}

double TableReader::number(llvm::StringRef key, double low, double high, double fallback,
                           const std::string &orElse) {
  const toml::node *node = find(key);
  if (!node)
    return fallback;
  if (node->is_number()) {
    double value = node->is_integer() ? static_cast<double>(node->as_integer()->get())
                                      : node->as_floating_point()->get();
    if (value >= low && value <= high) // false for NaN
      return value;
  }
  failType(key, orElse + "a number from " + numberText(low) + " to " + numberText(high));
  return fallback;
}

bool TableReader::flag(llvm::StringRef key, bool fallback) {
  const toml::node *node = find(key);
  if (!node)
    return fallback;
  if (!node->is_boolean()) {
    failType(key, "true or false");
    return fallback;
  }
  return node->as_boolean()->get();
}

double TableReader::quantity(llvm::StringRef key, Quantity quantity, bool zeroAllowed) {
  const toml::node *node = require(key);
  if (!node)
    return 1;
  if (!node->is_string()) {
    failType(key, "a string with a unit, such as \"" +
                      printExact(quantity == Quantity::Seconds ? 2e-6 : 80e9, quantity) + "\"");
    return 1;
  }
  const std::string &text = node->as_string()->get();
  Result<double> value = parseQuantity(text, quantity);
  if (!value) {
    fail(key, "'" + key.str() + "' of " + what + ": " + value.error().message, value.error().note);
    return 1;
  }
  if (*value == 0 && !zeroAllowed) {
    failType(key, "more than zero");
    return 1;
  }
  return *value;
}

double TableReader::quantity(llvm::StringRef key, Quantity kind, double low, double high) {
  double value = quantity(key, kind, /*zeroAllowed=*/true);
  if (!errors.error && (value < low || value > high))
    failType(key, printExact(low, kind) + " to " + printExact(high, kind));
  return value;
}

const toml::array *TableReader::array(llvm::StringRef key, size_t least, size_t most,
                                      const std::string &wanted) {
  const toml::node *node = require(key);
  if (!node)
    return nullptr;
  const toml::array *array = node->as_array();
  if (array && array->size() >= least && array->size() <= most)
    return array;
  std::string count = std::to_string(least) + (least == most ? "" : " to " + std::to_string(most));
  fail(key, "'" + key.str() + "' of " + what + " is " + shown(*node) +
                (array ? " of " + std::to_string(array->size()) : "") + ", wanted " + count + " " +
                wanted);
  return nullptr;
}

void TableReader::failElement(llvm::StringRef key, const toml::array &array, size_t index,
                              const std::string &wanted) {
  errors.set(array[index].source(), "'" + key.str() + "' of " + what + " holds " +
                                        shown(array[index]) + ", wanted " + wanted);
}

std::vector<int64_t> TableReader::counts(llvm::StringRef key, int64_t low, int64_t high,
                                         size_t most) {
  std::vector<int64_t> result;
  std::string wanted = "whole numbers from " + std::to_string(low) + " to " + std::to_string(high);
  const toml::array *values = array(key, 1, most, wanted);
  for (size_t i = 0; values && i < values->size(); ++i) {
    const auto *value = (*values)[i].as_integer();
    if (value && value->get() >= low && value->get() <= high)
      result.push_back(value->get());
    else
      failElement(key, *values, i, wanted);
  }
  return result;
}

std::vector<double> TableReader::quantities(llvm::StringRef key, Quantity quantity, size_t length) {
  std::vector<double> result;
  std::string wanted = "strings with a unit, such as \"" + printExact(80e9, quantity) + "\"";
  const toml::array *values = array(key, length, length, wanted);
  for (size_t i = 0; values && i < values->size(); ++i) {
    const auto *text = (*values)[i].as_string();
    Result<double> value = parseQuantity(text ? text->get() : "", quantity);
    if (value && *value > 0)
      result.push_back(*value);
    else
      failElement(key, *values, i, wanted);
  }
  return result;
}

std::vector<std::string> TableReader::words(llvm::StringRef key, size_t length) {
  std::vector<std::string> result;
  const toml::array *values = array(key, length, length, "names");
  for (size_t i = 0; values && i < values->size(); ++i) {
    const auto *text = (*values)[i].as_string();
    if (text && !text->get().empty())
      result.push_back(text->get());
    else
      failElement(key, *values, i, "names");
  }
  return result;
}

uint32_t TableReader::choices(llvm::StringRef key, llvm::ArrayRef<llvm::StringRef> choices) {
  std::string wanted = "of '" + llvm::join(choices, "', '") + "', each once at most";
  uint32_t chosen = 0;
  const toml::array *values = array(key, 0, choices.size(), wanted);
  for (size_t i = 0; values && i < values->size(); ++i) {
    const auto *text = (*values)[i].as_string();
    const auto *word = text ? llvm::find(choices, text->get()) : choices.end();
    uint32_t bit = word == choices.end() ? 0 : 1u << (word - choices.begin());
    if (bit == 0 || (chosen & bit) != 0)
      failElement(key, *values, i, wanted);
    chosen |= bit;
  }
  return chosen;
}

const toml::table *TableReader::table(llvm::StringRef key) {
  const toml::node *node = require(key);
  if (node && !node->is_table())
    failType(key, "a table, [" + key.str() + "]");
  return node ? node->as_table() : nullptr;
}

std::vector<const toml::table *> TableReader::tables(llvm::StringRef key) {
  const toml::node *node = find(key);
  std::vector<const toml::table *> result;
  if (!node)
    return result;
  if (!node->is_array()) {
    failType(key, "an array of tables, [[" + key.str() + "]]");
    return result;
  }
  for (const toml::node &element : *node->as_array()) {
    if (!element.is_table()) {
      errors.set(element.source(), "'" + key.str() + "' holds " + shown(element) +
                                       ", wanted tables, [[" + key.str() + "]]");
      return {};
    }
    result.push_back(element.as_table());
  }
  return result;
}

} // namespace dtc
