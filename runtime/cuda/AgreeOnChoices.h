// One choice of algorithm for each matrix product on all ranks that have it: replicas must compute
// the same bits.
#pragma once

#include "runtime/comm/Control.h"
#include "runtime/cuda/TuningFile.h"

#include <functional>

namespace dtc::rt {

// Chooses algorithms for some products of this rank and adds them to `choices`.
using ChooseProducts =
    std::function<Status(const std::vector<uint64_t> &products, TuningChoices &choices)>;
// Chooses one algorithm per product for all ranks. Collective. `mine` holds the hashes of this
// rank's products, ascending. The lowest rank that has a product chooses: `choose` gets the
// products that this rank must choose for and adds a choice for each. `all` gets the choices of all
// ranks.
Status agreeOnChoices(Control &control, const std::vector<uint64_t> &mine,
                      const ChooseProducts &choose, TuningChoices &all);

} // namespace dtc::rt
