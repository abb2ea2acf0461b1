// The groups of ranks that a mesh has, as the file lists them.
#pragma once

#include "runtime/format/dte_generated.h"

#include <memory>
#include <vector>

namespace dtc::format {

// The ranks that differ only on `axes`, which are ascending: a list for each choice of the other
// coordinates, in order of places. Its name is that of its axes, "dp x cp"; "tp" for "tp.kv" and
// "tp.group" together, "one rank" without any.
// Example: on a mesh dp = 2, tp = 2 the axes {tp} give lists 0, 1 and 2, 3, and {dp} 0, 2 and 1, 3.
// `placeRanks`: as in the manifest; empty: each rank is at the place of its number.
std::unique_ptr<GroupT> groupOfAxes(const std::vector<std::unique_ptr<AxisT>> &mesh,
                                    const std::vector<uint32_t> &axes,
                                    const std::vector<uint32_t> &placeRanks = {});

} // namespace dtc::format
