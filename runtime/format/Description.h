// What an instruction says of itself: one function a kind (Instructions.cpp), from which operand
// lists, checks, binding and `inspect` derive.
#pragma once

#include "runtime/base/Checked.h"
#include "runtime/base/Text.h"
#include "runtime/format/Operands.h"

#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace dtc::format {

// Sizes and leading dimensions reach libraries as int.
inline constexpr uint64_t maxSize = (uint64_t(1) << 31) - 1;
inline constexpr int64_t maxScalar = int64_t(1) << 48;

// Filled from a table of dte.fbs, of which only the encoding need be sound: what it says may break
// every rule, and then `broken` says the first one.
class Description {
public:
  // A number besides buffers and rank scalars, as `inspect` shows it.
  struct Field {
    const char *name;
    double value;
    bool isFlag = false; // shown by its name alone, where it is set
  };
  struct Scalar {
    const char *name;
    const RankScalar *scalar; // null: 0
    int64_t low, high;        // what it may be on any rank
  };

  // A size, from 1 to maxSize.
  void size(const char *name, uint64_t value) {
    fields.push_back({name, static_cast<double>(value)});
    require(value >= 1 && value <= maxSize, "'", name, "' is ", value, ", wanted 1 to ", maxSize);
  }
  void number(const char *name, double value) {
    fields.push_back({name, value});
    require(std::isfinite(value), "'", name, "' is ", value, ", wanted a finite number");
  }
  void flag(const char *name, bool value) {
    fields.push_back({name, value ? 1.0 : 0.0, /*isFlag=*/true});
  }
  void index(const char *name, uint64_t value) {
    fields.push_back({name, static_cast<double>(value)});
  }
  // The type of floating-point numbers in memory.
  void floating(const char *name, DType type) {
    flag(EnumNameDType(type), type != DType::f32);
    require(type == DType::f32 || type == DType::bf16 || type == DType::f16, "'", name, "' is ",
            static_cast<int>(type), ", wanted f32, bf16 or f16");
  }
  // A rule of its own; `pieces` are the message where it is broken.
  template <typename... Pieces> void require(bool holds, const Pieces &...pieces) {
    if (!holds && broken.empty())
      broken = text(pieces...);
  }

  // A buffer of `type` of whose first `elements` it reads or writes any; what it writes shares no
  // memory with its other buffers, but what lies in their gaps.
  void reads(const char *name, uint32_t buffer, DType type, Checked elements) {
    operands.push_back({name, buffer, Access::Read, type, elements});
  }
  void writes(const char *name, uint32_t buffer, DType type, Checked elements) {
    operands.push_back({name, buffer, Access::Write, type, elements});
  }
  // Of the last one: it is rows of `elements`, `stride` apart.
  void inRows(uint64_t elements, uint64_t stride) {
    operands.back().rowElements = elements;
    operands.back().rowStride = stride;
  }
  // A buffer that this instruction of its kind does without.
  void absent(const char *name) { operands.push_back({name, noBuffer, Access::None}); }
  // A buffer of any type, about which verifyInstruction knows more.
  void other(const char *name, uint32_t buffer, Access access = Access::Any) {
    operands.push_back({name, buffer, access});
  }

  void scalar(const char *name, const RankScalar *scalar, int64_t low = -maxScalar,
              int64_t high = maxScalar) {
    scalars.push_back({name, scalar, low, high});
  }

  void clear() {
    operands.clear();
    scalars.clear();
    fields.clear();
    broken.clear();
  }

  std::vector<Operand> operands;
  std::vector<Scalar> scalars;
  std::vector<Field> fields;
  std::string broken; // the first rule that does not hold; empty where all do
};

// What `instruction` says of itself, in place of what `description` held.
void describe(const Instruction &instruction, Description &description);

} // namespace dtc::format
