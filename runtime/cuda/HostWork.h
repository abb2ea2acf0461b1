// Work of a program on the host of its GPU: kernels and library instructions in host memory, each a
// function that a stream calls.
#pragma once

#include "runtime/cuda/CudaCode.h"
#include "runtime/device/CpuCode.h"

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>

namespace dtc::rt {

// Runs host commands from streams.
class HostWork {
public:
  // `threads` host threads run each command. `failed` receives the error of a command, with its
  // tag, on a thread of the driver.
  HostWork(const cu::Driver &driver, int threads,
           std::function<void(const Status &, uint64_t tag)> failed);
  ~HostWork();

  // Implements Device::load.
  Status load(const CodeObject &object) { return code.load(object); }
  // Implements Device::findSymbol.
  Status findSymbol(int object, const KernelSpec &kernel, int &symbol) {
    return code.findSymbol(object, kernel, symbol);
  }

  // Prepares `command`, all of whose buffers are in host memory. `work` may be enqueued repeatedly,
  // also by graphs, during the lifetime of this object; `announce` sets its tag.
  void prepare(const Command &command, StreamWork &work,
               std::function<void(uint64_t tag)> &announce);
  // Makes later calls do nothing.
  void stop() { stopped = true; }

private:
  struct Job {
    HostWork *owner = nullptr;
    Command command;
    std::atomic<uint64_t> tag = 0;
  };

  static void call(void *job);
  void run(const Job &job);

  const cu::Driver &driver;
  int threads;
  std::function<void(const Status &, uint64_t tag)> failed;
  CpuCode code;
  std::deque<Job> jobs; // graphs hold pointers to them
  std::atomic<bool> stopped = false;
  std::mutex mutex; // branches of a graph may call at the same time
  std::unique_ptr<cpu::ThreadPool> pool;
};

} // namespace dtc::rt
