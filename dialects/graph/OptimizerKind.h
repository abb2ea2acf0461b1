// The optimizers of training.
#pragma once

#include "dialects/graph/EnumTable.h"

#include "llvm/ADT/ArrayRef.h"

namespace dtc {

// The rule by which parameters are updated.
enum class OptimizerKind : uint8_t { AdamW, Sgd, Lamb, Lars };

// The names of states in checkpoints: "NAME.exp_avg".
inline constexpr llvm::StringRef kMomentStates[] = {"exp_avg", "exp_avg_sq"};
inline constexpr llvm::StringRef kMomentumState[] = {"momentum"};

// The facts about an optimizer.
struct OptimizerRow {
  OptimizerKind value;
  llvm::StringRef name;                   // in plans, stacks and flags
  llvm::ArrayRef<llvm::StringRef> states; // kept for each parameter, each with its shape in f32
};

// All optimizers, in order.
inline constexpr OptimizerRow kOptimizers[] = {
    {OptimizerKind::AdamW, "adamw", kMomentStates},
    {OptimizerKind::Sgd, "sgd", kMomentumState},
    {OptimizerKind::Lamb, "lamb", kMomentStates},
    {OptimizerKind::Lars, "lars", kMomentumState},
};
static_assert(isInOrder(kOptimizers));

// Returns the name of an optimizer: "adamw".
constexpr llvm::StringRef nameOf(OptimizerKind optimizer) {
  return rowOf(kOptimizers, optimizer).name;
}
// Returns the optimizer of a name; nullopt for any other text.
inline std::optional<OptimizerKind> optimizerFrom(llvm::StringRef name) {
  return valueNamed(kOptimizers, name);
}

// Returns the names of the states that the optimizer keeps for each parameter.
constexpr llvm::ArrayRef<llvm::StringRef> statesOf(OptimizerKind optimizer) {
  return rowOf(kOptimizers, optimizer).states;
}

} // namespace dtc
