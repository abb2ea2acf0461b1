// Keeps finished plans in a folder.
#pragma once

#include "compiler/search/planner/Planner.h"

namespace dtc {

// A cache of plans. Entries are named by a hash of all that a plan follows from: the graph, the
// topology with its measured curves, the request, and the program itself, whose cost model may have
// changed. Each entry is one file, written whole or not at all, so that several processes may share
// a folder.
class PlanCache {
public:
  // Opens the cache in a folder, which is created if it does not exist. `program` is the file of
  // the running program. Errors: a folder that can't be made, a program that can't be read.
  static Result<PlanCache> open(const std::string &folder, const std::string &program);

  // Returns the name of the request's entry: 32 hexadecimal digits.
  std::string keyOf(const PlanRequest &request) const;
  // Returns the entry, or nullopt if it does not exist or is damaged.
  std::optional<PlanResult> find(const std::string &key) const;
  // Writes the best plan and the first few others. Errors: a file that can't be written.
  Status store(const std::string &key, const PlanResult &planResult) const;

private:
  std::string fileOf(const std::string &key) const;

  std::string folder, programHash;
};

// Returns the plan from the cache, or makes it and stores it unless the clock ended the search.
// `wasFound` is set to true if it came from the cache. For `leastMemory` and errors see planModel.
Result<PlanResult> planModel(const PlanRequest &request, const PlanCache &cache, bool &wasFound,
                             std::optional<Plan> *leastMemory = nullptr);

} // namespace dtc
