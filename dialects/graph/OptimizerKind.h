// The optimizers of training.
#pragma once

#include "dialects/graph/EnumTable.h"

#include "llvm/ADT/ArrayRef.h"

namespace dtc {

// The rule by which parameters are updated.
enum class OptimizerKind : uint8_t { AdamW, Sgd, Lamb, Lars, Muon };

// The names of states in checkpoints: "NAME.exp_avg".
inline constexpr llvm::StringRef kMomentStates[] = {"exp_avg", "exp_avg_sq"};
inline constexpr llvm::StringRef kMomentumState[] = {"momentum"};

// The facts about an optimizer.
struct OptimizerRow {
  OptimizerKind value;
  llvm::StringRef name; // in plans, stacks and flags
  // Kept for each parameter, each with its shape in f32. Those of muon are of a matrix; parameters
  // that AdamW updates for it have AdamW's.
  llvm::ArrayRef<llvm::StringRef> states;
};

// All optimizers, in order.
inline constexpr OptimizerRow kOptimizers[] = {
    {OptimizerKind::AdamW, "adamw", kMomentStates}, {OptimizerKind::Sgd, "sgd", kMomentumState},
    {OptimizerKind::Lamb, "lamb", kMomentStates},   {OptimizerKind::Lars, "lars", kMomentumState},
    {OptimizerKind::Muon, "muon", kMomentumState},
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

// The factor of the learning rate of a matrix under muon.
enum class MatrixRate : uint8_t {
  MatchRmsAdamW, // 0.2 sqrt(max(rows, columns)): elements move as far as under AdamW
  Original,      // sqrt(max(1, outputs / inputs))
};

// The facts about such a factor.
struct MatrixRateRow {
  MatrixRate value;
  llvm::StringRef name; // in flags
};

// All factors, in order.
inline constexpr MatrixRateRow kMatrixRates[] = {
    {MatrixRate::MatchRmsAdamW, "match-rms-adamw"},
    {MatrixRate::Original, "original"},
};
static_assert(isInOrder(kMatrixRates));

// Returns the name of a factor: "original".
constexpr llvm::StringRef nameOf(MatrixRate rate) { return rowOf(kMatrixRates, rate).name; }
// Returns the factor of a name; nullopt for any other text.
inline std::optional<MatrixRate> matrixRateFrom(llvm::StringRef name) {
  return valueNamed(kMatrixRates, name);
}

} // namespace dtc
