// Prints the results of a comparison.
#pragma once

#include "bench/planner/Statistics.h"

#include <deque>

namespace dtc::published {

// The rows of a comparison, with those that are left out.
class Comparison {
public:
  // Adds an estimated row.
  void add(CaseResult caseResult) { caseResults.push_back(std::move(caseResult)); }
  // Counts a row that no plan describes, by the reason.
  void leaveOut(const Row &row, const std::string &reason);

  // Counts a row that is kept for releases.
  void keep() { ++kept; }

  // Counts a row of a source without a rule of its own, by the software that is assumed for it.
  void guess(const Row &row, const std::string &software);

  // Returns the rows that nothing is fitted on.
  std::vector<const CaseResult *> heldOut() const;

  // Prints the tables of errors.
  void printText(llvm::raw_ostream &out) const;
  // Prints the same figures as JSON.
  void printJson(llvm::raw_ostream &out) const;
  // Writes a line for each row that is compared: published and estimated figures and the parts of
  // the estimate. Returns an error, or "".
  std::string writeRows(const std::string &path) const;

private:
  std::vector<const CaseResult *> all() const;
  // Returns both halves, then each of them.
  std::vector<std::pair<std::string, std::vector<const CaseResult *>>> halves() const;

  std::deque<CaseResult> caseResults;
  int64_t kept = 0;
  using Counts = std::map<std::string, std::map<std::string, int64_t>>;
  Counts leftOut; // by reason and source
  Counts guessed; // by software and source
};

// Prints the work of the blocks of a case on one rank: ops, collectives, bytes.
void printCells(const Case &item, llvm::raw_ostream &out);

} // namespace dtc::published
