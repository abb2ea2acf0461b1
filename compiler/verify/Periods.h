// Where the order of an entry repeats itself.
#pragma once

#include "runtime/format/dte_generated.h"

#include <optional>
#include <vector>

namespace dtc {

// Of the runs [begin, end) each is of the same task as the one `length` before it, for a micro-batch that is
// `shift` further. None of them is the first or the last run of its task.
struct Period {
  uint32_t begin = 0, end = 0, length = 0, shift = 0;
};

// The one of the most repetitions; nothing where there are no four of them.
// Example: a0 a1 b0 a2 b1 a3 b2 a4 b3 a5 b4 a6 b5 b6 repeats a2 b1 to a5 b4, as b0 and a6 are a first and a last run:
// {3, 11, 2, 1}.
std::optional<Period> findPeriod(const std::vector<format::Run> &order);

} // namespace dtc
