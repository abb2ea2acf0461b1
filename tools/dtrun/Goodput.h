// Counts the time of a job by cause, over all its starts.
// Goodput is the share of a job's time that went to training that the job has kept: steps that were
// not skipped, not taken back, and did not run again after a failure. All other time has another
// cause, and the shares add up to 1. (ML Goodput Measurement, the Python package
// ml-goodput-measurement, which calls other causes badput, and NVIDIA's resiliency extension count
// in the same way.)
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace dtc::rt {

// A cause of time spent.
enum class Spent {
  Training,   // steps that counted
  StartUp,    // until the first step, if nothing had failed before
  InputWait,  // steps that waited for data
  Checkpoint, // steps that waited for checkpoints, and reading one to resume
  Evaluation,
  Lost,           // steps that changed nothing, or were taken back
  LostToFailures, // steps that run again because the job failed, and the step in which it failed
  Restarting,     // from a failure until the first step of the next start
  Other           // gradients and norms for people, and other work between steps
};
inline constexpr size_t numSpent = 9;
// Returns the name of the cause that checkpoints and metrics use.
const char *nameOf(Spent what);

using SpentSeconds = std::array<double, numSpent>; // seconds, indexed by Spent

// Counts the seconds of a process by cause. All times are seconds of one clock.
// Example: Goodput(0, ..); enter(Training, 4); enter(Evaluation, 8); shares(10)[StartUp] is 0.4.
class Goodput {
public:
  // Counts the time from `began` to `now`, and the time until the first enter(), as start-up.
  Goodput(double began, double now) : last(now), spent{} {
    spent[static_cast<size_t>(Spent::StartUp)] = now - began;
  }
  // Counts the time from `now` on as `what`. Returns the cause before.
  Spent enter(Spent what, double now);
  // Moves some of the time that was counted as `from` to `to`, at most all of it.
  void move(double some, Spent from, Spent to);
  // The run went back to a checkpoint, at which the job had spent `kept`. Training since then is
  // lost. Time that was spent waiting since then keeps its causes.
  void takeBack(const SpentSeconds &kept, double now);
  // The process resumes from a checkpoint, at which the job had spent `earlier`.
  void addEarlier(const SpentSeconds &earlier);
  // The process is a new start of a job. The job had spent `job` when it failed, `ago` seconds
  // before `now`. It resumes from a checkpoint, for which training took `kept` seconds; the rest of
  // the training runs again.
  void startAgain(const SpentSeconds &job, double kept, double ago, double now);

  // Returns the seconds of the job until `now`, by cause.
  SpentSeconds seconds(double now) const;
  double elapsed(double now) const; // sum over all causes
  // Returns the shares of the job's time until `now`. They add up to 1.
  SpentSeconds shares(double now) const;

  // Takes over the counts of another rank, and its cause for the time from `now` on.
  void adopt(const SpentSeconds &others, Spent what, double now);
  Spent doing() const { return current; }

private:
  double last;
  Spent current = Spent::StartUp;
  SpentSeconds spent;
};

// The time that a job had spent at a moment of launchClock(). `seconds` is empty if no start has
// reached its first step.
struct JobSpent {
  double until = 0;
  std::optional<SpentSeconds> seconds;
};
// Returns one line, which a launcher passes to the ranks that it starts: "5338.250000 12.500000
// ...".
std::string asText(const JobSpent &job);
// Reads such a line. Returns nothing if `words` is not one.
std::optional<JobSpent> jobSpentOf(std::string_view words);
// Returns the job's time after a start that failed at `failed`. `note` is the last line of its rank
// 0, or empty if it reached no step: its time then counts as restarting, like the time before it.
JobSpent afterFailure(const JobSpent &before, std::string_view note, double failed);

// Returns the time of the clock that Goodput needs: seconds since the machine started.
double clockSeconds();
// Returns the time at which this process began, by the same clock, or now if the system does not
// tell.
double processBegan();

} // namespace dtc::rt
