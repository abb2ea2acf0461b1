// Contests of candidates.
#include "compiler/search/planner/Contest.h"

#include "compiler/search/planner/Simplicity.h"

#include <algorithm>

namespace dtc {

void Contest::simulate(Candidate &candidate) {
  if (candidate.step.isRefined)
    return;
  work.addSchedule(candidate.decisions);
  refineBySchedule(candidate.step, candidate.decisions);
}

FastestContest::FastestContest(const SearchOptions &options, SearchWork &work)
    : Contest(options, work, options.fasterThan) {}

void FastestContest::enter(Candidate candidate) {
  if (!isBeaten(candidate.step.leastSeconds())) {
    simulate(candidate);
    incumbent = std::min(incumbent, candidate.score());
    fastest = std::min(fastest, candidate.step.stepSeconds);
  }
  candidates.push_back(std::move(candidate));
  if (candidates.size() >= 4 * options.keep)
    shrink();
}

void FastestContest::shrink() {
  sortByScore(candidates);
  if (candidates.size() > options.keep)
    candidates.resize(options.keep);
}

std::vector<Candidate> FastestContest::finish() {
  shrink();
  size_t simulated = std::min(options.refined, candidates.size());
  for (Candidate &candidate : llvm::MutableArrayRef<Candidate>(candidates).take_front(simulated))
    if (!candidate.step.isRefined)
      refineBySchedule(candidate.step, candidate.decisions);
  sortByScore(candidates);
  return std::move(candidates);
}

TieContest::TieContest(const SearchOptions &options, SearchWork &work,
                       std::vector<Candidate> ranked)
    : Contest(options, work, ranked.front().score() * (1 + options.tie)),
      mostComplex(std::numeric_limits<int>::max()) {
  candidates = std::move(ranked);
  for (Candidate &candidate : candidates) {
    known.insert(candidate.decisions);
    int complexity = complexityOf(decisionsOf(candidate));
    if (complexity > mostComplex || candidate.step.leastSeconds() > incumbent)
      continue;
    simulate(candidate);
    if (candidate.score() <= incumbent)
      mostComplex = complexity;
  }
}

bool TieContest::mayTie(const Decisions &mesh) const {
  return leastComplexityOf(mesh) <= mostComplex;
}

bool TieContest::leavesOut(const Decisions &d) const { return !mayTie(d) || known.count(d); }

void TieContest::enter(Candidate candidate) {
  if (candidate.step.leastSeconds() > incumbent)
    return;
  simulate(candidate);
  if (candidate.score() > incumbent)
    return;
  mostComplex = std::min(mostComplex, complexityOf(decisionsOf(candidate)));
  candidates.push_back(std::move(candidate));
}

std::vector<Candidate> TieContest::finish() {
  sortByScore(candidates);
  return std::move(candidates);
}

} // namespace dtc
