// Finds locations in the text of a JSON file, for errors that point at them.
#pragma once

#include "compiler/support/Error.h"

namespace dtc {

// Returns the line and column of the byte at `offset` of `text`, the content of `file`.
SourceLocation locationAt(const std::string &file, llvm::StringRef text, size_t offset);

// Returns the offset in `text`, which is JSON, of the key or list entry to which `path` leads. If
// only a first part of the path exists, returns the offset of its last entry. Example of a path:
// {"stages", "0", "ranks"}.
size_t findInJson(llvm::StringRef text, llvm::ArrayRef<std::string> path);

// Returns an error at the location where `text` stops being JSON, which the parser does not report
// without exceptions, or nothing if all of it is JSON. Nesting deeper than 64 levels also counts as
// an error, because walking such a value could overflow the stack.
std::optional<UserError> findJsonError(const std::string &file, const std::string &text);

} // namespace dtc
