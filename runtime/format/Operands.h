// Which buffers an instruction names, in one fixed order, and small readers of optional fields.
#pragma once

#include "runtime/format/dte_generated.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dtc::format {

// Marks an optional buffer that is not there.
inline constexpr uint32_t noBuffer = 0xffffffff;

struct Operand {
  const char *name; // the field of dte.fbs: "src"
  uint32_t buffer;
};

// The buffers of an instruction in the order of its fields; those of AttentionGrad.forward first.
// seed and step of an attention without dropout are noBuffer. Needs a sound encoding only, not a
// verified manifest. Example: for a Gemm it is {"a", 0}, {"b", 1}, {"c", 2}.
void operandsOf(const Instruction &instruction, std::vector<Operand> &operands);

// The rank scalars of an instruction in the order of its fields; null where one is absent, so 0.
void rankScalarsOf(const Instruction &instruction, std::vector<const RankScalar *> &scalars);

// "attention_grad" for Op::AttentionGrad; "unknown op" for a value that is none.
const char *opName(Op op);

// The mesh axes of a collective: "dp", "dp x cp"; "tp" for "tp.kv" and "tp.group" together.
std::string groupOf(const Manifest &manifest, const Collective &collective);

// "gemm at model.mlir:12:3 (h.0.mlp)", "all_reduce of gradients over dp 'grad wte +3'"; without the
// place where the file has none.
std::string describe(const Manifest &manifest, const Instruction &instruction);

// 1, 2, 4 or 8; 0 for a value that is no DType.
uint64_t bytesOf(DType type);

template <typename Vector> uint32_t sizeOf(const Vector *vector) {
  return vector ? vector->size() : 0;
}

} // namespace dtc::format
