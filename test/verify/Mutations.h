// Faults that a compiler could make, planted into valid manifests.
#pragma once

#include "runtime/format/dte_generated.h"

#include <random>
#include <string>
#include <vector>

namespace dtc::mutate {

using Random = std::mt19937_64;

struct Mutation {
  std::string name;
  // Plants the fault at a random place; false where the manifest has no place for it.
  bool (*plant)(format::ManifestT &manifest, Random &random);
  // A place may be such that the program does the same all the same: then SameEffect has to show it.
  bool mayBeHarmless;
};

const std::vector<Mutation> &allMutations();
// Where the last one was planted, for messages; empty where it was no instruction's place.
const std::string &lastPlanted();

} // namespace dtc::mutate
