#include "runtime/cuda/NcclWatch.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <utility>

namespace dtc::rt {

using format::text;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

NcclWatch::NcclWatch(const cu::Nccl &nccl, const cu::Driver &driver, NcclWatchOptions options)
    : nccl(nccl), driver(driver), options(std::move(options)) {}

void NcclWatch::add(NcclLine &line) {
  std::lock_guard lock(mutex);
  lines.push_back(&line);
  if (!thread.joinable())
    thread = std::thread([this] { watch(); });
}

void NcclWatch::stop() {
  std::lock_guard lock(mutex);
  stopped = true;
  abortAll();
}

// Aborts all communicators at once, because freeing one may wait for operations of another. NCCL
// does not abort a communicator while a graph has operations of it, so this takes a thread while
// the host clears its graphs; a thread that never returns is abandoned. Communicators without a
// running operation go first: ending an operation lets the ones behind it start, which must find
// their own communicator aborted, or waiting ranks would receive data that this rank has not
// finished. Communicators in a call go last: aborting one may wait for a thread of NCCL which waits
// for other ranks, and must not keep the kernels of the others running. After an error that a
// context does not survive nothing runs any more, and NCCL calls would only fail.
void NcclWatch::abortAll() {
  const auto runsNothing = [](const NcclLine *line) {
    return !line->running || line->running->load(std::memory_order_acquire) == 0;
  };
  std::vector<cu::NcclComm> ending, running, calling;
  for (NcclLine *line : lines)
    if (line->comm)
      (line->isCalling     ? calling
       : runsNothing(line) ? ending
                           : running)
          .push_back(std::exchange(line->comm, nullptr));
  ending.insert(ending.end(), running.begin(), running.end());
  ending.insert(ending.end(), calling.begin(), calling.end());
  if (ending.empty() || *driver.isLost)
    return;
  std::promise<void> over;
  aborts.push_back(over.get_future().share());
  std::thread([calls = nccl, ending, over = std::move(over)]() mutable {
    (void)calls.ncclGroupStart();
    for (cu::NcclComm comm : ending)
      (void)calls.ncclCommAbort(comm);
    (void)calls.ncclGroupEnd();
    over.set_value();
  }).detach();
}

bool NcclWatch::awaitStop() {
  std::vector<std::shared_future<void>> begun;
  {
    std::lock_guard lock(mutex);
    begun = aborts;
  }
  auto deadline = Clock::now() + Seconds(options.abortSeconds);
  return std::all_of(begun.begin(), begun.end(), [&](const std::shared_future<void> &abort) {
    return abort.wait_until(deadline) == std::future_status::ready;
  });
}

void NcclWatch::close() {
  {
    std::lock_guard lock(mutex);
    closing = true;
  }
  changed.notify_one();
  if (thread.joinable())
    thread.join();
}

void NcclWatch::watch() {
  constexpr double longest = 0.1, looks = 20;
  Seconds pause(std::min(longest, options.timeoutSeconds / looks));
  std::unique_lock lock(mutex);
  while (!changed.wait_for(lock, pause, [this] { return closing; })) {
    uint64_t tag = ~uint64_t(0);
    Status status = stopped ? Status() : look(tag);
    if (status.ok())
      continue;
    lock.unlock();
    options.failed(status, tag);
    lock.lock();
  }
}

// Lists the operations of other communicators that the GPU is in: NCCL starts an operation after
// those that were enqueued before it, so that one of them may be the cause.
std::string NcclWatch::othersBefore(const NcclLine &than) const {
  std::string others;
  for (const NcclLine *line : lines) {
    uint32_t running = line->running->load(std::memory_order_acquire);
    if (line != &than && line->comm && running)
      others += text(others.empty() ? ", or to one of " : ", ", line->operations[running - 1].what);
  }
  return others;
}

// The host sees CUDA errors as well, and knows their cause; it has until the next check to report
// them.
Status NcclWatch::look(uint64_t &tag) {
  uint64_t done = steps;
  bool isNewStep = std::exchange(stepsSeen, done) != done;
  Clock::time_point now = Clock::now();
  for (NcclLine *each : lines) {
    NcclLine &line = *each;
    if (!line.comm)
      continue;
    uint32_t running = line.running->load(std::memory_order_acquire);
    const NcclLine::Operation *operation = running ? &line.operations[running - 1] : nullptr;
    tag = operation ? operation->tag : ~uint64_t(0);
    cu::NcclResult state = cu::ncclSuccess;
    DTC_NCCL_CALL(nccl, ncclCommGetAsyncError, line.comm, &state);
    bool isCudas = state == cu::ncclUnhandledCudaError;
    if (!isCudas || std::exchange(line.isDoubtful, true))
      DTC_RETURN_IF_ERROR(
          cu::check(nccl, operation ? operation->what.c_str() : line.name.c_str(), state));
    if (isNewStep || running != line.seen) {
      line.seen = running;
      line.since = now;
    } else if (operation && now - line.since > Seconds(options.timeoutSeconds)) {
      return Status::aborted(text(operation->what, ", in which this rank is number ", line.position,
                                  " of ", line.ranks, ", did not end within ",
                                  options.timeoutSeconds, " s: another rank has not come to it",
                                  othersBefore(line)));
    }
  }
  return {};
}

} // namespace dtc::rt
