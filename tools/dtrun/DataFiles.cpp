#include "tools/dtrun/DataFiles.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <string_view>

namespace dtc::rt {
namespace {

using format::text;

bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// Returns the length of the name at the front of `rest`, or 0 unless '=' follows it.
size_t nameLength(std::string_view rest) {
  if (rest.empty() || !isLetter(rest.front()))
    return 0;
  size_t length = 1;
  while (length < rest.size() &&
         (isLetter(rest[length]) || rest[length] == '.' || rest[length] == '-' ||
          (rest[length] >= '0' && rest[length] <= '9')))
    ++length;
  return length < rest.size() && rest[length] == '=' ? length : 0;
}

// Returns the end of the path at the front of `rest`: a comma before another name, or the end of
// the text.
size_t pathLength(std::string_view rest) {
  size_t comma = rest.find(',');
  while (comma != std::string_view::npos && nameLength(rest.substr(comma + 1)) == 0)
    comma = rest.find(',', comma + 1);
  return std::min(comma, rest.size());
}

} // namespace

Status parseDataFiles(const std::string &flag, const std::string &argument,
                      std::vector<DataFile> &files) {
  std::string_view rest = argument;
  files.clear();
  if (nameLength(rest) == 0) {
    files.push_back({"", argument});
    return {};
  }
  while (!rest.empty()) {
    size_t name = nameLength(rest), path = pathLength(rest.substr(name + 1));
    DataFile file{std::string(rest.substr(0, name)), std::string(rest.substr(name + 1, path))};
    if (file.path.empty())
      return Status::invalidArgument(
          text(flag, " names no file for input '", file.input, "'; write ", file.input, "=PATH"));
    for (const DataFile &other : files)
      if (other.input == file.input)
        return Status::invalidArgument(text(flag, " names input '", file.input, "' twice"));
    files.push_back(std::move(file));
    rest.remove_prefix(std::min(rest.size(), name + 1 + path + 1));
  }
  return {};
}

} // namespace dtc::rt
