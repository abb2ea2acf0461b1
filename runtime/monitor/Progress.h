// The position of a rank, published by its threads in a page of memory that it shares with its
// keeper (Keeper.h), which can read the page whatever happens to the rank.
// An update is a few stores and never blocks. Readers check every value, as a faulty rank may have
// overwritten the page.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/monitor/FlightRecorder.h"
#include "runtime/monitor/ProgramNotes.h"
#include "runtime/monitor/Work.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace dtc::rt {

// The current activity of a rank's host thread, which determines how long it may take.
enum class Activity : uint32_t {
  Starting, // up to the first step
  Stepping, // steps and what ranks tell each other between them
  Working,  // on its own, for as long as that takes: reading data, writing files
  Finished, // all is done
};

// In the group of an event: a receive, which counts apart.
inline constexpr uint32_t kReceives = 1u << 31;

// The address at which rank 0's keeper listens.
struct KeeperAddress {
  static constexpr size_t kAddresses = 8;
  uint8_t secret[16];             // known to the ranks of this job alone
  uint32_t addresses[kAddresses]; // IPv4, as in the network; 0 for none
  uint16_t port;                  // in network byte order
};

// One instruction at a time, or none.
struct StreamPosition {
  std::atomic<uint64_t> tag, event; // event: of the flight recorder, 0 for none
  std::atomic<uint64_t> moves;      // odd while an instruction runs
  std::atomic<int32_t> thread;      // its number in the system
};

// The entry and training step of an enqueue.
struct StepSlotName {
  std::atomic<uint32_t> entry, trainingStep;
};

// The layout of the shared page.
struct ProgressPage {
  static constexpr size_t kStreams = 16; // the last one is the host's
  static constexpr size_t kHostStream = kStreams - 1;
  static constexpr size_t kGroups = 32; // number of counted groups; the last one is the host's
  static constexpr uint32_t kHostGroup = 0xfffe; // all ranks, for the host's calls
  static constexpr size_t kSteps = 16;
  static constexpr size_t kWords = 2048;

  std::atomic<uint32_t> activity;
  std::atomic<uint32_t> phase; // start-up phase (StartUp.h), from 1; 0: none yet
  // Set by the keeper: on rank 0 once all keepers have joined, elsewhere while it is joined.
  std::atomic<uint32_t> isWatched;
  std::atomic<uint32_t> reportsStreams; // set if the device reports the positions of its streams
  std::atomic<uint32_t> isInStep;       // true from the enqueue of a training step until addWork
  std::atomic<uint64_t> hostMoves;
  std::atomic<uint32_t> hasAddress, hasNotes, hasWords;
  std::atomic<uint32_t> dumpsWanted; // number of SIGUSR1 received by the rank
  std::atomic<uint32_t> stacks;      // number of thread stacks written so far
  StreamPosition streams[kStreams];
  StepSlotName steps[kSteps]; // indexed by the upper half of a tag
  // Returns the index of a group in `started`; kGroups if the group is not counted.
  static size_t indexOf(uint32_t group) {
    return group == kHostGroup ? kGroups - 1 : group < kGroups - 1 ? group : kGroups;
  }

  // Started so far, by group: collectives and sends, receives.
  std::atomic<uint64_t> started[kGroups][2];
  KeeperAddress address;
  char words[kWords]; // message of a rank that ends because of others
  FlightRecorder flights;
  WorkPage work;
};

// Tags of the host's own calls, which no instruction has: the kind of call in the lower half.
enum class HostCall : uint32_t {
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  Broadcast,
  Barrier,
  Split,
  Send,
  Receive
};
// Returns the name of a host call.
const char *nameOf(HostCall call);
inline constexpr uint64_t kHostTag = uint64_t(1) << 63;

// The side of the rank.
class Progress {
public:
  // `notes` is a file for the program's notes; -1: they go nowhere.
  Progress(ProgressPage &page, int notes);

  // Once, before the first step: what tags mean.
  void describe(const ProgramNotes &program);

