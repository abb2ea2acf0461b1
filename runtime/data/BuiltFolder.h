// Folders that `dtc data build` makes: shards of ids, and dataset.json, which describes them.
#pragma once

#include "runtime/data/TokenSource.h"

#include <memory>
#include <string>

namespace dtc::rt {

// Returns true if `folder` is one of `dtc data build`, finished or not.
bool isBuiltFolder(const std::string &folder);

// Opens the shards of such a folder as one sequence. A block of 64 KiB is checked against its hash
// when something of it is read for the first time. Errors: DataLoss if sizes or hashes differ from
// those of dataset.json, with the file; InvalidArgument if the folder is not finished, or if its
// tokenizer has another vocabulary than the model (more entries, or so few that padding does not
// explain the difference).
Status openBuiltFolder(const std::string &folder, const TokenSourceOptions &options,
                       std::unique_ptr<TokenSource> &source);

} // namespace dtc::rt
