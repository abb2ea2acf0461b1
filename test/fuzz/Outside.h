// Helpers of the readers under outside-fuzz: a folder to read from, and checks of error messages.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dtc::fuzz {

using Bytes = std::span<const uint8_t>;

// Returns the bytes of a text.
Bytes bytesOf(std::string_view text);

// Aborts if the printed error is unsafe for a terminal or, with `file`, does not name the file.
void check(const rt::Status &status);
void check(const rt::Status &status, const std::string &file);

// Returns the path of a folder of this process in memory, for readers that take paths.
const std::string &folder();
// Writes folder()/NAME and returns its path. Aborts on an error.
std::string write(const std::string &name, Bytes bytes);

// Readers of one kind of input each, which is chosen by the first byte. They abort on any behaviour
// that a reader may not have.
void readWeights(Bytes bytes);    // weights of Hugging Face
void readFrames(Bytes bytes);     // frames that keepers send to rank 0's keeper
void readStream(Bytes bytes);     // bytes of a keeper's connection
void readNotes(Bytes bytes);      // notes of a rank on its program
void readRendezvous(Bytes bytes); // bytes of a connection between ranks at the rendezvous
void readAddress(Bytes bytes);    // a launcher's address of rank 0

// Splits an input into texts. It begins with the sizes of all texts but the last, two bytes each.
// If it ends early, the rest of the texts is empty.
std::vector<std::string_view> splitParts(std::string_view text, size_t count);
// Joins texts into an input for splitParts. Texts above 65535 bytes are cut.
std::string joinParts(const std::vector<std::string> &parts);

} // namespace dtc::fuzz
