// The two sides of a rendezvous, and what both know of its messages.
#pragma once

#include "runtime/comm/Meeting.h"

#include <string_view>

namespace dtc::rt {

// Who a guest is: the first that it says.
struct Hello {
  uint64_t job = 0; // its hash
  uint64_t rank = 0, size = 0, process = 0;
  std::string host, address; // the machine, and what it connected from
};
std::string encode(const Hello &hello);
bool decode(std::string_view payload, Hello &hello);

// A piece for each of `size` ranks.
std::string encodePieces(const std::vector<std::string> &pieces);
bool decodePieces(std::string_view payload, size_t size, std::vector<std::string> &pieces);

// What begins a refusal of a guest of another job, which may find its own elsewhere.
inline constexpr std::string_view kOtherJob = "another job";

uint64_t hashOf(const std::string &job);
std::string ownHostName();
// Most bytes of a message between ranks that know each other.
size_t mostBytes(int size);

Status meetAsHost(const MeetingOptions &options, std::unique_ptr<Meeting> &meeting);
Status meetAsGuest(const MeetingOptions &options, std::unique_ptr<Meeting> &meeting);

} // namespace dtc::rt
