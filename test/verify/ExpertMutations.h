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
// Makes a kernel that packs, sorts or adds up rows, or the gradient of scores, read the indices or
// the choices of another layer or round.
bool readOtherIndices(format::ManifestT &manifest, Random &random);
// Makes a product of groups read the numbers of rows of another layer or round, so that it takes
// rows that belong to another expert, or that only fill up the room.
bool readOtherCounts(format::ManifestT &manifest, Random &random);
// Sums a gradient of experts over the rows of another layer or round.
bool multiplyOtherRows(format::ManifestT &manifest, Random &random);
// Makes a product of groups take fewer rows than there is room for.
bool leaveRowsOut(format::ManifestT &manifest, Random &random);
// Adds the rows of a gradient of experts twice.
bool countRowsTwice(format::ManifestT &manifest, Random &random);
// Adds a bias on each rank of tensor parallelism, before the sum over these.
bool addBiasOnEachRank(format::ManifestT &manifest, Random &random);
// Sums a gradient of experts over the ranks that have exchanged rows, which it is of already.
bool sumExpertsTwice(format::ManifestT &manifest, Random &random);
// Leaves the gradient of a router out of the sum over all ranks.
bool loseRouterGradient(format::ManifestT &manifest, Random &random);
// Sums the load of experts, which corrections of routers follow, over too few ranks.
bool countLoadOfFew(format::ManifestT &manifest, Random &random);
// Sends rows, or their numbers, to the ranks that follow those with their experts.
bool sendToOtherExperts(format::ManifestT &manifest, Random &random);
// Exchanges blocks of another size than the room of a rank.
bool exchangeOtherRoom(format::ManifestT &manifest, Random &random);

} // namespace dtc::mutate
