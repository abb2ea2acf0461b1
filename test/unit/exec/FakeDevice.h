// A device that runs nothing by itself. Enqueued commands wait in queues, and a test decides which
// stream's oldest command runs next. The results of commands are those of the CPU.
#pragma once

#include "kernels/cpu/ThreadPool.h"
#include "runtime/device/CpuCode.h"
#include "runtime/device/Device.h"

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dtc::test {

// Mistakes of a fake device, with which tests show that they would find them.
struct Faults {
  int ignoredWait = -1;       // index of the wait of each step that is passed at once, from 0
  bool keepsPointers = false; // keeps pointers to the host's commands instead of copies
  bool returnsEarly = false;  // synchronize returns before anything has run
};

class FakeDevice;

// The fake devices of all ranks of a job, which run in one thread.
class FakeJob {
public:
  explicit FakeJob(int ranks) : devices(static_cast<size_t>(ranks)) {}
  std::vector<FakeDevice *> devices; // indexed by rank
};

// The fake device of one rank.
class FakeDevice : public rt::Device {
public:
  FakeDevice(FakeJob &job, int rank, const Faults &faults = {});
  ~FakeDevice() override;

  rt::Status checkTarget(const rt::Target &) override { return {}; }
  rt::Status loadCode(const rt::CodeObject &object) override { return code.load(object); }
  rt::Status findSymbol(int object, const rt::KernelSpec &kernel, int &symbol) override {
    return code.findSymbol(object, kernel, symbol);
  }
  rt::Status allocateArena(format::MemorySpace space, uint64_t bytes) override;
  char *arena(format::MemorySpace space) override { return arenas[static_cast<size_t>(space)]; }
  rt::Status allocateHost(uint64_t bytes, char *&address) override;
  rt::Status copyIn(char *to, const void *from, uint64_t bytes) override;
  rt::Status copyOut(void *to, const char *from, uint64_t bytes) override;
  rt::Status createStreams(const rt::StreamSpec &spec) override;
  rt::Status createGroup(rt::Control &control, const rt::GroupSpec &spec, int &group) override;
  rt::Status beginStep(uint32_t order) override;
  rt::Status enqueue(int stream, const rt::Command &command, const rt::Mark &mark) override;
  rt::Status enqueueRecord(int stream, int event, const rt::Mark &mark) override;
  rt::Status enqueueWait(int stream, int event, const rt::Mark &mark) override;
  rt::Status enqueueCopyIn(int stream, char *to, const char *from, uint64_t bytes,
                           const rt::Mark &mark) override;
  rt::Status enqueueCopyOut(int stream, char *to, const char *from, uint64_t bytes,
                            const rt::Mark &mark) override;
  rt::Status endStep(const rt::Mark &mark, uint64_t &step) override;
  bool isDone(uint64_t step) override { return position.doneSteps >= step; }
  // Returns Aborted if the step is not done, because the test runs the streams.
  rt::Status synchronize(uint64_t step, uint64_t &tag) override;
  void abort() override {}

  // The progress of the streams: everything that decides what may run next.
  struct Position {
    std::vector<uint32_t> next;    // the oldest command of each stream
    std::vector<uint32_t> records; // the records of each event that have run
    uint64_t doneSteps = 0;
    bool operator<(const Position &other) const { return next < other.next; }
  };
  // All memory that commands write.
  using Memory = std::vector<std::vector<char>>;

  size_t numStreams() const { return queues.size(); }
  // Returns the number of commands in the queue of a stream.
  size_t numCommands(size_t stream) const { return queues[stream].size(); }
  int numWaits() const { return waits; } // of the step that was enqueued last
  // Returns true if all enqueued commands have run.
  bool isIdle() const;
  const Position &at() const { return position; }
  // Returns for each stream the number of commands with an effect that have run.
  std::vector<uint32_t> workDone() const;
  // Returns a copy of all memory.
  Memory save() const;
  // Returns to an earlier progress and memory.
  void restore(const Position &to, const Memory &saved);
  // Returns true if the memory equals a copy.
  bool holds(const Memory &saved) const;

  // Returns true if the oldest command of `stream` may run. A collective may once all members are
  // there, and a send or receive once the other side is there. After a first run it may run at any
  // time, with what the others brought then.
  bool canRun(size_t stream) const;
  // Runs that command. Returns false if a collective gets other data than in its first run.
  bool run(size_t stream);

private:
  enum class Kind { Run, Record, Wait, Copy, EndStep };
  struct Item {
    Kind kind = Kind::Run;
    rt::Mark mark = {};
    rt::Command command = {};
    const rt::Command *kept = nullptr; // Faults::keepsPointers
    int event = 0;
    uint32_t ordinal = 0;
    char *to = nullptr;
    const char *from = nullptr;
    uint64_t bytes = 0;
    bool hasRun = false;
    std::vector<char> brought = {}, got = {}; // data of a collective's first run
    const rt::Command &what() const { return kept ? *kept : command; }
  };
  struct Block {
    char *address = nullptr;
    uint64_t bytes = 0;
  };
  struct Group {
    std::vector<int> ranks;
    size_t memberIndex = 0; // position of this rank
  };

  void add(int stream, Item item) {
    queues[static_cast<size_t>(stream)].push_back(std::move(item));
  }
  rt::Status addBlock(uint64_t bytes, uint64_t alignment);
  // Returns the members' items for the collective or transfer that is this stream's oldest command,
  // with the sender's first for a transfer. Empty unless all are there.
  std::vector<Item *> matched(size_t stream) const;
  std::vector<Item *> matchedTransfer(Item &mine, const Group &group) const;
  static void meet(const std::vector<Item *> &items);
  bool collect(Item &item, size_t stream);

  FakeJob &job;
  int rank;
  Faults faults;
  rt::CpuCode code;
  cpu::ThreadPool pool{1};
  std::vector<Block> memory; // the arenas come first
  std::array<char *, 2> arenas{};
  std::vector<std::vector<Item>> queues;
  std::vector<uint32_t> enqueuedRecords;
  std::vector<Group> groups;
  uint64_t steps = 0;
  int waits = 0;
  Position position;
};

} // namespace dtc::test
