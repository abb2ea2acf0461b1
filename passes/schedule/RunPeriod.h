// Where the runs of an entry repeat themselves.
#pragma once

#include "passes/schedule/RunOrder.h"

#include <optional>

namespace dtc {

// Each of the runs [begin, end) but the first `length` is of the task of the one `length` before it, for a micro-batch `shift`
// further. None is the first or the last run of its task.
//
// Example: a0 a1 b0 a2 b1 a3 b2 a4 b3 a5 b4 b5 repeats a1 ... from a2 b1 on: {3, 9, 2, 1}, as b0, a5 and b5 are first and last.
struct RunPeriod {
  size_t begin = 0, end = 0, length = 0;
  int64_t shift = 0;
};

// The shortest whose shift `multiple` divides and which goes over most of the runs; nothing where there is none.
std::optional<RunPeriod> findRunPeriod(const std::vector<RunOrder::Run> &runs, int64_t multiple);

} // namespace dtc
