// Places in the text of a JSON file, for errors that point at them.
#pragma once

#include "compiler/support/Error.h"

namespace dtc {

// Line and column of the byte at `offset` of `text`, which `file` holds.
SourcePlace placeAt(const std::string &file, llvm::StringRef text, size_t offset);

// Where the key or the entry of a list that `path` leads to begins in `text`, which is JSON; of a path
// that ends early, the last that is there. Example: {"stages", "0", "ranks"}.
size_t findInJson(llvm::StringRef text, llvm::ArrayRef<std::string> path);

// Where `text` stops being JSON, which the parser without exceptions does not say; none where all
// of it is. Nesting deeper than 64 levels, which would overflow the stack of whoever walks the
// value, counts as an error.
std::optional<UserError> findJsonError(const std::string &file, const std::string &text);

} // namespace dtc
