// The families of decisions, a file each. Internal to this folder.
#pragma once

#include "compiler/decide/decisions/Decision.h"

namespace dtc::families {

// Each returns the rows of one family.
llvm::ArrayRef<Decision> data();      // data parallelism and micro-batches
llvm::ArrayRef<Decision> tensor();    // tensor and sequence parallelism, placements
llvm::ArrayRef<Decision> pipeline();  // stages, schedules, and the vocabulary on them
llvm::ArrayRef<Decision> context();   // context parallelism
llvm::ArrayRef<Decision> experts();   // expert parallelism
llvm::ArrayRef<Decision> zero();      // ZeRO and its groups
llvm::ArrayRef<Decision> memory();    // recomputation, and what is on the host
llvm::ArrayRef<Decision> axisOrder(); // order of the mesh axes on the links
llvm::ArrayRef<Decision> buckets();   // reduction of gradients
llvm::ArrayRef<Decision> compress();  // compression of gradients

// The reasons of decisions that are taken for a step as a whole.
inline constexpr LeftOut kOfTheStep[] = {
    {KeptResult::Work, "blocks compute the same"},
    {KeptResult::PartCost, "blocks cost the same; the estimate of a step adds its effect"},
    {KeptResult::MeshCost, "blocks cost the same; the estimate of a step adds its effect"},
    {KeptResult::Estimates, "finer keys within have it (restOf)"},
};

// Returns a refusal of a word of --fix.
inline UserError refusedWord(llvm::StringRef name, const std::string &text, const std::string &why,
                             const std::string &mend) {
  return UserError("--fix " + name.str() + "=" + text + ": " + why, mend);
}

} // namespace dtc::families
