// Looks after the communicators of a rank while its host is busy or blocked: finds their errors and what does not end in time,
// and ends them all when the device stops.
#pragma once

#include "runtime/cuda/Driver.h"
#include "runtime/cuda/Nccl.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace dtc::rt {

// A communicator of several ranks. NcclWatch::mutex is of its handle and of its operations.
struct NcclLine {
  struct Operation {
    std::string what; // "all_reduce over group 'dp'"
    uint64_t tag = 0; // of the last time
  };

  std::string name;
  int ranks = 1, place = 0; // of this rank
  cu::NcclComm comm = nullptr;
  void *registration = nullptr;
  std::vector<Operation> operations;
  // Pinned: which operation the GPU is in, from 1; 0 for none.
  std::atomic<uint32_t> *running = nullptr;
  cu::DevicePtr runningOnDevice = 0;
  // What was seen last, and since when.
  uint32_t seen = 0;
  std::chrono::steady_clock::time_point since = {};
  bool isDoubtful = false;
};

struct NcclWatchOptions {
  double timeoutSeconds = 600; // longest that an operation may take
  double abortSeconds = 10;    // longest that the end of all communicators may take
  // Hears of what fails, on a thread of the watch; `tag` is that of the operation, ~0 where it is not known.
  std::function<void(const Status &status, uint64_t tag)> failed;
};

class NcclWatch {
public:
  NcclWatch(const cu::Nccl &nccl, const cu::Driver &driver, NcclWatchOptions options);
  ~NcclWatch() { close(); }
  NcclWatch(const NcclWatch &) = delete;
  NcclWatch &operator=(const NcclWatch &) = delete;

  // Looks after `line`, too, from now on until close().
  void add(NcclLine &line);
  // A step that ends shows that what is running was begun after it.
  void noteSteps(uint64_t done) { steps = done; }
  // Begins to abort all communicators, after which lines have none. Any thread may call it.
  void stop();
  bool isStopped() const { return stopped; }
  // Waits until communicators have ended, of which no graph may have operations any more. Whether they have; what they run
  // goes on for ever where not.
  bool awaitStop();
  // Ends the thread, which may still have called `failed`.
  void close();

  std::mutex mutex;

private:
  void watch();
  Status look(uint64_t &tag);
  void abortAll();

  const cu::Nccl &nccl;
  const cu::Driver &driver;
  NcclWatchOptions options;
  std::vector<NcclLine *> lines;
  std::vector<std::shared_future<void>> aborts;
  std::atomic<uint64_t> steps{0};
  uint64_t stepsSeen = 0;
  std::atomic<bool> stopped{false};
  bool closing = false;
  std::condition_variable changed;
  std::thread thread;
};

} // namespace dtc::rt
