// Messages between keepers, over a connection of their own.
// A frame is its length and its kind, in 4 bytes each, and its content. No content is trusted:
// every size is checked, and an invalid frame closes the connection.
#pragma once

#include "runtime/monitor/Ending.h"
#include "runtime/monitor/Standing.h"

namespace dtc::rt {

// The kind of a message.
enum class FrameKind : uint32_t {
  Hello,     // to rank 0's keeper: who I am
  Welcome,   // its answer
  Beat,      // state of the sender's rank
  Ended,     // end of the sender's rank
  AskBeat,   // request by rank 0's keeper for a Beat at once
  AskStacks, // request by rank 0's keeper for stacks
  Stacks,    // the answer
  Verdict,   // sent by rank 0's keeper: the job is over
  Leave,     // I have nothing more to do
};
inline constexpr uint32_t kFrameKinds = 9;
inline constexpr size_t kFrameHeader = 8;
inline constexpr size_t kMostFrameBytes = 32 << 10;
inline constexpr size_t kMostStackBytes = 24 << 10;
inline constexpr size_t kMostReasonBytes = 1 << 10;

// The content of a frame; each kind uses some of the fields.
struct Frame {
  FrameKind kind = FrameKind::Beat;
  // Hello
  std::array<uint8_t, 16> secret = {};
  uint32_t rank = 0, process = 0, keeper = 0;
  std::string host;
  // Hello, Beat, Ended
  Standing standing;
  // Ended
  Ending ending;
  // Ended, Stacks
  std::string stacks;
  // Verdict
  uint32_t exitCode = 0;
  std::string reason; // reason of the verdict
};

// Returns the frame as bytes, including the header.
std::vector<uint8_t> encode(const Frame &frame);
// DataLoss where `content` is not one of that kind.
Status decode(uint32_t kind, std::span<const uint8_t> content, Frame &frame);

} // namespace dtc::rt
