// How much of a layer's forward pass its backward pass runs again, so that it need not be kept.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace dtc {

// Each but the last has all that costs neither a product nor a collective run again, and whole groups of
// dearer ops besides. Sorted so that what runs again with a level does so with no earlier one that is not part of it.
enum class Recompute : uint8_t {
  None,
  Selective,          // none of the groups
  SelectiveAttention, // attention
  SelectiveLinear,    // products with a layer's own weights, and the collectives around them
  SelectiveDense,     // both
  SelectiveExperts,   // products with experts' weights
  SelectiveSparse,    // attention and these
  SelectiveProducts,  // products of both kinds
  SelectiveAll,       // attention and all products: exchanges of tokens are left
  Full,               // all that makes what was kept
};
constexpr size_t kNumRecomputes = 10;

inline constexpr std::array<Recompute, kNumRecomputes> kRecomputes = [] {
  std::array<Recompute, kNumRecomputes> all{};
  for (size_t index = 0; index < kNumRecomputes; ++index)
    all[index] = static_cast<Recompute>(index);
  return all;
}();

// What selective recomputation runs again beside what is cheap.
struct RecomputeGroups {
  bool attention = false, linear = false, experts = false;
};
inline RecomputeGroups recomputedGroups(Recompute recompute) {
  if (recompute == Recompute::Full)
    return {true, true, true};
  unsigned bits = recompute == Recompute::None ? 0 : static_cast<unsigned>(recompute) - 1;
  return {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
}

// Selective with some of the groups, but not all that there is.
inline bool isPartial(Recompute recompute) {
  return recompute > Recompute::Selective && recompute < Recompute::Full;
}

// Whether all that runs again with `less` does so with `more`.
inline bool isPartOf(Recompute less, Recompute more) {
  RecomputeGroups a = recomputedGroups(less), b = recomputedGroups(more);
  return less <= more && (b.attention || !a.attention) && (b.linear || !a.linear) &&
         (b.experts || !a.experts);
}

// "none", "selective", "selective+attention", "selective+attention+linear+experts", "full".
llvm::StringRef toString(Recompute recompute);
std::optional<Recompute> recomputeFrom(llvm::StringRef word);
// All of them, as a sentence lists them: "none, selective, ... or full".
std::string listOfRecomputes();

} // namespace dtc
