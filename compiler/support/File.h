// Reads whole files, and writes files completely or not at all.
#pragma once

#include "compiler/support/Error.h"

namespace dtc {

// Returns the whole text of `path`. Errors: absent, not a regular file, not readable, larger than
// `limitBytes`.
Result<std::string> readFile(const std::string &path, int64_t limitBytes = int64_t(1) << 30);

// Checks before a long computation that its result can be written. Errors: `path` is a directory,
// or its folder does not exist, so that writeFileAtomically(path) would fail.
Status checkWritable(const std::string &path);

// Writes `contents` to a temporary file beside `path`, flushes it to the disk and renames it, so
// that `path` always holds the old or the new contents. A symbolic link stays one. A pipe or device
// ("/dev/stdout") is written directly.
// Example: writeFileAtomically("plan.json", planToJson(plan)).
Status writeFileAtomically(const std::string &path, llvm::StringRef contents);

} // namespace dtc
