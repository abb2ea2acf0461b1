// A small pool of threads that sleep when idle: several ranks may share a machine, so spinning
// would steal their cores.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace dtc::cpu {

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
  void parallelFor(int64_t range, int64_t grain, const std::function<void(int64_t, int64_t)> &body);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace dtc::cpu
