// Small placement problems by chance, and their answers by enumeration.
#pragma once

#include "compiler/solver/Problem.h"

#include <optional>
#include <random>

namespace dtc::solver {

// Two to seven nodes of one to four values; forbidden pairs, several edges of one pair, empty
// intervals, and a limit that mostly binds. Each third one is dense: presolve rarely solves it.
Problem randomProblem(uint64_t seed);

// What an assignment costs, point of time by point of time; nothing where it is forbidden or over
// the limit.
std::optional<int64_t> plainCost(const Problem &problem, const std::vector<int32_t> &choice);

// The least cost of all assignments; nothing where none is allowed.
std::optional<int64_t> bruteForce(const Problem &problem);

} // namespace dtc::solver
