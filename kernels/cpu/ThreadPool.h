// A small pool of threads that sleep when idle: several ranks may share a machine, so spinning
// would steal their cores.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace dtc::cpu {

// Returns once `value` differs from `old`: spins for some microseconds, then sleeps on a futex. Who
// changes the value has to notify.
void waitWhileEqual(const std::atomic<uint32_t> &value, uint32_t old);

// A loop's body for the time of a call: refers to a function and, other than std::function, allocates
// nothing for it.
class LoopBody {
public:
  template <typename Function>
  LoopBody(const Function &function)
      : function(&function), call([](const void *of, int64_t begin, int64_t end) {
          (*static_cast<const Function *>(of))(begin, end);
        }) {}
  void operator()(int64_t begin, int64_t end) const { call(function, begin, end); }

private:
  const void *function;
  void (*call)(const void *of, int64_t begin, int64_t end);
};

// Runs loops over a fixed number of threads, the caller's included. One loop at a time; loops
// inside loops run inline.
class ThreadPool {
public:
  // `threads` >= 1; 1 makes no thread at all.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int size() const;

  // Calls body(begin, end) on disjoint pieces that cover [0, range), each a multiple of `grain`
  // long but the last; returns when all are done. Example: parallelFor(10, 4, f) may call f(0, 8)
  // and f(8, 10).
  void parallelFor(int64_t range, int64_t grain, const LoopBody &body);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace dtc::cpu
