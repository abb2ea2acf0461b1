// The argument that names tokens: a path, and the format that it states.
#pragma once

#include "runtime/data/TokenSource.h"

#include <string>

namespace dtc::rt {

// The format of tokens that an argument states; Any leaves it to the content.
enum class StatedFormat { Any, Bytes, U16, U32, U64 };

// The stated format and the path of an argument.
struct TokenPath {
  StatedFormat stated = StatedFormat::Any;
  std::string path;
};
// Splits an argument such as "u16:PATH".
TokenPath parseTokenPath(const std::string &argument);
// Returns the prefix of a format: "u16:"; empty for Any.
const char *prefixOf(StatedFormat stated);

// Returns the path in the argument of openTokens: the text behind "bytes:", "u16:", "u32:" or
// "u64:". A file of such a name is written ./bytes:x.
std::string pathOfTokens(const std::string &argument);

} // namespace dtc::rt
