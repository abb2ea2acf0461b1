// What the instructions of a rank's program are called: all that another process needs to say, in
// words, where the rank stands.
#pragma once

#include "runtime/base/Status.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dtc::rt {

struct NotedGroup {
  std::string name;                 // "dp"
  uint32_t size = 1;                // of each list
  uint32_t shift = 0;               // of transfers: places from the sender to the receiver
  std::vector<uint32_t> ranks = {}; // lists of `size`, one after another
};

enum class Meets : uint32_t { Nobody, Collective, Send, Receive };

struct NotedInstruction {
  std::string words; // "gemm at model.mlir:12:3 (h.0.mlp)"
  std::string task;  // "forward"
  uint32_t index = 0, layers = 1;
  // Of a meeting with other ranks.
  Meets meets = Meets::Nobody;
  std::string kind = {};  // "all_reduce"
  std::string name = {};  // that the compiler gave it
  std::string dtype = {}; // "f32"
  std::string file = {}, op = {};
  uint32_t line = 0;
  uint32_t group = 0; // the device's number
  uint64_t inElements = 0, outElements = 0, bytes = 0;
};

struct NotedIssue {
  uint32_t instruction = 0, microBatch = 0, layer = 0;
};

struct ProgramNotes {
  static constexpr size_t kEntries = 3; // kinds of entries

  std::vector<NotedGroup> groups; // by the device's numbers
  std::vector<NotedInstruction> instructions;
  std::array<std::vector<NotedIssue>, kEntries> issues; // of each entry, by the lower half of a tag

  std::vector<uint8_t> encode() const;
  // DataLoss where the bytes are not what encode() gives, as those of a rank that went astray.
  static Status decode(std::span<const uint8_t> bytes, ProgramNotes &notes);

  // The instruction of an issue, or null.
  const NotedInstruction *find(uint32_t entry, uint32_t issue) const;
  // The list of `group` that `rank` is in; empty where there is none.
  std::span<const uint32_t> listOf(uint32_t group, uint32_t rank) const;
  // Whom `rank` meets in a transfer; -1 where there is nobody.
  int peerOf(uint32_t group, Meets meets, uint32_t rank) const;
};

} // namespace dtc::rt
