// A device that runs nothing until it is told to: what is enqueued waits in queues, and a test decides
// which stream's oldest command runs next. Commands compute what they compute on the CPU.
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

// What a fake device does wrong, so that tests can show that they would notice.
struct Faults {
  int ignoredWait = -1;       // which of the waits of each step is passed at once, from 0
  bool keepsPointers = false; // to commands of the host, instead of copies
  bool returnsEarly = false;  // from synchronize, before anything has run
};

class FakeDevice;

// The fake devices of all ranks of a job, run in one thread.
class FakeJob {
public:
  explicit FakeJob(int ranks) : devices(static_cast<size_t>(ranks)) {}
  std::vector<FakeDevice *> devices; // by rank
};

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
  // Aborted where the step is not done: the test runs the streams.
  rt::Status synchronize(uint64_t step, uint64_t &tag) override;
  void abort() override {}

  // How far the streams are: all that decides what may run next.
  struct Position {
    std::vector<uint32_t> next;    // per stream: its oldest command
    std::vector<uint32_t> records; // per event: those that ran
    uint64_t doneSteps = 0;
    bool operator<(const Position &other) const { return next < other.next; }
  };
  // Everything that commands write.
  using Memory = std::vector<std::vector<char>>;

  size_t numStreams() const { return queues.size(); }
  size_t numCommands(size_t stream) const { return queues[stream].size(); }
  int numWaits() const { return waits; } // of the step that was enqueued last
  bool isIdle() const;
  const Position &at() const { return position; }
  // Per stream how many commands ran that do something.
  std::vector<uint32_t> workDone() const;
  Memory save() const;
  void restore(const Position &to, const Memory &saved);
  bool holds(const Memory &saved) const;

  // Whether the oldest command of `stream` may run. A collective may once all members are there, a send
  // or receive once the other one is; after a first run, with what the others brought then, at any time.
  bool canRun(size_t stream) const;
  // Runs it. False where a collective is given something else than in its first run.
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
    std::vector<char> brought = {}, got = {}; // of a collective's first run
    const rt::Command &what() const { return kept ? *kept : command; }
  };
  struct Block {
    char *address = nullptr;
    uint64_t bytes = 0;
  };
  struct Group {
    std::vector<int> ranks;
    size_t place = 0; // of this rank
  };

  void add(int stream, Item item) {
    queues[static_cast<size_t>(stream)].push_back(std::move(item));
  }
  rt::Status addBlock(uint64_t bytes, uint64_t alignment);
  // The members' items for the collective or transfer that is this stream's oldest, of a transfer the
  // sender's first; empty unless all are there.
  std::vector<Item *> meeting(size_t stream) const;
  std::vector<Item *> transferMeeting(Item &mine, const Group &group) const;
  static void meet(const std::vector<Item *> &items);
  bool collect(Item &item, size_t stream);

  FakeJob &job;
  int rank;
  Faults faults;
  rt::CpuCode code;
  cpu::ThreadPool pool{1};
  std::vector<Block> memory; // the arenas first
  std::array<char *, 2> arenas{};
  std::vector<std::vector<Item>> queues;
  std::vector<uint32_t> enqueuedRecords;
  std::vector<Group> groups;
  uint64_t steps = 0;
  int waits = 0;
  Position position;
};

} // namespace dtc::test
