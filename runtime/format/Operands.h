// A buffer of an instruction, names for messages, and small readers of optional fields.
#pragma once

#include "runtime/base/Checked.h"
#include "runtime/format/dte_generated.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dtc::format {

// Where a buffer begins among all memory of its program: the host's follows on this many bytes for the device's, so that equal
// places are the same bytes.
inline constexpr uint64_t hostMemory = uint64_t(1) << 56;
inline uint64_t addressOf(const Buffer &buffer) {
  return buffer.offset() + (buffer.space() == MemorySpace::host ? hostMemory : 0);
}

// Marks an optional buffer that is not there.
inline constexpr uint32_t noBuffer = 0xffffffff;

enum class Access : uint8_t {
  None, // absent
  Read,
  Write,
  Any // what a launch reads and writes, only its kernel knows
};

struct Operand {
  const char *name; // the field of dte.fbs: "src"
  uint32_t buffer;  // noBuffer where it is absent
  Access access = Access::Any;
  std::optional<DType> dtype = {};
  Checked elements = 0; // that the instruction may touch, from the buffer's first one on
  // Where these are rows with gaps: elements of a row, and from one to the next. What is in gaps it does not touch.
  uint64_t rowElements = 0, rowStride = 0;

  bool hasGaps() const { return rowStride > rowElements; }
};

// "attention_grad" for Op::AttentionGrad; "unknown op" for a value that is none.
const char *opName(Op op);

// What a collective and a transfer have in common: they meet other ranks.
struct Meeting {
  uint32_t group;
  CollectiveRole role;
  const flatbuffers::String *name;
};
// Nothing for an instruction that meets no other ranks.
std::optional<Meeting> meetingOf(const Instruction &instruction);

// Whether a product does more to its sums than to add to c, which is for GPUs alone.
inline bool hasEpilogue(const Gemm &op) {
  return op.epilogue() != Epilogue::none || op.addend() != noBuffer;
}

// The name of a group: "dp", "dp x cp".
std::string groupName(const Manifest &manifest, uint32_t group);

// "gemm at model.mlir:12:3 (h.0.mlp)", "all_reduce of gradients over dp 'grad wte +3'"; without the
// place where the file has none.
std::string describe(const Manifest &manifest, const Instruction &instruction);

// The entry of that kind; null where the program has none.
const Entry *findEntry(const Program &program, EntryKind kind);

// How often the entry runs each task of the program.
std::vector<uint32_t> countRuns(const Program &program, const Entry &entry);

// 1, 2, 4 or 8; 0 for a value that is no DType.
uint64_t bytesOf(DType type);

// Returns whether the program trains a parameter. Of a frozen one it keeps no state ("NAME.exp_avg").
bool isTrained(const Program &program, const Tensor &parameter);

template <typename Vector> uint32_t sizeOf(const Vector *vector) {
  return vector ? vector->size() : 0;
}

} // namespace dtc::format
