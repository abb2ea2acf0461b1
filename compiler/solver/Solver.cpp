// Rounds of bounding and searching, side by side.
#include "compiler/solver/Solver.h"

#include "compiler/solver/Bound.h"
#include "compiler/solver/Presolve.h"
#include "compiler/solver/Search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <thread>

namespace dtc::solver {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Table entries read in one job of a round: a few hundredths of a second.
constexpr int64_t kJobWork = 30'000'000;
// The challenger has this many rounds to overtake.
constexpr int kTrialRounds = 40;

double secondsNow() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// One round has two jobs that share nothing and may run side by side:
//   1. the bound; once it stands still, the champion, the best search so far, goes on;
//   2. the challenger, started from the relaxed problem at the newest prices of memory; for every
//   other trial the champion goes
//      on instead, while the bound has job 1.
// Between rounds the challenger takes the champion's place where it is better.
class Rounds {
public:
  Rounds(const Network &network, const SolveOptions &options, double deadline)
      : deadline(deadline), bound(network), random(options.seed),
        champion(std::make_unique<Search>(network, options.seed)),
        challenger(std::make_unique<Search>(network, options.seed + 0x9e3779b97f4a7c15ULL)),
        limit(options.rounds) {
    int machine = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    threads = std::min(options.threads > 0 ? options.threads : machine, 2);
  }

  void run() {
    for (; done < limit && !outOfTime() && !proven(); ++done) {
      bool bounding = stalled < kStalledRounds;
      bool trial =
          done > 0 && (!bounding || !champion->feasible() || (done / kTrialRounds) % 2 == 0);
      double target = champion->feasible() ? champion->cost() : kInfinity, before = bound.best();
      runBoth([&] { bounding ? boundJob(target) : champion->improve(kJobWork, timeUp); },
              [&] { trial ? trialJob() : champion->improve(kJobWork, timeUp); });
      stalled = bound.best() > before + 1e-6 * std::abs(before) ? 0 : stalled + 1;
      if (trial)
        judge();
    }
  }

  const Search &best() const { return *champion; }
  double lowerBound() const { return bound.best(); }
  int64_t roundsDone() const { return done; }

private:
  static constexpr int kStalledRounds = 60;

  bool outOfTime() const { return secondsNow() >= deadline; }
  bool proven() const { return champion->feasible() && champion->cost() - bound.best() < 1 - 1e-3; }

  void boundJob(double target) {
    for (int64_t end = bound.work() + kJobWork; bound.work() < end && !outOfTime();)
      bound.iterate(target);
  }

  // Prices a little off the best ones lead to other assignments.
  void trialJob() {
    if (trialRounds++ == 0) {
      std::vector<double> prices = bound.prices();
      double factor = trials++ == 0 ? 1 : 0.95 + 0.001 * static_cast<double>(random() % 150);
      for (double &price : prices)
        price *= factor;
      challenger->start(bound.decoded());
      challenger->relax(prices, kJobWork, timeUp);
    }
    challenger->improve(kJobWork, timeUp);
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
    if (threads < 2) {
      first();
      second();
      return;
    }
    std::thread other(second);
    first();
    other.join();
  }

  double deadline;
  Bound bound;
  std::mt19937_64 random;
  std::unique_ptr<Search> champion, challenger;
  std::function<bool()> timeUp = [this] { return outOfTime(); };
  int64_t limit, done = 0;
  int threads = 1, stalled = 0, trialRounds = 0, trials = 0;
};

int64_t roundUp(double bound) {
  // Rounding errors of the bound stay far below a part in 10^10.
  double safe = bound - 1e-10 * std::abs(bound) - 1e-6;
  return std::max<int64_t>(0, static_cast<int64_t>(std::ceil(safe)));
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
    result.lowerBound = std::min(result.lowerBound, result.cost);
  result.rounds = rounds.roundsDone();
  result.seconds = secondsNow() - start;
  return result;
}

} // namespace dtc::solver
