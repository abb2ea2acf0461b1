// What is printed of a comparison.
#pragma once

#include "bench/planner/Statistics.h"

#include <deque>

namespace dtc::published {

class Comparison {
public:
  void add(Outcome outcome) { outcomes.push_back(std::move(outcome)); }
  // A row that no plan describes, and why.
  void leaveOut(const Row &row, const std::string &reason);

  // A row that is kept for releases.
  void keep() { ++kept; }

  // A row of a source without a rule of its own: which software it is taken to
  // be of.
  void guess(const Row &row, const std::string &software);

  // The rows that nothing is fitted on.
  std::vector<const Outcome *> heldOut() const;

  void printText(llvm::raw_ostream &out) const;
  void printJson(llvm::raw_ostream &out) const;
  // One line per row that is compared: published and estimated figures and the parts of the
  // estimate. Returns an error, or "".
  std::string writeRows(const std::string &path) const;

private:
  std::vector<const Outcome *> all() const;
  // Both halves, then one of them.
  std::vector<std::pair<std::string, std::vector<const Outcome *>>> halves() const;

  std::deque<Outcome> outcomes;
  int64_t kept = 0;
  using Counts = std::map<std::string, std::map<std::string, int64_t>>;
  Counts leftOut; // by reason and source
  Counts guessed; // by software and source
};

// What the blocks of a case do on one rank: ops, collectives, bytes.
void printCells(const Case &item, llvm::raw_ostream &out);

} // namespace dtc::published
