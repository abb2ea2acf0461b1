// Folders of files that appear whole or not at all.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dtc::rt {

// Returns the error of `errno` for a call and its purpose: "opening the folder 'x': Permission
// denied". ResourceExhausted if there is no space.
Status folderError(const char *doing, const std::string &path);

// Waits until the names of files in a folder are on the disk.
Status syncFolder(const std::string &path);

// Lists the names in a folder; none if it does not exist.
Status namesIn(const std::string &path, std::vector<std::string> &names);

// Removes a folder that has only files; keeps what cannot be removed.
void removeFolder(const std::string &path);

} // namespace dtc::rt
