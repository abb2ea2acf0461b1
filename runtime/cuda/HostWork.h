// What a program does on the host of its GPU: kernels and instructions of the library that work in the host's memory, each of
// which is a function that a stream calls.
#pragma once

#include "runtime/cuda/CudaCode.h"
#include "runtime/device/CpuCode.h"

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>

namespace dtc::rt {

class HostWork {
public:
  // `threads` run each of them. `failed` hears, on a thread of the driver's, of one that could not run, with its tag.
  HostWork(const cu::Driver &driver, int threads,
           std::function<void(const Status &, uint64_t tag)> failed);
  ~HostWork();

  // As the functions of Device with these names.
  Status load(const CodeObject &object) { return code.load(object); }
  Status findSymbol(int object, const KernelSpec &kernel, int &symbol) {
    return code.findSymbol(object, kernel, symbol);
  }

  // `command`, all of whose buffers are in the host's memory. `work` may be said again and again, to be called by graphs too,
  // for as long as this lives; `announce` gives it its tag.
  void prepare(const Command &command, StreamWork &work,
               std::function<void(uint64_t tag)> &announce);
  // From now on what is called does nothing.
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
  std::deque<Job> jobs; // which graphs point to
  std::atomic<bool> stopped = false;
  std::mutex mutex; // branches of a graph may call at the same time
  std::unique_ptr<cpu::ThreadPool> pool;
};

} // namespace dtc::rt
