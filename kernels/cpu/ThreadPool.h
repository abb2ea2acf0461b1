// A small pool of threads that sleep when idle: several ranks may share a machine, so spinning
// would steal their cores.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace dtc::cpu {

// Returns once `value` differs from `old`: spins for some microseconds, then sleeps on a futex. The
// thread that changes the value must notify.
void waitWhileEqual(const std::atomic<uint32_t> &value, uint32_t old);

// A reference to a loop's body for the time of a call; unlike std::function it allocates nothing.
class LoopBody {
public:
  template <typename Function>
  LoopBody(const Function &function)
      : function(&function), call([](const void *of, int64_t begin, int64_t end) {
          (*static_cast<const Function *>(of))(begin, end);
        }) {}
  // Calls the body for [begin, end).
  void operator()(int64_t begin, int64_t end) const { call(function, begin, end); }

private:
  const void *function;
  void (*call)(const void *of, int64_t begin, int64_t end);
};

// Runs loops over a fixed number of threads, including the caller. One loop runs at a time; nested
// loops run inline.
class ThreadPool {
public:
  // `threads` >= 1; with 1 no thread is created.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  // Returns the number of threads, including the caller.
  int size() const;

  // Calls body(begin, end) on disjoint pieces that cover [0, range), each except the last a
  // multiple of `grain` long; returns when all are done. Example: parallelFor(10, 4, f) may call
  // f(0, 8) and f(8, 10).
  void parallelFor(int64_t range, int64_t grain, const LoopBody &body);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace dtc::cpu
