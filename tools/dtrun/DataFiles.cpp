#include "tools/dtrun/DataFiles.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
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

// Returns the length of a path and its weight at the front of `rest`, or 0 if no weight ends it.
// `weight` is that behind the last ':' in front of a comma or the end.
size_t weightedLength(std::string_view rest, double &weight) {
  for (size_t from = 0; from <= rest.size();) {
    size_t end = std::min(rest.find(',', from), rest.size());
    from = end + 1;
    std::string_view part = rest.substr(0, end);
    size_t colon = part.rfind(':');
    if (colon == std::string_view::npos || colon + 1 == part.size())
      continue;
    std::string digits(part.substr(colon + 1));
    if (digits.find_first_not_of("0123456789.eE+-") != std::string::npos)
      continue;
    char *behind = nullptr;
    weight = std::strtod(digits.c_str(), &behind);
    if (*behind == 0)
      return end;
  }
  return 0;
}

// Reads PATH:WEIGHT,PATH:WEIGHT...; leaves `files` empty if the argument has no weight.
Status parseMixture(const std::string &flag, std::string_view rest, std::vector<DataFile> &files) {
  // Weights are written with a few digits: 0.333 three times is no mixture of thirds.
  constexpr double mostOff = 1e-6;
  double total = 0, weight = 0;
  std::string sum;
  while (!rest.empty()) {
    size_t length = weightedLength(rest, weight);
    if (length == 0 && files.empty())
      return {};
    if (length == 0)
      return Status::invalidArgument(text(flag, " states no weight for '", std::string(rest),
                                          "'; write ", std::string(rest), ":WEIGHT"));
    size_t colon = rest.substr(0, length).rfind(':');
    std::string path(rest.substr(0, colon)), digits(rest.substr(colon + 1, length - colon - 1));
    if (path.empty())
      return Status::invalidArgument(text(flag, " names no file in front of the weight ", digits));
    if (!(weight > 0) || !std::isfinite(weight))
      return Status::invalidArgument(
          text(flag, " gives '", path, "' the weight ", digits, "; weights are above 0"));
    total += weight;
    sum += text(sum.empty() ? "" : " + ", digits);
    files.push_back({"", std::move(path), weight});
    rest.remove_prefix(std::min(rest.size(), length + 1));
  }
  if (std::abs(total - 1) > mostOff) {
    char digits[40];
    std::snprintf(digits, sizeof(digits), "%.6g", total);
    return Status::invalidArgument(text("the weights of ", flag, " add up to ", digits, " (", sum,
                                        "); they have to add up to 1"));
  }
  return {};
}

} // namespace

Status parseDataFiles(const std::string &flag, const std::string &argument,
                      std::vector<DataFile> &files) {
  std::string_view rest = argument;
  files.clear();
  if (nameLength(rest) == 0) {
    DTC_RETURN_IF_ERROR(parseMixture(flag, rest, files));
    if (files.empty())
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
