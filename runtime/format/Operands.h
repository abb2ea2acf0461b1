// A buffer of an instruction, names for messages, and small readers of optional fields.
#pragma once

#include "runtime/base/Checked.h"
#include "runtime/format/dte_generated.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dtc::format {

// The address of host memory among all memory of a program: it follows the device's, so that equal
// addresses are the same bytes.
inline constexpr uint64_t hostMemory = uint64_t(1) << 56;
// Returns the address of a buffer among all memory of its program.
inline uint64_t addressOf(const Buffer &buffer) {
  return buffer.offset() + (buffer.space() == MemorySpace::host ? hostMemory : 0);
}

// Marks an optional buffer that is not there.
inline constexpr uint32_t noBuffer = 0xffffffff;

// The access of an instruction to a buffer.
enum class Access : uint8_t {
  None, // absent
  Read,
  Write,
  Any // known to the kernel of a launch alone
};

// A buffer of an instruction.
struct Operand {
  const char *name; // the field of dte.fbs: "src"
  uint32_t buffer;  // noBuffer if it is absent
  Access access = Access::Any;
  std::optional<DType> dtype = {};
  // The most elements that the instruction may touch, from the buffer's first one on.
  Checked elements = 0;
  // Rows with gaps: elements of a row, and from one row to the next. Gaps are not touched.
  uint64_t rowElements = 0, rowStride = 0;

  // Returns true if the operand has gaps between its rows.
  bool hasGaps() const { return rowStride > rowElements; }
};

// The common part of collectives and transfers, which other ranks take part in.
struct Communication {
  uint32_t group;
  CollectiveRole role;
  const flatbuffers::String *name;
};
// Returns the common part; nullopt for an instruction without other ranks.
std::optional<Communication> communicationOf(const Instruction &instruction);

// Returns true if a matrix product does more to its sums than to add to c, which only GPUs can.
inline bool hasEpilogue(const Gemm &op) {
  return op.epilogue() != Epilogue::none || op.addend() != noBuffer;
}

// Returns the name of a group: "dp", "dp x cp".
std::string groupName(const Manifest &manifest, uint32_t group);

// Returns the entry of that kind; null if the program has none.
const Entry *findEntry(const Program &program, EntryKind kind);

// Returns how often the entry runs each task of the program.
std::vector<uint32_t> countRuns(const Program &program, const Entry &entry);

// Returns 1, 2, 4 or 8 bytes; 0 for an unknown value.
uint64_t bytesOf(DType type);

// Returns whether the program trains a parameter. Of a frozen one it keeps no state
// ("NAME.exp_avg").
bool isTrained(const Program &program, const Tensor &parameter);

// Returns the size of a vector that may be absent.
template <typename Vector> uint32_t sizeOf(const Vector *vector) {
  return vector ? vector->size() : 0;
}

} // namespace dtc::format
