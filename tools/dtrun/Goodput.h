// Where the time of a job went, by cause, over all its starts.
//
// Goodput is the share of a job's time that went to training that it has kept: steps that neither
// were skipped, nor taken back, nor ran again after a failure. All other time has another cause, and
// shares add up to 1. (So count ML Goodput Measurement, the Python package ml-goodput-measurement,
// whose other causes are called badput, and the goodput of NVIDIA's resiliency extension.)
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace dtc::rt {

enum class Spent {
  Training,   // steps that counted
  StartUp,    // until the first step, where nothing had failed before
  InputWait,  // steps that waited for data
  Checkpoint, // steps that waited for checkpoints, and going on from one
  Evaluation,
  Lost,           // steps that changed nothing, or were taken back
  LostToFailures, // steps that ran, and run again as the job failed; and the one that it failed in
  Restarting,     // from a failure until the next start's first step
  Other           // gradients and norms for people, and what else lies between steps
};
inline constexpr size_t numSpent = 9;
const char *nameOf(Spent what);

using SpentSeconds = std::array<double, numSpent>; // by Spent

// Times are seconds of one clock.
// Example: Goodput(0, ..); enter(Training, 4); enter(Evaluation, 8); shares(10)[StartUp] is 0.4.
class Goodput {
public:
  // The time from `began` to `now` went to start-up, and what follows does until enter().
  Goodput(double began, double now) : last(now), spent{} {
    spent[static_cast<size_t>(Spent::StartUp)] = now - began;
  }
  // What is done from `now` on. Returns what was done before.
  Spent enter(Spent what, double now);
  // Some of the time that went to `from` went to `to` in truth; never more than there is.
  void move(double some, Spent from, Spent to);
  // The run stands again where a checkpoint has `kept` of the job: what was trained since is lost. What it
  // waited for meanwhile has causes of its own.
  void takeBack(const SpentSeconds &kept, double now);
  // The process goes on from a checkpoint that has `earlier` of the job.
  void addEarlier(const SpentSeconds &earlier);
  // The process is a new start of a job that had spent `job` when it failed, `ago` seconds before
  // `now`, and goes on with what a checkpoint has, of which training took `kept` seconds. The rest of the
  // training runs again.
  void startAgain(const SpentSeconds &job, double kept, double ago, double now);

  // Of the job until `now`.
  SpentSeconds seconds(double now) const;
  double elapsed(double now) const; // all of them
  // And as shares of all of it; together 1.
  SpentSeconds shares(double now) const;

  // Takes over what another rank counts; what is done now goes on.
  void adopt(const SpentSeconds &others, Spent what, double now);
  Spent doing() const { return current; }

private:
  double last;
  Spent current = Spent::StartUp;
  SpentSeconds spent;
};

// What a job had spent at a moment, of launchClock(); nothing known of causes where no start has
// come to its first step.
struct JobSpent {
  double until = 0;
  std::optional<SpentSeconds> seconds;
};
// One line, for a launcher and the ranks that it starts: "5338.250000 12.500000 ...".
std::string asText(const JobSpent &job);
// Nothing where `words` are no such line.
std::optional<JobSpent> jobSpentOf(std::string_view words);
// After a start that failed at `failed`, whose rank 0 said `note` last, or nothing if it came to no
// step: then its time is that of starting again, as the time before it.
JobSpent afterFailure(const JobSpent &before, std::string_view note, double failed);

// Of the clock that Goodput is given: since the machine began.
double clockSeconds();
// When this process began, of the same clock; now where the system does not say.
double processBegan();

} // namespace dtc::rt
