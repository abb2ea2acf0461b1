// Fits constants of the cost model on the fitting half of the published rows.
#pragma once

#include "bench/planner/Evaluate.h"

#include <functional>

namespace dtc::published {

// Fits constants, prints the values that it ends at, and returns the exit code. `names` are
// "stack.field" or "device.field" ("H100.products", "megatron-core.tp_hidden"); "x.*" stands for
// all fields of one, "x+y.f" and "x*.f" for one constant that several share. The fit is coordinate
// descent in ever smaller steps on the mean of |log(estimate / published)|, in which families of
// near-duplicate sources weigh as the root of their number of rows and no row counts for more than
// a factor of 2.
int fitKnobs(const std::vector<std::unique_ptr<Case>> &cases, const std::vector<std::string> &names,
             int rounds, Knobs &knobs);

// Fits in the same way on the cases that `uses` holds for, in either half, and prints nothing. Each
// of `knobs` is drawn towards the value that it has before.
void fitQuietly(const std::vector<std::unique_ptr<Case>> &cases,
                const std::vector<std::string> &names, int rounds, Knobs &knobs,
                const std::function<bool(const Case &)> &uses);

// Returns true if `owners`, the part of a name before the dot, contains the case's stack or device.
bool movesCase(llvm::StringRef owners, const Case &item);

// Prints the stacks and keys that fittedConstants lists, a pair a line: "nanotron memory_traffic".
void printFittedFigures(const Knobs &knobs, llvm::raw_ostream &out);

// Returns the value of a constant; nullopt if no stack or device has the name.
std::optional<double> knobValue(const std::string &name, const Knobs &knobs);

// Sets constants from lines "name = value", as fitKnobs prints them; other lines are ignored.
// Returns an error, or "".
std::string setKnobs(llvm::StringRef text, Knobs &knobs);

} // namespace dtc::published
