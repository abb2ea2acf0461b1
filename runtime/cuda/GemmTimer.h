// Measures which algorithm of a product is fastest here.
#pragma once

#include "runtime/cuda/CudaSteps.h"
#include "runtime/cuda/GemmPlan.h"

#include <chrono>

namespace dtc::rt {

class GemmTimer {
public:
  using Clock = std::chrono::steady_clock;

  GemmTimer(const cu::Driver &driver, EventPool &pool, cu::Stream stream, void *workspace)
      : driver(driver), pool(pool), stream(stream), workspace(workspace) {}
  ~GemmTimer();

  // Chooses the fastest algorithm of `plan`, of those that do; of alike ones the first. The first that does where `deadline`
  // passes before each was run; what lies where the product writes is lost. Unavailable where none does.
  Status choose(GemmPlan &plan, const GemmOperands &operands, Clock::time_point deadline);

private:
  // Seconds of each of `runs`.
  Status time(const GemmPlan &plan, const GemmOperands &operands, int runs, double &seconds);

  const cu::Driver &driver;
  EventPool &pool;
  cu::Stream stream;
  void *workspace;
  cu::Event begin = nullptr, end = nullptr;
};

} // namespace dtc::rt
