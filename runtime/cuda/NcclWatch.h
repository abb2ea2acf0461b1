// Watches the communicators of a rank while its host is busy or blocked: finds their errors and
// operations that do not end in time, and aborts all of them when the device stops.
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

// A communicator of several ranks. NcclWatch::mutex guards its handle and its operations.
struct NcclLine {
  // An operation that streams run over the communicator.
  struct Operation {
    std::string what; // "all_reduce over group 'dp'"
    uint64_t tag = 0; // that of the last run
  };

  std::string name;
  int ranks = 1, position = 0; // `position` is that of this rank
  cu::NcclComm comm = nullptr;
  void *registration = nullptr;
  std::vector<Operation> operations;
  // Pinned: the number of the operation that the GPU runs, from 1; 0 for none.
  std::atomic<uint32_t> *running = nullptr;
  cu::DevicePtr runningOnDevice = 0;
  // The last value seen, and the time since when it is unchanged.
  uint32_t seen = 0;
  std::chrono::steady_clock::time_point since = {};
  bool isDoubtful = false;
  // True while the host waits for a call to be accepted. Aborting such a communicator may wait for
  // a thread of NCCL that waits for other ranks.
  bool isCalling = false;
};

// The settings of the watch.
struct NcclWatchOptions {
  double timeoutSeconds = 600; // longest that an operation may take
  double abortSeconds = 30;    // longest that the end of all communicators may take
  // Receives errors, on a thread of the watch; `tag` is that of the operation, ~0 if unknown.
  std::function<void(const Status &status, uint64_t tag)> failed;
};

// Watches communicators on a separate thread.
class NcclWatch {
public:
  NcclWatch(const cu::Nccl &nccl, const cu::Driver &driver, NcclWatchOptions options);
  ~NcclWatch() { close(); }
  NcclWatch(const NcclWatch &) = delete;
  NcclWatch &operator=(const NcclWatch &) = delete;

  // Watches `line` too, from now on until close().
  void add(NcclLine &line);
  // Reports completed steps: a running operation started after the last of them.
  void noteSteps(uint64_t done) { steps = done; }
  // Starts to abort all communicators, after which lines have none. Any thread may call it.
  void stop();
  bool isStopped() const { return stopped; }
  // Waits until the communicators have been aborted; no graph may have operations of them any more.
  // Returns false if some did not end: their operations go on for ever.
  bool awaitStop();
  // Ends the thread, which may still call `failed` meanwhile.
  void close();

  std::mutex mutex;

private:
  void watch();
  Status look(uint64_t &tag);
  void abortAll();
  std::string othersBefore(const NcclLine &than) const;

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
