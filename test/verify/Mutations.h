// Faults that a compiler could make, planted into valid manifests.
#pragma once

#include "runtime/format/dte_generated.h"

#include <random>
#include <string>
#include <vector>

namespace dtc::mutate {

using Random = std::mt19937_64;

// A kind of fault.
struct Mutation {
  std::string name;
  // Plants the fault at a random site. Returns false if the manifest has no place for it.
  bool (*plant)(format::ManifestT &manifest, Random &random);
  // Some sites leave the effect of the program unchanged, which SameEffect then has to show.
  bool mayBeHarmless;
};

// Returns every kind of fault.
const std::vector<Mutation> &allMutations();
// Notes the site of the fault that is planted now.
void notePlanted(std::string site);
// Returns the site of the last fault, for messages; empty if it was no instruction.
const std::string &lastPlanted();

} // namespace dtc::mutate
