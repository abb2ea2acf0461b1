// Small random placement problems, and their answers by enumeration.
#pragma once

#include "compiler/search/solver/Problem.h"

#include <optional>
#include <random>

namespace dtc::solver {

// Returns a problem of two to seven nodes with one to four values: with forbidden pairs, several
// edges of one pair, empty intervals, and a limit that mostly matters. Each third problem is dense,
// so that presolve rarely solves it.
Problem randomProblem(uint64_t seed);

// Returns the cost of an assignment, computed for each point of time, or nothing if it is forbidden
// or over the limit.
std::optional<int64_t> plainCost(const Problem &problem, const std::vector<int32_t> &choice);

// Returns the least cost of all assignments, or nothing if none is allowed.
std::optional<int64_t> bruteForce(const Problem &problem);

} // namespace dtc::solver
