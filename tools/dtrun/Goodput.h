// Where the time of a run went, by cause.
#pragma once

#include <array>
#include <cstddef>

namespace dtc::rt {

enum class Spent {
  Training,   // steps that counted
  StartUp,    // until the first step
  InputWait,  // steps that waited for data
  Checkpoint, // steps that waited for checkpoints, and going on from one
  Evaluation,
  Lost, // steps that changed nothing, or were taken back
  Other // gradients and norms for people, and what else lies between steps
};
inline constexpr size_t numSpent = 7;
const char *nameOf(Spent what);

// Times are seconds of one clock.
// Example: Goodput(0, ..); enter(Training, 4); enter(Evaluation, 8); shares(10)[StartUp] is 0.4.
class Goodput {
public:
  // The time before `now` went to start-up, and what follows does until enter().
  Goodput(double began, double now) : began(began), last(now), seconds{} {
    seconds[static_cast<size_t>(Spent::StartUp)] = now - began;
  }
  // What is done from `now` on. Returns what was done before.
  Spent enter(Spent what, double now);
  // Some of the time that went to `from` went to `to` in truth; never more than there is.
  void move(double some, Spent from, Spent to);
  // Of the time from the start to `now`; together 1.
  std::array<double, numSpent> shares(double now) const;

private:
  double began, last;
  Spent current = Spent::StartUp;
  std::array<double, numSpent> seconds;
};

// Of the clock that is meant above: since the machine began.
double clockSeconds();
// When this process began, of the same clock; now where the system does not say.
double processBegan();

} // namespace dtc::rt
