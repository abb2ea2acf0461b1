// The forms in which optimizer state is stored, and optimizers with them.
#pragma once

#include "dialects/graph/OptimizerKind.h"

namespace dtc {

// The form of a moment or momentum of a parameter. Updates are computed in f32 from all of them.
enum class StateType : uint8_t { F32, BF16, Int8 };

// The most and the fewest elements along the last dim of a parameter that share a scale in Int8: a
// power of two that divides the dim. A parameter has a number of elements at least for its state to
// be in 8 bits.
inline constexpr int64_t kStateBlock = 128, kLeastStateBlock = 32, kLeastStateElements = 4096;

// The facts about a form of state.
struct StateTypeRow {
  StateType value;
  llvm::StringRef name; // in plans, stacks and flags
  double bytes;         // of an element of a state, with its share of a scale
};

// All forms of state, in order.
inline constexpr StateTypeRow kStateTypes[] = {
    {StateType::F32, "f32", 4},
    {StateType::BF16, "bf16", 2},
    {StateType::Int8, "int8", 1 + 4.0 / kStateBlock},
};
static_assert(isInOrder(kStateTypes));

// Returns the name of a form of state: "bf16".
constexpr llvm::StringRef nameOf(StateType type) { return rowOf(kStateTypes, type).name; }
// Returns the form of state of a name; nullopt for any other text.
inline std::optional<StateType> stateTypeFrom(llvm::StringRef name) {
  return valueNamed(kStateTypes, name);
}
// Returns the bytes of an element of a state, with its share of a scale.
constexpr double bytesOf(StateType type) { return rowOf(kStateTypes, type).bytes; }

// Returns true if the optimizer's state may be in that form. Codes of 8 bits are of both moments of
// a parameter.
constexpr bool hasStateIn(OptimizerKind optimizer, StateType type) {
  return type != StateType::Int8 || statesOf(optimizer).size() == std::size(kMomentStates);
}

// An optimizer and the form of its state.
struct Optimizer {
  OptimizerKind kind = OptimizerKind::AdamW;
  StateType state = StateType::F32;

  constexpr Optimizer(OptimizerKind kind, StateType state = StateType::F32)
      : kind(kind), state(state) {}
  bool operator==(const Optimizer &) const = default;

  // Returns the bytes of the states of an element of a parameter.
  constexpr double stateBytes() const {
    return bytesOf(state) * static_cast<double>(statesOf(kind).size());
  }
};

} // namespace dtc
