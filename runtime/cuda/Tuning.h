// Finds out, at a first start, how best to do what a program has several ways for: for all ranks alike, and kept for the next
// start.
#pragma once

#include "runtime/cuda/AgreeOnChoices.h"
#include "runtime/cuda/TuningFile.h"
#include "runtime/cuda/WorkTimer.h"
#include "runtime/device/Device.h"

namespace dtc::rt {

// How it is chosen.
struct TuningOptions {
  double seconds = 0;       // longest that a rank measures; 0: the first way of each is taken
  std::string program = {}; // hash of the executable
  std::vector<std::string> files = {}; // where choices are kept, less the device's name
};

// Where it is measured.
struct TuningPlace {
  cu::Stream stream = nullptr; // number 0
  std::string device = {};     // "NVIDIA H200"
  int capability = 0;
  bool saves = false; // whether this rank keeps the choices
  // Makes what commands read something like numbers, and zeros again.
  std::function<Status()> fill = {}, clear = {};
};

// One kind of what has several ways: products, attention.
class Tunable {
public:
  virtual ~Tunable() = default;

  // Sees a command of the program, of whatever kind.
  virtual Status see(const Command &command) = 0;
  // Hashes of what it has seen, ascending.
  virtual std::vector<uint64_t> seen() const = 0;
  // The version of its library.
  virtual void addTo(TuningKey &key) = 0;
  // Chooses for `ours`, some of what it has seen: as in `kept`, else by measuring until `deadline`.
  virtual Status choose(const std::vector<uint64_t> &ours, const TuningChoices &kept,
                        const TuningPlace &place, WorkTimer::Clock::time_point deadline,
                        TuningChoices &choices) = 0;
  // Does it as `all` says, which has the choices of all ranks, or changes it where that cannot be. Collective. `notice` gets
  // what a user should know.
  virtual Status take(Control &control, const TuningPlace &place, TuningChoices &all,
                      std::string &notice) = 0;
};

// 1. See which commands there are. 2. The lowest rank that has one chooses for all that have it. 3. All take those choices, and
// a rank of each machine keeps them. Collective; the kinds that come first have half of the time that is left, each.
Status tuneAll(Control &control, const std::vector<Tunable *> &kinds, const cu::Driver &driver,
               const CommandSource &commands, const TuningOptions &options,
               const TuningPlace &place, std::string &notice);

} // namespace dtc::rt
