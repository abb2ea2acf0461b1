#include "compiler/support/JsonText.h"

#include <nlohmann/json.hpp>

namespace dtc {
namespace {

constexpr int kMostLevels = 64;

// Accepts every event, and remembers the location at which the parser stopped.
class ErrorFinder : public nlohmann::json_sax<nlohmann::json> {
public:
  size_t at = 0;
  std::string near;
  bool isTooDeep = false;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool string(string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool start_object(std::size_t) override { return enter(); }
  bool key(string_t &) override { return true; }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool parse_error(std::size_t position, const std::string &token,
                   const nlohmann::detail::exception &) override {
    at = position;
    near = token;
    return false;
  }

private:
  bool enter() {
    isTooDeep = ++depth > kMostLevels;
    return !isTooDeep;
  }
  bool leave() {
    --depth;
    return true;
  }

  int depth = 0;
};

// Returns the end of the string that begins at `at`.
size_t endOfString(llvm::StringRef text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    at += text[at] == '\\';
  return std::min(at + 1, text.size());
}

size_t skipSpace(llvm::StringRef text, size_t at) {
  return std::min(text.find_first_not_of(" \t\r\n", at), text.size());
}

// Returns the end of the value that begins at `at`.
size_t endOfValue(llvm::StringRef text, size_t at) {
  int depth = 0;
  while (at < text.size()) {
    char c = text[at];
    if (depth == 0 && (c == ',' || c == ']' || c == '}'))
      return at;
    if (c == '"') {
      at = endOfString(text, at);
      continue;
    }
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    ++at;
  }
  return at;
}

// Returns the start of the entry `name` of the object or list that begins at `at`, and the start of
// its value. Returns nothing if there is no such entry.
std::optional<std::pair<size_t, size_t>> findEntry(llvm::StringRef text, size_t at,
                                                   llvm::StringRef name) {
  bool isObject = at < text.size() && text[at] == '{';
  if (!isObject && (at >= text.size() || text[at] != '['))
    return std::nullopt;
  for (size_t index = 0; at < text.size() && text[at] != ']' && text[at] != '}'; ++index) {
    size_t begin = skipSpace(text, at + 1), value = begin;
    if (begin >= text.size() || text[begin] == ']' || text[begin] == '}')
      break;
    if (isObject)
      value =
          skipSpace(text, std::min(text.find(':', endOfString(text, begin)), text.size() - 1) + 1);
    bool found = isObject ? text.slice(begin + 1, endOfString(text, begin) - 1) == name
                          : llvm::StringRef(std::to_string(index)) == name;
    if (found)
      return std::pair(begin, value);
    at = skipSpace(text, endOfValue(text, value));
  }
  return std::nullopt;
}

// Shortens a token to its end, which shows the location. A token may be a whole line.
std::string shortened(const std::string &token) {
  constexpr size_t kMost = 40;
  return token.size() <= kMost ? token : "..." + token.substr(token.size() - kMost);
}

} // namespace

SourceLocation locationAt(const std::string &file, llvm::StringRef text, size_t offset) {
  llvm::StringRef before = text.take_front(offset);
  size_t newline = before.rfind('\n');
  size_t start = newline == llvm::StringRef::npos ? 0 : newline + 1;
  return {file, static_cast<int64_t>(before.count('\n') + 1),
          static_cast<int64_t>(before.size() - start + 1)};
}

size_t findInJson(llvm::StringRef text, llvm::ArrayRef<std::string> path) {
  size_t value = skipSpace(text, 0), at = value;
  for (const std::string &name : path) {
    std::optional<std::pair<size_t, size_t>> entry = findEntry(text, value, name);
    if (!entry)
      break;
    std::tie(at, value) = *entry;
  }
  return at;
}

std::optional<UserError> findJsonError(const std::string &file, const std::string &text) {
  ErrorFinder finder;
  if (nlohmann::json::sax_parse(text, &finder))
    return std::nullopt;
  if (finder.isTooDeep)
    return UserError("the JSON is nested deeper than " + std::to_string(kMostLevels) + " levels",
                     "", {file, 1, 1});
  std::string near = finder.near.empty() ? "" : " (near '" + shortened(finder.near) + "')";
  return UserError("not JSON from here on" + near, "",
                   locationAt(file, text, finder.at > 0 ? finder.at - 1 : 0));
}

} // namespace dtc
