// Plays the streams of all ranks against each other: what meets means the same, and all of it ends.
#pragma once

#include "compiler/verify/Steps.h"

#include "runtime/format/RankClasses.h"

#include <deque>
#include <map>
#include <optional>

namespace dtc {

// Of every stream at least this many instructions lie between host and device, so that the host waits
// only where a stream is that far behind; dtrun's rings have twice as many (runtime/device/WorkRing.h).
inline constexpr uint32_t kRingSlots = 512;

class Meetings {
public:
  // `steps`: of every program, in one entry. `ringSlots`: for tests of small ones.
  Meetings(const format::Manifest &manifest, const std::vector<Steps> &steps,
           uint32_t ringSlots = kRingSlots)
      : manifest(manifest), steps(steps), ringSlots(ringSlots), ranks(manifest) {}

  std::optional<Fault> prove();
  size_t numClasses() const { return ranks.classes().size(); }

private:
  // Where a stream may have to wait.
  struct Stop {
    enum Kind : uint8_t { Record, Wait, Meet } kind;
    uint32_t run, step;       // which run of the entry, and where in its task
    uint32_t place, sequence; // among all that the host enqueues, and on the stream
    uint32_t event = 0, ordinal = 0, channel = 0;
  };
  // What alike runs of a task have, counted from the first instruction of each.
  struct Shape {
    struct Place {
      uint32_t step, place, sequence;
    };
    std::vector<Place> stops;
    std::vector<std::vector<uint32_t>> places; // per stream: of its instructions
    uint32_t count = 0;
  };
  // Where a run begins: among all that the host enqueues, and on each stream.
  struct Start {
    const Shape *shape;
    uint32_t place;
    std::vector<uint32_t> sequences;
  };
  struct Program {
    std::vector<std::vector<Stop>> streams;
    std::map<std::pair<uint32_t, bool>, Shape> shapes; // by task, and whether it is its last run
    std::vector<Start> starts;                         // of runs, and of what would follow them
    std::vector<format::Channel> channels;
    std::vector<std::vector<std::pair<uint32_t, uint32_t>>> uses; // of channels: run, step
  };
  struct Partner {
    uint32_t index, channel;
  };
  // How far one rank of a class is.
  struct State {
    std::vector<size_t> position;
    std::vector<uint32_t> recorded, arrived;
    std::vector<std::vector<Partner>> partners; // per channel
    uint32_t enqueued = 0;                      // at least; it only grows
  };

  std::optional<Fault> collect(uint32_t program);
  const Shape &shapeOf(uint32_t program, uint32_t run, bool isLast);
  std::optional<Fault> addStop(uint32_t program, Stop stop, std::vector<uint32_t> &records);
  std::optional<Fault> compare(uint32_t program, uint32_t other, const format::Channel &channel);
  std::optional<Fault> meet();
  std::optional<Fault> play();
  bool passes(uint32_t index, const Stop &stop);
  uint32_t placeOf(uint32_t program, size_t stream, uint32_t sequence) const;
  uint32_t enqueued(uint32_t index) const;
  const Stop *next(uint32_t index, size_t stream) const;
  std::optional<Fault> explain() const;

  const format::Instruction &instructionOf(uint32_t program, uint32_t run, uint32_t step) const;
  const format::Run &runOf(uint32_t program, uint32_t run) const {
    return *steps[program].entry.order()->Get(run);
  }
  Fault fault(uint32_t program, uint32_t run, uint32_t step, std::string message,
              std::string note = "") const {
    const format::Run &of = runOf(program, run);
    return steps[program].fault(of, steps[program].executed(of.task())[step], "meetings",
                                std::move(message), std::move(note));
  }
  std::string describe(uint32_t program, uint32_t run, uint32_t step) const {
    const format::Run &of = runOf(program, run);
    return steps[program].describe(of, steps[program].executed(of.task())[step]);
  }

  const format::Manifest &manifest;
  const std::vector<Steps> &steps;
  uint32_t ringSlots;
  format::RankClasses ranks;
  std::vector<Program> programs;
  std::vector<State> states; // of classes
  std::deque<uint32_t> awake;
};

} // namespace dtc
