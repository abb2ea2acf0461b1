// Fits constants of the cost model on the fitting half of the published rows.
#pragma once

#include "bench/planner/Evaluate.h"

#include <functional>

namespace dtc::published {

// `names` are "stack.field" or "device.field" ("H100.products", "megatron-core.tp_hidden"); "x.*"
// is all fields of one, "x+y.f" and "x*.f" one constant that several share. Coordinate descent in
// ever smaller steps on the mean of |log(estimate / published)|, where families of near-duplicate
// sources weigh as the root of their number of rows and no row counts for more than a factor of 2.
// Prints the constants that it ends at. Returns the exit code.
int fitKnobs(const std::vector<std::unique_ptr<Case>> &cases, const std::vector<std::string> &names,
             int rounds, Knobs &knobs);

// The same on the cases that `uses` holds for, whichever half they are in, and without a word. Each
// of `knobs` is drawn towards the value that it has before.
void fitQuietly(const std::vector<std::unique_ptr<Case>> &cases,
                const std::vector<std::string> &names, int rounds, Knobs &knobs,
                const std::function<bool(const Case &)> &uses);

// Whether `owners`, the part of a name before the dot, has the case's stack or device.
bool movesCase(llvm::StringRef owners, const Case &item);

// Prints the stacks and keys that fittedConstants names, a pair a line: "nanotron memory_traffic".
void printFittedFigures(const Knobs &knobs, llvm::raw_ostream &out);

// What a constant is, nothing where no stack or device has the name.
std::optional<double> knobValue(const std::string &name, const Knobs &knobs);

// Sets constants from lines "name = value", as fitKnobs prints them; other lines are passed over.
// Returns an error, or "".
std::string setKnobs(llvm::StringRef text, Knobs &knobs);

} // namespace dtc::published