  // Enters an activity.
  void enter(Activity activity) {
    page.activity.store(static_cast<uint32_t>(activity), std::memory_order_relaxed);
    page.hostMoves.fetch_add(1, std::memory_order_relaxed);
  }
  // `phase` of the start, as a number.
  void enterPhase(uint32_t phase) {
    page.phase.store(phase + 1, std::memory_order_relaxed);
    page.hostMoves.fetch_add(1, std::memory_order_relaxed);
  }
  // Returns true if keepers detect stalls: of any rank if called on rank 0, else of this one.
  bool isWatched() const { return page.isWatched.load(std::memory_order_relaxed) != 0; }
  // Returns the current activity.
  Activity activity() const {
    return static_cast<Activity>(page.activity.load(std::memory_order_relaxed));
  }
  // Tags of the host's enqueue number `number` are of this entry (0: a step of training) and step.
  void enterStep(uint64_t number, uint32_t entry, uint32_t trainingStep) {
    StepSlotName &name = page.steps[number % ProgressPage::kSteps];
    name.entry.store(entry, std::memory_order_relaxed);
    name.trainingStep.store(trainingStep, std::memory_order_relaxed);
    page.isInStep.store(entry == 0, std::memory_order_relaxed);
    page.hostMoves.fetch_add(1, std::memory_order_relaxed);
    enteredStep = trainingStep;
    enteredEntry = entry;
  }
  // Called by the enqueuing thread: returns the event number of a communication with other ranks.
  // 0: not recorded.
  uint64_t schedule(uint64_t tag, uint32_t group, Meets meets);
  // Called by the thread of a stream, about itself.
  void beginThread(int stream);
  // Publishes the begin of an instruction on a stream; `now` in nanoseconds.
  void begin(int stream, uint64_t tag, uint64_t event, int64_t now) {
    StreamPosition &position = at(stream);
    position.tag.store(tag, std::memory_order_relaxed);
    position.event.store(event, std::memory_order_relaxed);
    position.moves.fetch_add(1, std::memory_order_release);
    if (event)
      start(event, now);
  }
  // Publishes the end of the current instruction of a stream.
  void end(int stream, uint64_t event, int64_t now) {
    at(stream).moves.fetch_add(1, std::memory_order_release);
    if (event)
      page.flights.complete(event, now);
  }
  // Called by the host for devices that do not report stream positions: marks the step as complete.
  void complete(uint64_t firstEvent, uint64_t lastEvent);
  // Declares that the device reports the positions of its streams.
  void deviceReports() { page.reportsStreams = 1; }
  // Returns true if the device reports the positions of its streams.
  bool isDeviceReporting() const { return page.reportsStreams != 0; }

  // A step is over, in which so much was work of this rank (Work.h).
  void addWork(uint32_t program, double workSeconds, double stepSeconds);
  // On rank 0, of any rank, and who is slow; a second or two old. Nothing without keepers.
  RankWork workOf(int rank) const;
  // Returns the straggler that rank 0's keeper has published.
  Straggler straggler() const;

  // Stores why this rank ends, for its keeper to print if no better reason is known.
  void say(const std::string &words);

  ProgressPage &shared() { return page; }

private:
  StreamPosition &at(int stream) {
    auto index = static_cast<size_t>(stream);
    return page.streams[index < ProgressPage::kStreams ? index : ProgressPage::kHostStream - 1];
  }
  void start(uint64_t event, int64_t now);

  ProgressPage &page;
  int notes;
  // Scheduled so far, by group: collectives and sends, receives. The host's own come first.
  std::vector<std::array<uint64_t, 2>> sequences;
  uint32_t enteredStep = 0, enteredEntry = 0;
};

// Returns nanoseconds of CLOCK_MONOTONIC.
int64_t monotonicNanos();
// Returns seconds of CLOCK_MONOTONIC.
inline double monotonicSeconds() { return static_cast<double>(monotonicNanos()) * 1e-9; }

} // namespace dtc::rt
