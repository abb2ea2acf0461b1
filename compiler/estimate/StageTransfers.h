// Seconds that activations and their gradients take from stage to stage. Internal to compiler/.
#pragma once

#include "compiler/cost/Cost.h"
#include "compiler/pipeline/Transfers.h"

namespace dtc {

struct Decisions;
struct ModelCost;

// Fills in the transfers of a model whose blocks and places are costed.
void addTransfers(ModelCost &cost, const Decisions &decisions, const Topology &topology);

// One message of `bytes` from each stage to the next, where stages are along `group` on alike
// devices: neighbours inside a node have faster links than those on its border. Empty where all
// boundaries are alike.
// Example: 4 stages of 4 devices on nodes of 8 are {inside, border, inside}.
std::vector<double> transfersAlong(const RankGroup &group, double bytes, const Topology &topology);

} // namespace dtc
