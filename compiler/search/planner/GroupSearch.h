// Searches ZeRO within groups of ranks. Internal to this folder.
#pragma once

#include "compiler/search/planner/CandidateCoster.h"

#include <map>
#include <vector>

namespace dtc {

// Decisions that may still win with ZeRO in groups.
struct OpenGroups {
  double least;      // seconds that no such step beats
  Decisions overAll; // with ZeRO over all of dp
  SameCut same = {};
};

// Collects decisions that stay open, and costs ZeRO in groups at the end, when the seconds to beat
// leave little of it open.
class GroupSearch {
public:
  GroupSearch(const SearchInputs &inputs, MeshCosts &costs, SearchWork &work)
      : inputs(inputs), costs(costs), work(work) {}

  // Keeps decisions.
  void add(const OpenGroups &groups) { open.push_back(groups); }
  // Costs those that the contest leaves open.
  void run(const CandidateCoster &coster, FastestContest &contest);

private:
  void visit(const OpenGroups &groups, const CandidateCoster &coster, FastestContest &contest);

  const SearchInputs &inputs;
  MeshCosts &costs;
  SearchWork &work;
  std::vector<OpenGroups> open;
};

// Finds the decisions of one mesh and placement that stay open to ZeRO in groups.
class GroupNotes {
public:
  // Adds to `search`; none if groups are not searched.
  GroupNotes(const SearchInputs &inputs, const ModelCost &model, const Contest &contest,
             GroupSearch *search)
      : inputs(inputs), model(model), contest(contest), search(search) {}

  // Returns true if the decisions may be made with ZeRO in groups, and groups are searched.
  bool mayHave(const Decisions &decisions) const;
  // Notes decisions unless a bound rules out ZeRO in groups. The bounds are `least` and `same`,
  // from the same decisions over all of dp if they were costed, and that of a step in which ZeRO
  // sends nothing.
  void note(const Decisions &decisions, double least, SameCut same = {});
  // Notes decisions that do not fit over all of dp. Groups need more memory, and their update is no
  // shorter; only the transfers of ZeRO-2 and 3 may take less.
  void noteUnfit(const Decisions &decisions);
  // Notes decisions that are too slow over all of dp. With ZeRO-1 groups are too slow as well,
  // provided that the bound is their own and not that of an equivalent schedule.
  void noteSlow(const Decisions &decisions);

private:
  const SearchInputs &inputs;
  const ModelCost &model;
  const Contest &contest;
  GroupSearch *search;
  std::map<Decisions, double> withoutGathers; // bounds of steps in which ZeRO sends nothing
};

} // namespace dtc
