// Prints tables on how far the planner's choices and probabilities can be trusted.
#pragma once

#include "bench/planner/Coverage.h"
#include "bench/planner/Regret.h"

namespace dtc::published {

// Returns the full name of a row's source.
std::string fullSourceOf(const CaseResult &caseResult);

// A source with kFitRows rows or more is weak if fewer than kFitShare of its predictions of what
// fits are right.
constexpr int64_t kFitRows = 5;
constexpr double kFitShare = 0.85;

// Returns the weak sources.
std::vector<std::string> weakSources(const std::vector<const CaseResult *> &caseResults);

// Prints the regret of each source with a group, and of all of them.
void printRegret(const std::vector<const CaseResult *> &caseResults, const std::string &title,
                 llvm::raw_ostream &out);

// Prints the predictions of what fits by source; weak ones are marked.
void printFits(const std::vector<const CaseResult *> &caseResults, const std::string &title,
               llvm::raw_ostream &out);

// Prints the coverage by software stack, kind of model and device, and of all; then fit
// probabilities by bin.
void printCoverage(const std::vector<const CaseResult *> &caseResults, const std::string &title,
                   const ErrorsOf &errorsOf, llvm::raw_ostream &out);

} // namespace dtc::published
