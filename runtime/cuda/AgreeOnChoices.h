// One choice of algorithm for each product, whichever ranks have it: replicas have to compute the same bits.
#pragma once

#include "runtime/comm/Control.h"
#include "runtime/cuda/TuningFile.h"

#include <functional>

namespace dtc::rt {

// Collective. `mine` are the hashes of this rank's products, ascending. Of the ranks that have a product the lowest chooses:
// `choose` gets those that are this rank's to choose and adds a choice for each. `all` becomes the choices of all ranks.
using ChooseProducts =
    std::function<Status(const std::vector<uint64_t> &products, TuningChoices &choices)>;
Status agreeOnChoices(Control &control, const std::vector<uint64_t> &mine,
                      const ChooseProducts &choose, TuningChoices &all);

} // namespace dtc::rt
