// Plays the streams of all ranks against each other: matched communication agrees, and all ends.
#pragma once

#include "compiler/prove/verify/Steps.h"

#include "runtime/format/RankClasses.h"

#include <deque>
#include <map>
#include <optional>

namespace dtc {

// Lower bound of the instructions per stream that the host may enqueue ahead of the device; the
// host blocks only when a stream is that far behind. The rings of dtrun have twice as many slots
// (runtime/device/WorkRing.h).
inline constexpr uint32_t kRingSlots = 512;

// Proves that matched collectives and transfers of all ranks agree and that no rank waits forever.
class CommunicationProof {
public:
  // `steps`: of every program, in one entry. `ringSlots`: for tests of small ones.
  CommunicationProof(const format::Manifest &manifest, const std::vector<Steps> &steps,
                     uint32_t ringSlots = kRingSlots)
      : manifest(manifest), steps(steps), ringSlots(ringSlots), ranks(manifest) {}

  // Returns the first fault, or nullopt if all streams of all ranks end.
  std::optional<Fault> prove();
  // Returns the number of classes of ranks that behave equally.
  size_t numClasses() const { return ranks.classes().size(); }

private:
  // A step at which a stream may have to wait.
  struct Stop {
    enum Kind : uint8_t { Record, Wait, Communicate } kind;
    uint32_t run, step;          // index of the run in the entry, and of the step in its task
    uint32_t position, sequence; // position among all enqueued instructions, and on the stream
    uint32_t event = 0, ordinal = 0, channel = 0;
    // Communicate: number of operations of several ranks that the host enqueues before it; noLaunch
    // in groups of one rank, which launch none, and on CPUs, which keep no order of launches.
    uint32_t launch = 0;
  };
  static constexpr uint32_t noLaunch = ~uint32_t(0);
  // The stops that equal runs of a task share, counted from the first instruction of each run.
  struct Shape {
    struct Position {
      uint32_t step, position, sequence;
    };
    std::vector<Position> stops;
    std::vector<std::vector<uint32_t>> positions; // per stream: of its instructions
    uint32_t count = 0;
  };
  // The positions at which a run begins: among all enqueued instructions, and on each stream.
  struct Start {
    const Shape *shape;
    uint32_t position;
    std::vector<uint32_t> sequences;
  };
  struct Program {
    std::vector<std::vector<Stop>> streams;
    std::map<std::pair<uint32_t, bool>, Shape> shapes; // key: task, true for its last run
    std::vector<Start> starts;                         // one per run, and one past the last
    std::vector<format::Channel> channels;
    std::vector<std::vector<std::pair<uint32_t, uint32_t>>> uses; // per channel: run and step
    uint32_t launches = 0;                                        // operations of several ranks
    std::vector<Stop> collectives; // those of several ranks, as the host enqueues them
  };
  struct Partner {
    uint32_t index, channel;
  };
  // The progress of one rank of a class.
  struct State {
    std::vector<size_t> position;
    std::vector<uint32_t> recorded, arrived;
    std::vector<std::vector<Partner>> partners; // per channel
    uint32_t enqueued = 0;                      // at least; it only grows
    uint32_t launched = 0;                      // operations of several ranks that have started
    size_t collective = 0;                      // position of the host among its collectives
  };

  std::optional<Fault> collect(uint32_t program);
  const Shape &shapeOf(uint32_t program, uint32_t run, bool isLast);
  std::optional<Fault> addStop(uint32_t program, Stop stop, std::vector<uint32_t> &records);
  std::optional<Fault> compare(uint32_t program, uint32_t other, const format::Channel &channel);
  std::optional<Fault> match();
  std::optional<Fault> play();
  std::optional<Fault> playHosts();
  bool passes(uint32_t index, const Stop &stop);
  bool meets(uint32_t index, const Stop &stop);
  uint32_t positionOf(uint32_t program, size_t stream, uint32_t sequence) const;
  uint32_t enqueued(uint32_t index) const;
  const Stop *next(uint32_t index, size_t stream) const;
  std::optional<Fault> explain() const;
  std::string explainWait(uint32_t index, const Stop &stop) const;

  const format::Instruction &instructionOf(uint32_t program, uint32_t run, uint32_t step) const;
  const format::Run &runOf(uint32_t program, uint32_t run) const {
    return *steps[program].entry.order()->Get(run);
  }
  Fault fault(uint32_t program, uint32_t run, uint32_t step, std::string message,
              std::string note = "") const {
    const format::Run &of = runOf(program, run);
    return steps[program].fault(of, steps[program].executed(of.task())[step], "communication",
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
  std::vector<State> states; // one per class
  std::deque<uint32_t> awake;
  bool hasLaunched = false; // an operation has started since this was reset
};

} // namespace dtc
