// The pool's threads take pieces of a loop from a shared counter and sleep between loops.
#include "kernels/cpu/ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace dtc::cpu {

namespace {

// True while this thread runs the body of a loop: a loop started within it runs inline.
thread_local bool insideLoop = false;

// Iterations of the spin loop. A loop is often followed by another within microseconds, and a
// wake-up costs about 5 to 50 us. Spinning much longer would take the core from another rank on the
// same machine.
constexpr int kSpins = 2000;

// Pieces per thread: enough to balance a delayed thread, few enough to keep each piece long.
constexpr int64_t kPiecesPerThread = 8;

void pauseCpu() { __builtin_ia32_pause(); }

} // namespace

void waitWhileEqual(const std::atomic<uint32_t> &value, uint32_t old) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (value.load(std::memory_order_acquire) != old)
      return;
    pauseCpu();
  }
  value.wait(old, std::memory_order_acquire);
}

struct ThreadPool::Impl {
  std::vector<std::thread> workers;
  std::mutex busy; // held by the thread whose loop is running

  // The loop in progress; written before `generation` is raised, read after it is seen to be.
  const LoopBody *body = nullptr;
  int64_t range = 0;
  int64_t piece = 1;
  std::atomic<int64_t> next{0};

  std::atomic<uint32_t> generation{0}; // raised once per loop, and to stop
  std::atomic<uint32_t> running{0};    // workers that have not finished the loop yet
  std::atomic<bool> stopping{false};

  void takePieces() {
    insideLoop = true;
    for (;;) {
      int64_t begin = next.fetch_add(piece, std::memory_order_relaxed);
      if (begin >= range)
        break;
      (*body)(begin, std::min(range, begin + piece));
    }
    insideLoop = false;
  }

  void work() {
    uint32_t seen = 0;
    for (;;) {
      waitWhileEqual(generation, seen);
      ++seen;
      if (stopping.load(std::memory_order_relaxed))
        return;
      takePieces();
      if (running.fetch_sub(1, std::memory_order_acq_rel) == 1)
        running.notify_one();
    }
  }
};

ThreadPool::ThreadPool(int threads) : impl(std::make_unique<Impl>()) {
  for (int i = 1; i < threads; ++i)
    impl->workers.emplace_back([state = impl.get()] { state->work(); });
}

ThreadPool::~ThreadPool() {
  impl->stopping.store(true, std::memory_order_relaxed);
  impl->generation.fetch_add(1, std::memory_order_release);
  impl->generation.notify_all();
  for (std::thread &worker : impl->workers)
    worker.join();
}

int ThreadPool::size() const { return static_cast<int>(impl->workers.size()) + 1; }

void ThreadPool::parallelFor(int64_t range, int64_t grain, const LoopBody &body) {
  if (range <= 0)
    return;
  grain = std::max<int64_t>(grain, 1);
  // Runs inline if another stream runs a loop: kernels give the same result for any division of the
  // range.
  if (impl->workers.empty() || range <= grain || insideLoop || !impl->busy.try_lock()) {
    body(0, range);
    return;
  }
  Impl &state = *impl;
  int64_t pieces = size() * kPiecesPerThread;
  int64_t piece = (range + pieces - 1) / pieces;
  state.piece = (piece + grain - 1) / grain * grain;
  state.range = range;
  state.body = &body;
  state.next.store(0, std::memory_order_relaxed);
  state.running.store(static_cast<uint32_t>(state.workers.size()), std::memory_order_relaxed);
  state.generation.fetch_add(1, std::memory_order_release);
  state.generation.notify_all();
  state.takePieces();
  for (uint32_t left; (left = state.running.load(std::memory_order_acquire)) != 0;)
    waitWhileEqual(state.running, left);
  state.busy.unlock();
}

} // namespace dtc::cpu
