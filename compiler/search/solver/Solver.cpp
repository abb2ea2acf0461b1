// Runs rounds of bounding and searching in parallel.
#include "compiler/search/solver/Solver.h"

#include "compiler/search/solver/Bound.h"
#include "compiler/search/solver/Branch.h"
#include "compiler/search/solver/Presolve.h"
#include "compiler/search/solver/Reduction.h"
#include "compiler/search/solver/Search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <thread>

namespace dtc::solver {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Rounds that the challenger has to overtake the champion.
constexpr int kTrialRounds = 40;
// Nodes times table entries up to which branching pays: probing reads all tables for each node.
constexpr double kMostToBranch = 3e8;
// The first round has work for this many iterations of the bound. Each further round has twice as
// much, up to SolveOptions::roundWork, so that small problems end early.
constexpr int64_t kFirstIterations = 8;
// Rounds of less work do not justify a thread.
constexpr int64_t kWorthAThread = 2'000'000;
// On problems small enough to branch, the bound has stopped if the last half of its work closed
// less than this share of the gap. This does not apply to its first iterations with a wide gap,
// because parts are as slow as the whole until values are removed.
constexpr double kWorthBounding = 0.05, kWide = 0.03;
constexpr int64_t kFewIterations = 150;

double secondsNow() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// One round has two jobs that share nothing and may run in parallel:
//   1. The bound. When it has stopped, the champion, the best search so far, continues instead.
//   2. The challenger, started from the relaxed problem at the newest prices of memory. For every
//   other trial the champion continues instead, while the bound has job 1.
// Between rounds the challenger replaces the champion if it is better. On small problems, branch
// and bound replaces the bound when that has stopped, with two parts per round.
class Rounds {
public:
  Rounds(const Network &network, const SolveOptions &options, double deadline)
      : network(network), deadline(deadline), bound(network), seed(options.seed),
        random(options.seed), champion(std::make_unique<Search>(network, options.seed)),
        challenger(std::make_unique<Search>(network, options.seed + 0x9e3779b97f4a7c15ULL)),
        limit(options.rounds), mostWork(options.roundWork) {
    double entries = tableEntries();
    branches = entries * network.numNodes() <= kMostToBranch;
    iterationWork = static_cast<int64_t>(2 * entries) + 64 + network.numNodes() +
                    static_cast<int64_t>(network.usages.size());
    jobWork = std::min(mostWork, kFirstIterations * iterationWork);
    int machine = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    threads = std::min(options.threads > 0 ? options.threads : machine, 2);
  }

  void run() {
    for (; done < limit && !outOfTime() && !proven(); ++done) {
      bool bounding = !standsStill;
      if (!bounding && branches) {
        if (!branchRound())
          break;
        continue;
      }
      bool trial =
          done > 0 && (!bounding || !champion->feasible() || (done / kTrialRounds) % 2 == 0);
      double target = champion->feasible() ? champion->cost() : kInfinity, before = bound.best();
      if (trial && trialRounds == 0) { // the bound moves on while the trial starts from here
        trialPrices = bound.prices();
        trialStart = bound.decoded();
      }
      runBoth([&] { bounding ? boundJob(target) : champion->improve(jobWork, timeUp); },
              [&] { trial ? trialJob() : champion->improve(jobWork, timeUp); });
      if (trial)
        judge();
      if (bounding) {
        tryDecoded();
        watchBound(before);
      }
      jobWork = std::min(2 * jobWork, mostWork);
    }
  }

  const Search &best() const { return *champion; }
  double lowerBound() const { return branch ? branch->bound() : bound.best(); }
  // Returns true if no assignment is better than the best one.
  bool exhausted() const { return isExhausted; }
  int64_t roundsDone() const { return done; }

private:
  static constexpr int kStalledRounds = 60;

  bool outOfTime() const { return secondsNow() >= deadline; }
  bool proven() const { return champion->feasible() && champion->cost() - lowerBound() < 1 - 1e-3; }

  void boundJob(double target) {
    for (int64_t end = bound.work() + jobWork;
         bound.work() < end && !reaches(bound.best(), target) && !outOfTime();)
      bound.iterate(target);
  }

  // If the relaxation is tight, the decoded assignment is an optimum.
  void tryDecoded() {
    double cost = champion->costOf(bound.decoded());
    if (champion->feasible() ? cost >= champion->cost() : cost >= network.forbidden)
      return;
    UsageLedger ledger(network);
    ledger.assign(bound.decoded());
    if (ledger.fits())
      champion->start(bound.decoded());
  }

