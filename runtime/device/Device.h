// The interface of a device to the executor: memory, streams, events, groups of ranks, and
// instructions that run in the order in which they were enqueued. CpuDevice implements it.
//
// Calls named enqueue.. return before their work is done, often before it has begun. Work on one
// stream runs in the order in which it was enqueued; streams run beside each other, and only events
// order them. The rules are those of CUDA's streams and events and of NCCL, so that a device may be
// made of them.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/comm/Control.h"
#include "runtime/format/Grid.h"
#include "runtime/format/dte_generated.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace dtc::rt {

class Progress;

// An instruction with everything filled in that depends on the rank and the run: buffers and
// scalars in the order of its description (runtime/format/Instructions.cpp), null for an absent
// buffer. src and dst of a StridedCopy are moved by their offsets. Sizes are read from `source`,
// which has been verified.
struct Command {
  const format::Instruction *source = nullptr;
  std::vector<char *> buffers; // device addresses
  std::vector<int64_t> scalars;
  uint64_t bytes = 0;     // bytes of all buffers together
  int symbol = -1;        // Launch: the result of Device::findSymbol
  int group = -1;         // Collective, Transfer: the result of Device::createGroup
  bool startsSum = false; // the instruction overwrites instead of adding
};

// The interval in which something ran, in seconds of a clock that all streams of the device share.
struct TimeRange {
  double begin = 0, end = 0;
};

// The data that the host attaches to something that it enqueues.
struct Mark {
  uint64_t tag = 0;           // identifies it in an error
  TimeRange *times = nullptr; // written by the end of its step; null: not wanted
  uint64_t event = 0;         // number in the flight recorder; 0: not recorded
};

// The streams and events that a program needs.
struct StreamSpec {
  std::vector<bool> used; // per stream: true if anything is ever enqueued on it
  int events = 0;
  size_t maxBuffers = 0, maxScalars = 0; // the most of any command
  // True: times are wanted for all marks. If false, a device may leave times other than those of a
  // step's first and last mark at 0.
  bool times = false;
  // Receives the position of each stream, and the start and end of events, from devices that know
  // them; may be null.
  Progress *progress = nullptr;
};

// A group of ranks as the file has it: lists of `size` ranks, one after another, each in order.
struct GroupSpec {
  std::string name;                // "dp", for messages
  std::span<const uint32_t> ranks; // no rank is in two lists
  uint32_t size = 1;
  // Transfers: distance in the list from the sender to the receiver; 0: for collectives.
  uint32_t shift = 0;
  bool exchanges = false; // true if one of the collectives is an all_to_all
  // Transfers: true if the program of this rank sends or receives over the group.
  bool sends = true, receives = true;
  uint32_t mostBlocks = 0; // of a GPU's multiprocessors that operations may occupy; 0: no limit
  // The most groups of a rank whose operations may wait beside other work of it, with those of each
  // direction of transfers counted apart.
  uint32_t numBeside = 0;
};

// The target that a file was made for.
struct Target {
  std::string device = "cpu"; // Manifest.device
  std::string gpuArch = {};   // "sm_90"; empty for none
  std::vector<std::string> cpuFeatures = {};
};

// A code segment of a file, whose hash has been checked.
struct CodeObject {
  format::SegmentKind kind = format::SegmentKind::code; // code, ptx or simt
  std::span<const uint8_t> bytes = {};
  std::span<const uint8_t> cubin = {}; // `bytes` assembled for Target::gpuArch; may be empty
};

// The facts of a kernel that binding knows.
struct KernelSpec {
  std::string name = {};
  uint32_t threads = format::warpThreads; // threads of a block, on a GPU
  uint32_t buffers = 0, scalars = 0;      // the number that it takes
  uint32_t results = 0;                   // the last so many buffers are written, the others read
  uint64_t range = 0;
  std::vector<uint64_t> bytes = {}; // of each buffer, for that range
  std::string merged = {};          // the kernel that does several of its launches; empty for none
};

// Calls its argument with one command after another; each is valid only during its call.
using CommandSource = std::function<void(const std::function<void(const Command &)> &)>;

// One device of one rank. One thread, the host's, makes all calls but abort().
class Device {
public:
  virtual ~Device() = default;

