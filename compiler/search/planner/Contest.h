// Contests of candidates: the seconds to beat, and the candidates that beat them. Internal to this
// folder.
#pragma once

#include "compiler/search/planner/Candidate.h"
#include "compiler/search/planner/SearchWork.h"

#include <limits>
#include <set>
#include <vector>

namespace dtc {

// A contest that candidates enter one after another.
class Contest {
public:
  virtual ~Contest() = default;

  // Returns the seconds that a candidate has to beat.
  double toBeat() const { return incumbent; }
  // Returns true if a step of `bound` seconds or more need not be costed.
  bool isBeaten(double bound) const { return options.prune && bound >= incumbent; }
  // Returns true if it leaves out some decisions, whatever their seconds.
  virtual bool isSelective() const = 0;
  // Returns true if these decisions are left out.
  virtual bool leavesOut(const Decisions &decisions) const = 0;
  // Ranks a candidate.
  virtual void enter(Candidate candidate) = 0;

protected:
  Contest(const SearchOptions &options, SearchWork &work, double incumbent)
      : options(options), work(work), incumbent(incumbent) {}
  // Replaces the closed form of the pipeline's seconds by those of its schedule.
  void simulate(Candidate &candidate);

  const SearchOptions &options;
  SearchWork &work;
  double incumbent;                  // seconds
  std::vector<Candidate> candidates; // that entered
};

// A contest for the least score.
class FastestContest : public Contest {
public:
  FastestContest(const SearchOptions &options, SearchWork &work);

  bool isSelective() const override { return false; }
  bool leavesOut(const Decisions &) const override { return false; }
  // The pipeline schedule is simulated unless the bound rules the candidate out, since the closed
  // form may lie above or below the simulated time.
  void enter(Candidate candidate) override;
  // Notes steps of `bound` seconds or more that were not costed.
  void leaveOut(double bound) { leastLeft = std::min(leastLeft, bound); }
  // Returns true if no candidate has entered.
  bool isEmpty() const { return candidates.empty(); }
  // Returns true if a step that was left out may beat all that entered.
  bool isOpen() const { return leastLeft < incumbent; }
  // Returns the seconds that no step of the space can beat.
  double lowerBound() const { return std::min({incumbent, leastLeft, fastest}); }
  // Ends the contest. Returns its best candidates by ascending score, the first ones simulated.
  std::vector<Candidate> finish();

private:
  void shrink();

  double fastest = std::numeric_limits<double>::infinity(); // seconds of the fastest step
  double leastLeft = std::numeric_limits<double>::infinity();
};

// A contest of candidates that tie with the least score and have no more mechanisms than the
// simplest that does.
class TieContest : public Contest {
public:
  // Begins with the candidates of a search, by ascending score. Candidates among them already get
  // their pipeline schedule simulated if that may make them tie.
  TieContest(const SearchOptions &options, SearchWork &work, std::vector<Candidate> ranked);

  bool isSelective() const override { return true; }
  // Returns true if some details of a mesh may be simple enough.
  bool mayTie(const Decisions &mesh) const;
  bool leavesOut(const Decisions &decisions) const override;
  void enter(Candidate candidate) override;
  // Ends the contest. Returns the candidates of the search and those that tie, by ascending score.
  std::vector<Candidate> finish();

private:
  int mostComplex;           // points of the simplest so far
  std::set<Decisions> known; // of the search
};

} // namespace dtc
