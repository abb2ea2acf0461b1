// The groups of ranks of a mesh, as the file lists them.
#pragma once

#include "runtime/format/dte_generated.h"

#include <memory>
#include <vector>

namespace dtc::format {

// Returns the group of ranks that differ only on `axes`, which are ascending: a list for each
// choice of the other coordinates, in the order of mesh positions. Its name is that of its axes,
// "dp x cp"; "tp" for "tp.kv" and "tp.group" together, "one rank" without any. `meshRanks`: as in
// the manifest; empty: each rank is at the position of its number.
// Example: on a mesh dp = 2, tp = 2 the axes {tp} give lists 0, 1 and 2, 3, and {dp} 0, 2 and 1, 3.
std::unique_ptr<GroupT> groupOfAxes(const std::vector<std::unique_ptr<AxisT>> &mesh,
                                    const std::vector<uint32_t> &axes,
                                    const std::vector<uint32_t> &meshRanks = {});

} // namespace dtc::format
