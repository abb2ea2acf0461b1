// Plans with relaxed requests to see what would help.
#pragma once

#include "compiler/search/planner/Planner.h"

#include <functional>

namespace dtc {

// Returns the cost of every pin of the request in `plan`, which was made for it: the best step
// without the pin, with all others. All searches together have a third of the work of one. In the
// order of keys.
std::vector<PinCost> pinCosts(const PlanRequest &request, const Plan &plan);

// A larger system of the same kind.
struct LargerSystem {
  Topology topology;
  std::string flag; // flag that asks for it: "--nodes 4"
};
// Returns a system with `factor` times the devices; nullopt if there is none.
using Enlarge = std::function<std::optional<LargerSystem>(int64_t factor)>;

// `failed`, with a note that names the cheapest relaxation of the request and then others, each
// found by planning with it: what costs nothing first (a limit below the device's memory, a pin),
// then what costs time (states on the host), then what costs money (devices, larger devices).
// `failed` itself if it is not memory that fails, or if nothing helps.
// `leastMemory`: the plan of the request that needs least memory.
UserError withRelaxations(const PlanRequest &request, const UserError &failed,
                          const Plan &leastMemory, const Enlarge &enlarge);

} // namespace dtc