  void watchBound(double before) {
    stalled = bound.best() > before + 1e-6 * std::abs(before) ? 0 : stalled + 1;
    standsStill = stalled >= kStalledRounds;
    if (!branches || !champion->feasible() || bound.work() < 2 * workThen)
      return;
    double gap = champion->cost() - bound.best();
    bool early = gap > kWide * bound.best() && bound.work() < kFewIterations * iterationWork;
    standsStill |= workThen > 0 && !early && bound.best() - boundThen < kWorthBounding * gap;
    boundThen = bound.best();
    workThen = bound.work();
  }

  // Prices slightly different from the best ones lead to other assignments.
  void trialJob() {
    if (trialRounds++ == 0) {
      double factor = trials++ == 0 ? 1 : 0.95 + 0.001 * static_cast<double>(random() % 150);
      for (double &price : trialPrices)
        price *= factor;
      challenger->start(trialStart);
      challenger->relax(trialPrices, jobWork, timeUp);
    }
    challenger->improve(jobWork, timeUp);
  }

  double tableEntries() const {
    double entries = 0;
    for (int32_t i = 0; i < network.numNodes(); ++i)
      for (const Network::Neighbour &neighbour : network.neighboursOf(i))
        entries += static_cast<double>(network.values(i)) * network.values(neighbour.node) / 2;
    return entries;
  }

  // Returns false if nothing is left that could be better.
  bool branchRound() {
    if (!branch)
      branch.emplace(network, bound.best(), bound.prices(), seed);
    std::vector<Part> parts = branch->take(2, champion->feasible() ? champion->cost() : kInfinity);
    if (parts.empty()) {
      isExhausted = true;
      return false;
    }
    std::vector<PartResult> results(parts.size());
    auto look = [&](size_t p) {
      results[p] = explore(network, parts[p], branch->target(), timeUp);
    };
    runBoth([&] { look(0); },
            [&] { parts.size() > 1 ? look(1) : champion->improve(jobWork, timeUp); });
    for (PartResult &result : results) {
      if (result.found && (!champion->feasible() || result.cost < champion->cost())) {
        champion->start(std::move(result.assignment));
        champion->improve(jobWork, timeUp);
      }
      branch->give(std::move(result));
    }
    return true;
  }

  void judge() {
    bool better = challenger->feasible() != champion->feasible()
                      ? challenger->feasible()
                      : challenger->cost() < champion->cost();
    if (better) {
      std::swap(champion, challenger);
      trialRounds = 0;
    } else if (trialRounds >= kTrialRounds) {
      trialRounds = 0;
    }
  }

  void runBoth(const std::function<void()> &first, const std::function<void()> &second) const {
    if (threads < 2 || jobWork < kWorthAThread) {
      first();
      second();
      return;
    }
    std::thread other(second);
    first();
    other.join();
  }

  const Network &network;
  double deadline;
  Bound bound;
  std::optional<Branch> branch;
  std::vector<double> trialPrices;
  std::vector<int32_t> trialStart;
  uint64_t seed;
  std::mt19937_64 random;
  std::unique_ptr<Search> champion, challenger;
  std::function<bool()> timeUp = [this] { return outOfTime(); };
  int64_t limit, mostWork, jobWork = 0, iterationWork = 0, done = 0;
  int threads = 1, stalled = 0, trialRounds = 0, trials = 0;
  double boundThen = 0; // when work was last doubled
  int64_t workThen = 0;
  bool branches = false, standsStill = false, isExhausted = false;
};

int64_t roundUp(double bound) {
  return std::max<int64_t>(0, static_cast<int64_t>(std::ceil(safely(bound))));
}

} // namespace

double SolveResult::gap() const {
  if (!feasible())
    return kInfinity;
  if (cost == lowerBound)
    return 0;
  return static_cast<double>(cost - lowerBound) /
         static_cast<double>(std::max<int64_t>(lowerBound, 1));
}

SolveResult solve(const Problem &problem, const SolveOptions &options) {
  double start = secondsNow();
  SolveResult result;
  Reduction reduction = presolve(problem);
  if (reduction.infeasible) {
    result.lowerBound = kInfiniteCost;
    result.seconds = secondsNow() - start;
    return result;
  }
  Rounds rounds(reduction.network, options, start + options.seconds);
  rounds.run();
  result.choice = reduction.lift(rounds.best().assignment());
  Evaluation found = evaluate(problem, result.choice);
  result.cost = found.cost;
  result.usageOk = found.usageOk;
  result.lowerBound = roundUp(rounds.lowerBound());
  if (result.feasible())
    result.lowerBound = rounds.exhausted() ? result.cost : std::min(result.lowerBound, result.cost);
  result.rounds = rounds.roundsDone();
  result.seconds = secondsNow() - start;
  return result;
}

} // namespace dtc::solver
