// Finds, at the first start, the best implementation of operations that have several: the same on
// all ranks, and saved for the next start.
#pragma once

#include "runtime/cuda/AgreeOnChoices.h"
#include "runtime/cuda/TuningFile.h"
#include "runtime/cuda/WorkTimer.h"
#include "runtime/device/Device.h"

namespace dtc::rt {

// The settings of tuning.
struct TuningOptions {
  // longest time that a rank measures; 0: the first implementation of each is used
  double seconds = 0;
  std::string program = {};            // hash of the executable
  std::vector<std::string> files = {}; // files for the choices, without the device's name
};

// The device on which tuning measures.
struct TuningContext {
  cu::Stream stream = nullptr; // number 0
  std::string device = {};     // "NVIDIA H200"
  int capability = 0;
  bool saves = false; // this rank saves the choices
  // Fill the memory that commands read with number-like data, and clear it again.
  std::function<Status()> fill = {}, clear = {};
};

// A kind of operation with several implementations: matrix products, attention.
class Tunable {
public:
  virtual ~Tunable() = default;

  // Looks at a command of the program, of any kind.
  virtual Status see(const Command &command) = 0;
  // Returns the hashes of the operations that it has seen, ascending.
  virtual std::vector<uint64_t> seen() const = 0;
  // Adds the version of its library to the key.
  virtual void addTo(TuningKey &key) = 0;
  // Chooses for `ours`, some of the operations seen: as in `kept`, else by measuring until
  // `deadline`.
  virtual Status choose(const std::vector<uint64_t> &ours, const TuningChoices &kept,
                        const TuningContext &context, WorkTimer::Clock::time_point deadline,
                        TuningChoices &choices) = 0;
  // Uses the choices in `all`, which has those of all ranks, or changes them if they are
  // impossible. Collective. `notice` gets messages for the user.
  virtual Status take(Control &control, const TuningContext &context, TuningChoices &all,
                      std::string &notice) = 0;
};

// Tunes all kinds of operations: looks at the commands, lets the lowest rank that has an operation
// choose for all that have it, applies the choices on all ranks, and saves them on one rank of each
// machine. Collective. Each kind has half of the remaining time, in order.
Status tuneAll(Control &control, const std::vector<Tunable *> &kinds, const cu::Driver &driver,
               const CommandSource &commands, const TuningOptions &options,
               const TuningContext &context, std::string &notice);

} // namespace dtc::rt
