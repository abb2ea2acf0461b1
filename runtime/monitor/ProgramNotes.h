// The names of a program's instructions, so that another process can describe the position of a
// rank.
#pragma once

#include "runtime/base/Status.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dtc::rt {

// A communication group of the program.
struct NotedGroup {
  std::string name;                 // "dp"
  uint32_t size = 1;                // ranks in each list
  uint32_t shift = 0;               // distance from the sender to the receiver in transfers
  std::vector<uint32_t> ranks = {}; // lists of `size`, one after another
};

// The communication of an instruction with other ranks.
enum class Meets : uint32_t { Nobody, Collective, Send, Receive };

// The description of an instruction.
struct NotedInstruction {
  std::string words; // "gemm at model.mlir:12:3 (h.0.mlp)"
  std::string task;  // "forward"
  uint32_t index = 0, layers = 1;
  // Communication with other ranks.
  Meets meets = Meets::Nobody;
  std::string kind = {};  // "all_reduce"
  std::string name = {};  // name given by the compiler
  std::string dtype = {}; // "f32"
  std::string file = {}, op = {};
  uint32_t line = 0;
  uint32_t group = 0; // the device's number
  uint64_t inElements = 0, outElements = 0, bytes = 0;
};

// One issue of an instruction in an entry.
struct NotedIssue {
  uint32_t instruction = 0, microBatch = 0, layer = 0;
};

// The descriptions of all groups and instructions of a rank's program.
struct ProgramNotes {
  static constexpr size_t kEntries = 3; // kinds of entries

  std::vector<NotedGroup> groups; // indexed by the device's group number
  std::vector<NotedInstruction> instructions;
  // Per entry, indexed by the lower half of a tag.
  std::array<std::vector<NotedIssue>, kEntries> issues;

  // Returns the notes as bytes, to be read by decode().
  std::vector<uint8_t> encode() const;
  // DataLoss where the bytes are not what encode() gives, as those of a rank that went astray.
  static Status decode(std::span<const uint8_t> bytes, ProgramNotes &notes);

  // The instruction of an issue, or null.
  const NotedInstruction *find(uint32_t entry, uint32_t issue) const;
  // The list of `group` that `rank` is in; empty where there is none.
  std::span<const uint32_t> listOf(uint32_t group, uint32_t rank) const;
  // Returns the peer of `rank` in a transfer; -1 if there is none.
  int peerOf(uint32_t group, Meets meets, uint32_t rank) const;
};

} // namespace dtc::rt
