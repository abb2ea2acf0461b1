// Finds periods in the runs of an entry.
#pragma once

#include "passes/schedule/RunOrder.h"

#include <optional>

namespace dtc {

// A periodic stretch: each of the runs [begin, end) except the first `length` runs the same task as
// the one `length` before it, for a micro-batch that is `shift` later. None of them is the first or
// the last run of its task.
//
// Example: a0 a1 b0 a2 b1 a3 b2 a4 b3 a5 b4 a6 b5 a7 b6 b7 repeats a2 b1 to a6 b5, as b0 and a7 are
// a first and a last run: {3, 13, 2, 1}.
struct RunPeriod {
  size_t begin = 0, end = 0, length = 0;
  int64_t shift = 0;
};

// Returns the shortest period whose shift is a multiple of `multiple` and which covers most of the
// runs; nullopt if there is none.
std::optional<RunPeriod> findRunPeriod(const std::vector<RunOrder::Run> &runs, int64_t multiple);

} // namespace dtc
