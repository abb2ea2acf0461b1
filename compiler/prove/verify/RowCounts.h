// The memory of numbers of rows of experts.
#pragma once

#include "runtime/format/dte_generated.h"

#include <cstdint>
#include <set>

namespace dtc {

// Returns the storages of a program that have numbers of rows: those that products of groups are
// cut by, and those that ranks exchange. There are none in a program without such products.
std::set<uint32_t> storagesOfCounts(const format::Program &program);

} // namespace dtc
