// Where the runs of an entry repeat themselves.
#pragma once

#include "passes/schedule/RunOrder.h"

#include <optional>

namespace dtc {

// Of the runs [begin, end) each but the first `length` is of the task of the one `length` before it, for a micro-batch that is
// `shift` further. None of them is the first or the last run of its task.
//
// Example: a0 a1 b0 a2 b1 a3 b2 a4 b3 a5 b4 a6 b5 a7 b6 b7 repeats a2 b1 to a6 b5, as b0 and a7 are a first and a last run:
// {3, 13, 2, 1}.
struct RunPeriod {
  size_t begin = 0, end = 0, length = 0;
  int64_t shift = 0;
};

// The shortest whose shift `multiple` divides and which goes over most of the runs; nothing where there is none.
std::optional<RunPeriod> findRunPeriod(const std::vector<RunOrder::Run> &runs, int64_t multiple);

} // namespace dtc
