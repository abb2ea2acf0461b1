#include "compiler/show/runs/RunEvents.h"

#include "compiler/show/explain/Figures.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace dtc {
namespace {

size_t causeOf(llvm::StringRef key) {
  auto *found =
      llvm::find_if(kSpentCauses, [&](const SpentCause &each) { return each.key == key; });
  assert(found != kSpentCauses.end() && "the cause is one of kSpentCauses");
  return static_cast<size_t>(found - kSpentCauses.begin());
}

// Compares each step with the one before.
class EventFinder {
public:
  std::vector<RunEvent> run(const RankSteps &log) {
    bool hasLoss =
        llvm::any_of(log.steps, [](const LoggedStep &each) { return !std::isnan(each.loss); });
    const LoggedStep *before = nullptr;
    for (const LoggedStep &step : log.steps) {
      if (before)
        compare(*before, step);
      else if (step.step > 1)
        add(step, "resumed", "the log begins after step " + std::to_string(step.step - 1));
      double skipped = counted(before, step, &LoggedStep::skippedSteps);
      if (skipped > 0)
        extend(step, "skipped", "gradients were not finite",
               std::isnan(step.lossScale) ? ""
                                          : "; loss scale " + figures::number(step.lossScale, 6));
      if (hasLoss && std::isnan(step.loss) && skipped == 0)
        extend(step, "loss not finite", "the loss of the step is infinite or no number");
      if (!std::isnan(step.straggler))
        extend(step, "straggler",
               "rank " + figures::number(step.straggler, 9) + " computes longer than the others",
               costText(step));
      before = &step;
    }
    return std::move(events);
  }

private:
  // Returns by how much a count grew with this step.
  static double counted(const LoggedStep *before, const LoggedStep &step,
                        double LoggedStep::*count) {
    double grown = step.*count - (before ? before->*count : 0);
    return grown > 0 ? grown : 0;
  }

  void add(const LoggedStep &step, const std::string &what, const std::string &detail) {
    events.push_back({step.step, step.step, step.elapsed, what, detail});
  }

  // Returns the largest cost of the straggler since it became one.
  std::string costText(const LoggedStep &step) {
    bool isSame = stragglerSince == step.straggler && stragglerAt + 1 == step.step;
    stragglerCost = isSame ? std::max(stragglerCost, step.stragglerCost) : step.stragglerCost;
    stragglerSince = step.straggler;
    stragglerAt = step.step;
    return std::isnan(stragglerCost)
               ? ""
               : ", at most " + figures::percent(stragglerCost, 1) + " of a step";
  }

  // Adds an event, or lengthens the one of the step before if it begins with the same detail. The
  // end of the detail is that of the last step.
  void extend(const LoggedStep &step, const std::string &what, const std::string &detail,
              const std::string &end = "") {
    auto same = latest.find(what);
    if (same == latest.end() || events[same->second].last + 1 != step.step ||
        !llvm::StringRef(events[same->second].detail).starts_with(detail)) {
      latest[what] = events.size();
      add(step, what, detail + end);
      return;
    }
    RunEvent &event = events[same->second];
    event.last = step.step;
    event.elapsed = step.elapsed;
    event.detail = detail + end;
  }

  // Finds new starts of the job, and returns to checkpoints.
  void compare(const LoggedStep &before, const LoggedStep &step) {
    // Shares have six digits in the log.
    double least = std::max(1e-3, 3e-6 * step.elapsed);
    auto grown = [&](llvm::StringRef cause) {
      return step.spent[causeOf(cause)] - before.spent[causeOf(cause)];
    };
    double restarting = grown("restarting"), again = grown("lost_to_failures");
    if (restarting > least)
      add(step, "restarted",
          "ranks failed and were started again in " + figures::seconds(restarting) +
              (again > least ? "; " + figures::seconds(again) + " of steps ran again" : ""));
    else if (grown("start_up") > least)
      add(step, "resumed",
          "another start went on after step " + std::to_string(step.step - 1) + ", in " +
              figures::seconds(grown("start_up")));
    double rollBacks = counted(&before, step, &LoggedStep::rollBacks);
    if (rollBacks > 0)
      add(step, "loss spike",
          "went back to the checkpoint of step " + std::to_string(step.step - 1) + "; " +
              figures::number(counted(&before, step, &LoggedStep::skippedBatches), 9) +
              " batches of data were left out");
    if (step.isRepeated && restarting <= least && rollBacks == 0)
      add(step, "went back", "the log has this step and later ones twice; the last ones count");
  }

  std::vector<RunEvent> events;
  std::map<std::string, size_t> latest; // the last event of each kind that extend() added
  double stragglerSince = kUnknown, stragglerCost = kUnknown; // a rank; share of a step
  uint64_t stragglerAt = 0;                                   // its last step
};

} // namespace

std::vector<RunEvent> eventsOf(const RunLog &run) {
  std::vector<RunEvent> events = EventFinder().run(run.ranks.front());
  for (const FlightNote &note : run.flights)
    events.push_back({0, 0, kUnknown, "failure",
                      "flight record of rank " + std::to_string(note.rank) + ": " + note.reason +
                          (note.position.empty() ? "" : "; " + note.position)});
  return events;
}

} // namespace dtc
