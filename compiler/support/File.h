// Files read whole and written whole or not at all.
#pragma once

#include "compiler/support/Error.h"

namespace dtc {

// The whole text of `path`. Errors: absent, no regular file, not readable, larger than `limitBytes`.
Result<std::string> readFile(const std::string &path, int64_t limitBytes = int64_t(1) << 30);

// What writeFileAtomically(path) is sure to fail with, to be said before the work that makes the
// contents: `path` is a directory, or its folder does not exist.
Outcome checkWritable(const std::string &path);

// Writes `contents` to a temporary file beside `path`, flushes it to the disk and renames it, so
// that `path` holds the old or the new contents whatever happens. A symbolic link keeps being one;
// a pipe or device ("/dev/stdout") is written directly. Example: writeFileAtomically("plan.json",
// planToJson(plan)).
Outcome writeFileAtomically(const std::string &path, llvm::StringRef contents);

} // namespace dtc
