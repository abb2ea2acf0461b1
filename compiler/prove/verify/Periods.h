// Finds repetition in the order of an entry's runs.
#pragma once

#include "runtime/format/dte_generated.h"

#include <optional>
#include <vector>

namespace dtc {

// A repetition of runs: each run of [begin, end) has the task of the run `length` before it, and a
// micro-batch that is `shift` higher. No run in it is the first or the last run of its task.
struct Period {
  uint32_t begin = 0, end = 0, length = 0, shift = 0;
};

// Returns the period with the most repetitions, or nullopt if none repeats at least four times.
// Example: a0 a1 b0 a2 b1 a3 b2 a4 b3 a5 b4 a6 b5 b6 repeats a2 b1 to a5 b4, as b0 and a6 are a
// first and a last run: {3, 11, 2, 1}.
std::optional<Period> findPeriod(const std::vector<format::Run> &order);

} // namespace dtc
