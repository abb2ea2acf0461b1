// Tables that say how far the planner's choices and probabilities can be trusted.
#pragma once

#include "bench/planner/Coverage.h"
#include "bench/planner/Regret.h"

namespace dtc::published {

// The full name of a row's source.
std::string fullSourceOf(const Outcome &outcome);

// Sources with so many rows or more have to be right about what fits in so many of them.
constexpr int64_t kFitRows = 5;
constexpr double kFitShare = 0.85;

// Sources of kFitRows rows or more that are right in fewer than kFitShare of them.
std::vector<std::string> weakSources(const std::vector<const Outcome *> &outcomes);

// Of all sources with a group, and of all of them.
void printRegret(const std::vector<const Outcome *> &outcomes, const std::string &title,
                 llvm::raw_ostream &out);

// What fits, by source; weak ones are marked.
void printFits(const std::vector<const Outcome *> &outcomes, const std::string &title,
               llvm::raw_ostream &out);

// Coverage by software stack, kind of model and device, and of all; fit probabilities by bin.
void printCoverage(const std::vector<const Outcome *> &outcomes, const std::string &title,
                   const ErrorsOf &errorsOf, llvm::raw_ostream &out);

} // namespace dtc::published
