// Launches of products of groups of rows; kernels/cpu/GroupedGemm.h defines the semantics.
#pragma once

#include "kernels/cuda/GroupedGemmParams.h"
#include "kernels/cuda/Launch.h"

#include <vector>

namespace dtc::cuda {

// Sets the derived fields of `params`, and `launches`; none if there is nothing to write. Numbers
// of 16 bits go through tensor cores if rows are whole 16 bytes. Needs no scratch. Returns an error
// message, or "".
[[nodiscard]] std::string planGroupedGemm(ElementType type, ElementType resultType,
                                          GroupedGemmParams &params, std::vector<Launch> &launches);

} // namespace dtc::cuda
