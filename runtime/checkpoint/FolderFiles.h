// Folders of files that appear whole or not at all.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dtc::rt {

// What `errno` says of a call, with what it was for: "opening the folder 'x': Permission denied".
// ResourceExhausted where there is no space.
Status folderError(const char *doing, const std::string &path);

// Waits until names of files in it are on the disk.
Status syncFolder(const std::string &path);

// What is in it; nothing where there is no such folder.
Status namesIn(const std::string &path, std::vector<std::string> &names);

// Removes a folder that has files alone; what cannot be removed stays.
void removeFolder(const std::string &path);

// A durable file of these words.
Status writeFile(const std::string &path, std::string_view words);

// All of a file of at most `most` bytes.
Status readWhole(const std::string &path, uint64_t most, std::string &words);

} // namespace dtc::rt
