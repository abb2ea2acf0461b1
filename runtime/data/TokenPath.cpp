#include "runtime/data/TokenPath.h"

#include <string_view>

namespace dtc::rt {
namespace {

struct Prefix {
  const char *spelling;
  StatedFormat format;
};
constexpr Prefix kPrefixes[] = {{"bytes:", StatedFormat::Bytes},
                                {"u16:", StatedFormat::U16},
                                {"u32:", StatedFormat::U32},
                                {"u64:", StatedFormat::U64}};

} // namespace

TokenPath parseTokenPath(const std::string &argument) {
  for (const Prefix &prefix : kPrefixes)
    if (argument.starts_with(prefix.spelling))
      return {prefix.format, argument.substr(std::string_view(prefix.spelling).size())};
  return {StatedFormat::Any, argument};
}

const char *prefixOf(StatedFormat stated) {
  for (const Prefix &prefix : kPrefixes)
    if (prefix.format == stated)
      return prefix.spelling;
  return "";
}

std::string pathOfTokens(const std::string &argument) { return parseTokenPath(argument).path; }

} // namespace dtc::rt
