// Searches ZeRO within groups of ranks.
#include "compiler/search/planner/GroupSearch.h"

#include "compiler/price/estimate/StepBounds.h"
#include "compiler/search/planner/ZeroGroups.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <tuple>

namespace dtc {

bool GroupNotes::mayHave(const Decisions &d) const {
  return search && mayHaveGroups(d, inputs.limits, inputs.pins);
}

void GroupNotes::note(const Decisions &d, double least, SameCut same) {
  if (!mayHave(d))
    return;
  if (inputs.options.prune && !contest.isBeaten(least)) {
    Decisions without = d;
    without.zero = 1; // The bound of ZeRO-1 has no ZeRO traffic.
    auto [bound, isNew] = withoutGathers.try_emplace(without, 0.0);
    if (isNew)
      bound->second = lowerBoundSeconds(model, without, inputs.request);
    least = std::max(least, bound->second);
  }
  if (!contest.isBeaten(least))
    search->add({least, d, same});
}

void GroupNotes::noteUnfit(const Decisions &d) {
  if (d.zero > 1)
    note(d, 0);
}

void GroupNotes::noteSlow(const Decisions &d) {
  if (mayHave(d))
    note(d, d.zero == 1 ? lowerBoundSeconds(model, d, inputs.request) : 0);
}

void GroupSearch::run(const CandidateCoster &coster, FastestContest &contest) {
  llvm::erase_if(open, [&](const OpenGroups &groups) {
    bool isClosed = contest.isBeaten(groups.least);
    if (isClosed)
      contest.leaveOut(groups.least);
    return isClosed;
  });
  llvm::sort(open, [](const OpenGroups &a, const OpenGroups &b) {
    return std::tie(a.least, a.overAll) < std::tie(b.least, b.overAll);
  });
  for (const OpenGroups &groups : open) {
    if (contest.isBeaten(groups.least) || (inputs.options.prune && work.isSpent())) {
      contest.leaveOut(groups.least);
      break;
    }
    visit(groups, coster, contest);
  }
}

// Costs all groups of the same decisions.
void GroupSearch::visit(const OpenGroups &groups, const CandidateCoster &coster,
                        FastestContest &contest) {
  const ModelCost &model = costs.costOf(groups.overAll);
  for (const Decisions &d : enumerateGroups(groups.overAll, inputs.limits, inputs.pins)) {
    work.add(1);
    double timesMore = static_cast<double>(d.dp) / static_cast<double>(d.zeroRanks()) - 1;
    if (timesMore <= groups.same.mostTimesMore && contest.isBeaten(groups.same.least))
      continue;
    bool isOpen =
        !inputs.options.prune ||
        (!contest.isBeaten(lowerBoundSeconds(model, d, inputs.request)) && coster.mayFit(model, d));
    if (!isOpen || !coster.mayFitFaster(model, d, contest))
      continue;
    if (Costed costed = coster.cost(model, d); costed.counts)
      coster.enter(std::move(costed.candidate), contest);
  }
}

} // namespace dtc
