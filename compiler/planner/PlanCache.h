// Plans that were made before, kept in a folder.
#pragma once

#include "compiler/planner/Planner.h"

namespace dtc {

// Entries are named by a hash of all that a plan follows from: the graph, the topology with its
// measured curves, the request, and the program itself, whose cost model may have changed. One file
// per entry, written whole or not at all, so that several processes may share a folder.
class PlanCache {
public:
  // `program` is the file of the running program. Errors: a folder that can't be made, a program
  // that can't be read.
  static Result<PlanCache> open(const std::string &folder, const std::string &program);

  // 32 hexadecimal digits.
  std::string keyOf(const PlanRequest &request) const;
  // Nothing where there is no such entry, or one that is damaged: it is then made anew.
  std::optional<PlanOutcome> find(const std::string &key) const;
  // The best plan and the first few others.
  Outcome store(const std::string &key, const PlanOutcome &outcome) const;

private:
  std::string fileOf(const std::string &key) const;

  std::string folder, programHash;
};

// Returns the plan from the cache, or plans it and stores it, unless the clock ended the search.
// `wasFound` tells which.
Result<PlanOutcome> planModel(const PlanRequest &request, const PlanCache &cache, bool &wasFound,
                              std::optional<Plan> *leanest = nullptr);

} // namespace dtc
