// Seconds that activations and their gradients take from stage to stage. Internal to compiler/.
#pragma once

#include "compiler/price/cost/Cost.h"
#include "compiler/search/pipeline/Transfers.h"

namespace dtc {

struct Decisions;
struct ModelCost;

// Fills in the transfers of a model whose blocks and devices are costed.
void addTransfers(ModelCost &cost, const Decisions &decisions, const Topology &topology);

// Returns the seconds of one message of `bytes` from each stage to the next, with stages along
// `group` on homogeneous devices: neighbours inside a node have faster links than those on its
// border. Empty if all boundaries are equal.
// Example: 4 stages of 4 devices on nodes of 8 are {inside, border, inside}.
std::vector<double> transfersAlong(const RankGroup &group, double bytes, const Topology &topology);

} // namespace dtc
