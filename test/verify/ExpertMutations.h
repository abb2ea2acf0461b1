// Faults in how ranks exchange rows of experts and sum up their gradients.
#pragma once

#include "test/verify/Mutations.h"

namespace dtc::mutate {

// Makes an instruction read what an exchange of numbers of rows sends, and not what it brings: a
// rank's own numbers instead of those of its experts.
bool readOwnNumbers(format::ManifestT &manifest, Random &random);
// The same of an exchange of rows: the rank's own rows, in blocks for the experts of all ranks.
bool readOwnRows(format::ManifestT &manifest, Random &random);
// Sums gradients of experts over all ranks of data parallelism, though these have other experts.
bool sumExpertsOverAll(format::ManifestT &manifest, Random &random);
// Sums other gradients over the ranks that have the same experts alone.
bool sumOthersOverFew(format::ManifestT &manifest, Random &random);

} // namespace dtc::mutate
