// Facts of an executable that its text and its JSON share.
#pragma once

#include "compiler/support/Error.h"
#include "runtime/format/dte_generated.h"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dtc {

// Coordinates of a rank, one per mesh axis.
std::vector<int64_t> coordinatesOf(const format::Manifest &manifest, uint32_t rank);

// "8", "8 + 4 * micro_batch", "3 + 2 * layer"
std::string valueOf(const format::RankScalar *scalar, const std::vector<int64_t> &coordinates);

// Bytes of both arenas that buffers of each kind cover; kinds that share bytes over time each count
// them.
constexpr size_t kNumBufferKinds = static_cast<size_t>(format::BufferKind::MAX) + 1;
// Returns the bytes of a program's buffers by kind.
std::array<uint64_t, kNumBufferKinds> bytesByKind(const format::Program &program);

// Returns the number of instructions in all tasks; those of a repeat count once here, and as often
// as they run in countUnrolled().
size_t countInstructions(const format::Program &program);
// Returns the number of instructions in all tasks, those of a repeat as often as they run.
size_t countUnrolled(const format::Program &program);

// Returns the largest number of micro-batches for which a program keeps a buffer at the same time.
uint32_t mostSlots(const format::Program &program);

// Returns the number of instructions of each op in a program: ("gemm", 144).
std::vector<std::pair<std::string, size_t>> countOps(const format::Program &program);

// A name as valid UTF-8, which a file need not hold; empty where there is none.
std::string textOf(const flatbuffers::String *string);

// Returns the name of an op.
std::string opNameOf(format::Op op);

// The fields of an instruction besides its buffers: "m 32 n 16 k 8", with the values of one rank.
std::string detailsOf(const format::Manifest &manifest, const format::Instruction &instruction,
                      const std::vector<int64_t> &coordinates);

// An operand of an instruction, as text.
struct OperandText {
  std::string role, name;
  uint64_t offset, bytes;
};
// Returns the operands of an instruction.
std::vector<OperandText> operandsOf(const format::Program &program,
                                    const format::Instruction &instruction);

// Returns the functions that the machine code of a segment for this machine's processor calls, or
// the error with which dtrun rejects it; nullopt for other segments. `file`: all bytes of the file.
std::optional<Result<std::vector<std::string>>> callsOf(const format::Segment &segment,
                                                        std::span<const uint8_t> file);

} // namespace dtc
