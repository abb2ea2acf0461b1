// The description of an instruction: one function a kind (Instructions.cpp), from which operand
// lists, checks, binding and `inspect` derive.
#pragma once

#include "runtime/base/Checked.h"
#include "runtime/base/Text.h"
#include "runtime/format/ElementTypes.h"
#include "runtime/format/Operands.h"

#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace dtc::format {

// Sizes and leading dimensions reach libraries as int.
inline constexpr uint64_t maxSize = (uint64_t(1) << 31) - 1;
inline constexpr int64_t maxScalar = int64_t(1) << 48;

// Collects what an instruction is made of. It is filled from a table of dte.fbs of which only the
// encoding need be sound: its values may break every rule, and then `broken` says the first one.
class Description {
public:
  // A number besides buffers and rank scalars, as `inspect` shows it.
  struct Field {
    const char *name;
    double value;
    bool isFlag = false; // shown by its name alone, if it is set
  };
  // A number that may differ from rank to rank.
  struct Scalar {
    const char *name;
    const RankScalar *scalar; // null: 0
    int64_t low, high;        // the values allowed on any rank
  };

  // Adds a size, from 1 to maxSize.
  void size(const char *name, uint64_t value) {
    fields.push_back({name, static_cast<double>(value)});
    require(value >= 1 && value <= maxSize, "'", name, "' is ", value, ", wanted 1 to ", maxSize);
  }
  // Adds a finite number.
  void number(const char *name, double value) {
    fields.push_back({name, value});
    require(std::isfinite(value), "'", name, "' is ", value, ", wanted a finite number");
  }
  // Adds a flag.
  void flag(const char *name, bool value) {
    fields.push_back({name, value ? 1.0 : 0.0, /*isFlag=*/true});
  }
  // Adds an index, which verifyInstruction checks.
  void index(const char *name, uint64_t value) {
    fields.push_back({name, static_cast<double>(value)});
  }
  // Adds the type of floating-point numbers in memory.
  void floating(const char *name, DType type) {
    flag(EnumNameDType(type), type != DType::f32);
    require(elementTypeOf(type).has_value(), "'", name, "' is ", static_cast<int>(type),
            ", wanted f32, bf16 or f16");
  }
  // Checks a rule; `pieces` are the message if it is broken.
  template <typename... Pieces> void require(bool holds, const Pieces &...pieces) {
    if (!holds && broken.empty())
      broken = text(pieces...);
  }

  // Adds a buffer of `type` that is read, at any of its first `elements`.
  void reads(const char *name, uint32_t buffer, DType type, Checked elements) {
    operands.push_back({name, buffer, Access::Read, type, elements});
  }
  // Adds a buffer of `type` that is written, at any of its first `elements`. It shares no memory
  // with the other buffers, except in their gaps.
  void writes(const char *name, uint32_t buffer, DType type, Checked elements) {
    operands.push_back({name, buffer, Access::Write, type, elements});
  }
  // Declares that the last operand has rows of `elements`, `stride` apart.
  void inRows(uint64_t elements, uint64_t stride) {
    operands.back().rowElements = elements;
    operands.back().rowStride = stride;
  }
  // Adds an optional buffer that this instruction does not have.
  void absent(const char *name) { operands.push_back({name, noBuffer, Access::None}); }
  // Adds a buffer of any type that verifyInstruction checks further.
  void other(const char *name, uint32_t buffer, Access access = Access::Any) {
    operands.push_back({name, buffer, access});
  }

  // Adds a number that may differ between ranks, and the values allowed.
  void scalar(const char *name, const RankScalar *scalar, int64_t low = -maxScalar,
              int64_t high = maxScalar) {
    scalars.push_back({name, scalar, low, high});
  }

  // Removes everything.
  void clear() {
    operands.clear();
    scalars.clear();
    fields.clear();
    broken.clear();
  }

  std::vector<Operand> operands;
  std::vector<Scalar> scalars;
  std::vector<Field> fields;
  std::string broken; // the first broken rule; empty if all hold
};

} // namespace dtc::format
