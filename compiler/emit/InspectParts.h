// What the text and the JSON of an executable have in common.
#pragma once

#include "compiler/emit/Inspect.h"

#include <array>
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
std::array<uint64_t, kNumBufferKinds> bytesByKind(const format::Program &program);

// Of all its tasks; those of a repeat once, or as often as it runs them.
size_t countInstructions(const format::Program &program);
size_t countUnrolled(const format::Program &program);

// Of how many micro-batches a program keeps something at once, at most.
uint32_t mostSlots(const format::Program &program);

// How often each op stands in a program: ("gemm", 144).
std::vector<std::pair<std::string, size_t>> countOps(const format::Program &program);

// A name as valid UTF-8, which a file need not hold; empty where there is none.
std::string textOf(const flatbuffers::String *string);

std::string opNameOf(format::Op op);

// The fields of an instruction besides its buffers: "m 32 n 16 k 8", with the values of one rank.
std::string detailsOf(const format::Manifest &manifest, const format::Instruction &instruction,
                      const std::vector<int64_t> &coordinates);

struct OperandText {
  std::string role, name;
  uint64_t offset, bytes;
};
std::vector<OperandText> operandsOf(const format::Program &program,
                                    const format::Instruction &instruction);

// What the machine code of a segment for this machine's processor calls; an error where dtrun refuses
// it. None for other segments. `file`: all of it.
std::optional<Result<std::vector<std::string>>> callsOf(const format::Segment &segment,
                                                        std::span<const uint8_t> file);

void printJson(const format::Manifest &manifest, std::span<const uint8_t> file,
               std::optional<uint32_t> rank, llvm::raw_ostream &out);

} // namespace dtc
