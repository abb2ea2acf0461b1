// What the executor needs of a device: memory, streams, events, groups of ranks, and instructions
// that run in the order in which they were enqueued. CpuDevice implements it.
//
// Everything named enqueue.. returns before it is done, often before it has begun. What was enqueued
// on one stream runs in that order; streams run beside each other, and only events order them. The
// rules are those of CUDA's streams and events and of NCCL, so that a device may be made of them.
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

// An instruction with all that depends on the rank and the run filled in: buffers and scalars in the order of its
// description (runtime/format/Instructions.cpp), null for an absent buffer. src and dst of a
// StridedCopy are moved by their offsets.
// Sizes are read from `source`, which has been verified.
struct Command {
  const format::Instruction *source = nullptr;
  std::vector<char *> buffers; // device addresses
  std::vector<int64_t> scalars;
  uint64_t bytes = 0;     // of the buffers together
  int symbol = -1;        // Launch: what Device::findSymbol gave
  int group = -1;         // Collective, Transfer: what Device::createGroup gave
  bool startsSum = false; // it writes where it would add
};

// When something ran, in seconds of a clock that all streams of the device share.
struct TimeRange {
  double begin = 0, end = 0;
};

// What the host wants to know of something that it enqueues.
struct Mark {
  uint64_t tag = 0;           // which it is, where it fails
  TimeRange *times = nullptr; // written by the end of its step; null: not wanted
  uint64_t event = 0;         // of the flight recorder; 0: not recorded
};

struct StreamSpec {
  std::vector<bool> used; // per stream whether anything is ever enqueued on it
  int events = 0;
  size_t maxBuffers = 0, maxScalars = 0; // of any command
  // Whether times of all that is marked are wanted. A device may leave those of other marks than a step's first and last
  // at 0 where they are not.
  bool times = false;
  // Hears where each stream is, and when an event starts and is completed, from a device that knows; may be null.
  Progress *progress = nullptr;
};

// A group of ranks as the file has it: lists of `size` ranks, one after another, each in order.
struct GroupSpec {
  std::string name;                // "dp", for messages
  std::span<const uint32_t> ranks; // of no list twice
  uint32_t size = 1;
  uint32_t shift =
      0; // of transfers: places in the list from the sender to the receiver; 0: for collectives
  bool exchanges = false; // whether one of the collectives is an all_to_all
};

// What a file was made for.
struct Target {
  std::string device = "cpu"; // Manifest.device
  std::string gpuArch = {};   // "sm_90"; empty for none
  std::vector<std::string> cpuFeatures = {};
};

// Code of a file, whose hash has been checked.
struct CodeObject {
  format::SegmentKind kind = format::SegmentKind::code; // code, ptx or simt
  std::span<const uint8_t> bytes = {};
  std::span<const uint8_t> cubin =
      {}; // what `bytes` is, assembled for Target::gpuArch; may be empty
};

// What binding knows of a kernel.
struct KernelSpec {
  std::string name = {};
  uint32_t threads = format::warpThreads; // of a block, on a GPU
  uint32_t buffers = 0, scalars = 0;      // that it takes
  uint32_t results = 0; // buffers, the last ones, that it writes; it reads the others
  uint64_t range = 0;
  std::vector<uint64_t> bytes = {}; // of each buffer, for that range
  std::string merged = {};          // the kernel that does several of its launches; empty for none
};

// Calls its argument with one command after another, which is gone when that returns.
using CommandSource = std::function<void(const std::function<void(const Command &)> &)>;

// One device of one rank. One thread, the host's, makes all calls but abort().
class Device {
public:
  virtual ~Device() = default;

  // Whether this device and its host can run code for `target`. Unavailable names what is missing,
  // InvalidArgument the device that it is for.
  virtual Status checkTarget(const Target &target) = 0;

  // Loads code for the target that was checked. Objects are numbered in order of loading.
  virtual Status loadCode(const CodeObject &object) = 0;
  // The function of that name of loaded `object`. NotFound names both.
  virtual Status findSymbol(int object, const KernelSpec &kernel, int &symbol) = 0;

  // Makes the arena of a memory: `bytes` zero bytes, aligned for every buffer. Once for each that the
  // program has. Of the host's memory launches that work there and enqueued copies use it, so that a
  // device has it pinned.
  virtual Status allocateArena(format::MemorySpace space, uint64_t bytes) = 0;
  // Where it begins; null for one that was not made.
  virtual char *arena(format::MemorySpace space) = 0;
  // Host memory that enqueued copies may use, zero; it lives as long as the device.
  virtual Status allocateHost(uint64_t bytes, char *&memory) = 0;

  // Blocking copies between host memory and device addresses, for use while no step is under way.
  virtual Status copyIn(char *to, const void *from, uint64_t bytes) = 0;
  virtual Status copyOut(void *to, const char *from, uint64_t bytes) = 0;

  // Makes all streams and events and whatever runs them. Once, before anything is enqueued.
  virtual Status createStreams(const StreamSpec &spec) = 0;

  // Makes the group of this rank among `spec`, for the collectives of one stream or for transfers:
  // what goes over one group never waits for what goes over another. Collective over `control`, also
  // for ranks of no list, which get a group that they never use.
  virtual Status createGroup(Control &control, const GroupSpec &spec, int &group) = 0;

  // Finds out how best to do the products and attentions of steps, which are given; buffers hold
  // nothing of worth yet, and zeros afterwards. Collective over `control`; once, before the first step.
  virtual Status tune(Control &, const CommandSource &) { return {}; }

  // Begins a step: what follows until endStep is the same, in the same order, with the same operands,
  // each time that `order` is the same and the same place of host memory is used, so that a device
  // may record it once.
  virtual Status beginStep(uint32_t order) = 0;
  // Runs `command`, any instruction but Record and Wait. The command is the caller's, who changes it
  // for the next run as soon as this returns.
  virtual Status enqueue(int stream, const Command &command, const Mark &mark) = 0;
  virtual Status enqueueRecord(int stream, int event, const Mark &mark) = 0;
  // `stream` waits until the last record of `event` that was enqueued before this call, on any
  // stream, has run; for nothing where there was none.
  virtual Status enqueueWait(int stream, int event, const Mark &mark) = 0;
  // Copies of host memory that allocateHost gave.
  virtual Status enqueueCopyIn(int stream, char *to, const char *from, uint64_t bytes,
                               const Mark &mark) = 0;
  virtual Status enqueueCopyOut(int stream, char *to, const char *from, uint64_t bytes,
                                const Mark &mark) = 0;
  // Ends the step, which is done once all that was enqueued on stream 0 before is. Steps are numbered
  // from 1.
  virtual Status endStep(const Mark &mark, uint64_t &step) = 0;

  // Whether `step` is done, or the device has stopped.
  virtual bool isDone(uint64_t step) = 0;
  // Returns when `step` is done: then all that it wrote, times too, is there to be read. After an
  // error, on whatever stream, nothing of the device runs any more and this returns the first one
  // with the tag of what failed.
  virtual Status synchronize(uint64_t step, uint64_t &tag) = 0;
  // Stops the device for good: what is enqueued does not run, and what runs ends soon, also where it
  // waits for other ranks. Any thread may call it.
  virtual void abort() = 0;
};

} // namespace dtc::rt