  // Returns ok if this device and its host can run code for `target`. Unavailable names what is
  // missing, InvalidArgument the device that `target` is for.
  virtual Status checkTarget(const Target &target) = 0;

  // Loads code for the target that was checked. Objects are numbered in the order of loading.
  virtual Status loadCode(const CodeObject &object) = 0;
  // Finds the function of that name in loaded `object`. NotFound names both.
  virtual Status findSymbol(int object, const KernelSpec &kernel, int &symbol) = 0;

  // Makes the arena of a memory space: `bytes` zero bytes, aligned for every buffer. Called once
  // for each space that the program has. Launches on the host and enqueued copies use host memory,
  // so that a device has it pinned.
  virtual Status allocateArena(format::MemorySpace space, uint64_t bytes) = 0;
  // Returns the beginning of an arena; null if it was not made.
  virtual char *arena(format::MemorySpace space) = 0;
  // Allocates zeroed host memory that enqueued copies may use; it lives as long as the device.
  virtual Status allocateHost(uint64_t bytes, char *&memory) = 0;

  // Copies from host memory to device memory; blocks. Only while no step is under way.
  virtual Status copyIn(char *to, const void *from, uint64_t bytes) = 0;
  // Copies from device memory to host memory; blocks. Only while no step is under way.
  virtual Status copyOut(void *to, const char *from, uint64_t bytes) = 0;

  // Makes all streams and events and whatever runs them. Called once, before anything is enqueued.
  virtual Status createStreams(const StreamSpec &spec) = 0;

  // Makes the group of this rank among `spec`, for the collectives of one stream or for transfers:
  // work of one group never waits for work of another. Collective over `control`, also for ranks of
  // no list, which get a group that they never use.
  virtual Status createGroup(Control &control, const GroupSpec &spec, int &group) = 0;

  // Finds the fastest way to run those instructions that this device can run in several ways.
  // `commands` calls its argument with every instruction of the steps. Buffers hold nothing of
  // worth yet, and zeros afterwards. Collective over `control`; called once, before the first step.
  virtual Status tune(Control &, const CommandSource &) { return {}; }

  // Begins a step. All that follows until endStep is the same, in the same order, with the same
  // operands, each time that `order` is the same and the same part of host memory is used, so that
  // a device may record it once.
  virtual Status beginStep(uint32_t order) = 0;
  // Enqueues `command`, any instruction but Record and Wait. The command is the caller's, who
  // changes it for the next run as soon as this returns.
  virtual Status enqueue(int stream, const Command &command, const Mark &mark) = 0;
  // Enqueues a record of `event` on `stream`.
  virtual Status enqueueRecord(int stream, int event, const Mark &mark) = 0;
  // Makes `stream` wait until the last record of `event` that was enqueued before this call, on any
  // stream, has run; it does not wait if there is none.
  virtual Status enqueueWait(int stream, int event, const Mark &mark) = 0;
  // Enqueues a copy to the device from memory of allocateHost.
  virtual Status enqueueCopyIn(int stream, char *to, const char *from, uint64_t bytes,
                               const Mark &mark) = 0;
  // Enqueues a copy from the device to memory of allocateHost, behind all commands of a step.
  virtual Status enqueueCopyOut(int stream, char *to, const char *from, uint64_t bytes,
                                const Mark &mark) = 0;
  // Same, between the commands of a step, of which it is one: each step has it.
  virtual Status enqueueReadBack(int stream, char *to, const char *from, uint64_t bytes,
                                 const Mark &mark) {
    return enqueueCopyOut(stream, to, from, bytes, mark);
  }
  // Ends the step, which is done once everything enqueued before on stream 0 is. Steps are numbered
  // from 1.
  virtual Status endStep(const Mark &mark, uint64_t &step) = 0;

  // Returns true if `step` is done, or the device has stopped.
  virtual bool isDone(uint64_t step) = 0;
  // Returns when `step` is done: everything that it wrote, times included, can then be read. After
  // an error, on any stream, nothing runs on the device any more, and this returns the first error
  // with the tag of what failed.
  virtual Status synchronize(uint64_t step, uint64_t &tag) = 0;
  // Stops the device for good: enqueued work does not run, and running work ends soon, even if it
  // waits for other ranks. Any thread may call it.
  virtual void abort() = 0;
};

} // namespace dtc::rt
