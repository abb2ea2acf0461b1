// The messages by which the two sides of a rendezvous meet.
#pragma once

#include "runtime/comm/Rendezvous.h"

#include <string_view>

namespace dtc::rt {

// The first message of a guest: its identity.
struct Hello {
  uint64_t job = 0; // its hash
  uint64_t rank = 0, size = 0, process = 0;
  std::string host, address; // the machine, and what it connected from
};
// Returns the message's payload.
std::string encode(const Hello &hello);
// Parses a payload; false if it is malformed.
bool decode(std::string_view payload, Hello &hello);

// A piece for each of `size` ranks.
std::string encodePieces(const std::vector<std::string> &pieces);
// Parses a payload of `size` pieces; false if it is malformed.
bool decodePieces(std::string_view payload, size_t size, std::vector<std::string> &pieces);

// Prefix of a refusal of another job's guest, which may find its own host elsewhere.
inline constexpr std::string_view kOtherJob = "another job";

// Returns the hash of a job's identifier that guests send.
uint64_t hashOf(const std::string &job);
// Returns the name of this machine.
std::string ownHostName();
// Most bytes of a message between ranks that know each other.
size_t mostBytes(int size);

} // namespace dtc::rt
