// Levels of recomputation: the part of a layer's forward pass that its backward pass recomputes
// instead of reading saved activations.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace dtc {

// Each level except None and Full recomputes the ops that cost neither a matrix product nor a
// collective, plus whole groups of costlier ops. A level follows all levels whose ops it includes.
enum class Recompute : uint8_t {
  None,
  Selective,          // none of the groups
  SelectiveAttention, // attention
  SelectiveLinear,    // matrix products with a layer's own weights, and the collectives around them
  SelectiveDense,     // attention and linear
  SelectiveExperts,   // matrix products with experts' weights
  SelectiveSparse,    // attention and experts
  SelectiveProducts,  // linear and experts
  SelectiveAll,       // attention and all matrix products: only dispatch and combine are left
  Full,               // everything that makes saved activations
};
constexpr size_t kNumRecomputes = 10;

// All levels, in order.
inline constexpr std::array<Recompute, kNumRecomputes> kRecomputes = [] {
  std::array<Recompute, kNumRecomputes> all{};
  for (size_t index = 0; index < kNumRecomputes; ++index)
    all[index] = static_cast<Recompute>(index);
  return all;
}();

// The groups that selective recomputation adds to the cheap ops.
struct RecomputeGroups {
  bool attention = false, linear = false, experts = false;
};
// Returns the groups of a level; all for Full.
inline RecomputeGroups recomputedGroups(Recompute recompute) {
  if (recompute == Recompute::Full)
    return {true, true, true};
  unsigned bits = recompute == Recompute::None ? 0 : static_cast<unsigned>(recompute) - 1;
  return {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
}

// True for selective levels with some of the groups.
inline bool isPartial(Recompute recompute) {
  return recompute > Recompute::Selective && recompute < Recompute::Full;
}

// True if everything that `less` recomputes is recomputed by `more`.
inline bool isPartOf(Recompute less, Recompute more) {
  RecomputeGroups a = recomputedGroups(less), b = recomputedGroups(more);
  return less <= more && (b.attention || !a.attention) && (b.linear || !a.linear) &&
         (b.experts || !a.experts);
}

// Returns "none", "selective", "selective+attention", "selective+attention+linear+experts", "full".
llvm::StringRef toString(Recompute recompute);
// Parses a name of toString; nullopt for any other text.
std::optional<Recompute> recomputeFrom(llvm::StringRef word);
// Returns all names as a sentence lists them: "none, selective, ... or full".
std::string listOfRecomputes();

} // namespace dtc
