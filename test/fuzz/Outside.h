// What the readers under outside-fuzz share: a folder to read from, and what is wanted of an error.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dtc::fuzz {

using Bytes = std::span<const uint8_t>;

Bytes bytesOf(std::string_view text);

// Aborts where what would be printed is not fit for a terminal, or does not name `file`.
void check(const rt::Status &status);
void check(const rt::Status &status, const std::string &file);

// A folder of this process in memory, as readers take paths.
const std::string &folder();
// Writes folder()/NAME and returns its path.
std::string write(const std::string &name, Bytes bytes);

// The first byte says what the rest is; each reads it, and aborts on what a reader may not do.
void readWeights(Bytes bytes); // files of Hugging Face's
void readFrames(Bytes bytes);  // what keepers tell rank 0's
void readStream(Bytes bytes);  // what comes over a keeper's connection
void readNotes(Bytes bytes);   // a rank's notes on its program
void readMeeting(Bytes bytes); // what comes over a connection of ranks that meet
void readPlace(Bytes bytes);   // where a launcher says that rank 0 is

// Several texts behind each other, as an input holds them: two bytes for the size of each but the last.
// Where there is less than that, the rest of them is empty.
std::vector<std::string_view> splitParts(std::string_view text, size_t count);
// Sizes above 65535 do not fit: such parts are cut.
std::string joinParts(const std::vector<std::string> &parts);

} // namespace dtc::fuzz
