#include "runtime/cuda/CudaSteps.h"

#include <utility>

namespace dtc::rt {

EventPool::~EventPool() {
  for (cu::Event event : unused)
    (void)driver.cuEventDestroy(event);
}

Status EventPool::take(cu::Event &event) {
  if (unused.empty()) {
    DTC_CUDA(driver, cuEventCreate, &event, cu::eventDefault);
    return {};
  }
  event = unused.back();
  unused.pop_back();
  return {};
}

CudaSteps::~CudaSteps() {
  giveBack(open);
  for (Step &step : steps)
    giveBack(step);
  if (base)
    pool.give(base);
}

void CudaSteps::giveBack(Step &step) {
  for (const TimedWork &work : step.timed)
    for (cu::Event event : {work.begin, work.end})
      if (event)
        pool.give(event);
  for (cu::Event event : {step.begin, step.end})
    if (event)
      pool.give(event);
  step = {};
}

Status CudaSteps::start(cu::Stream stream) {
  DTC_RETURN_IF_ERROR(pool.take(base));
  DTC_CUDA(driver, cuEventRecord, base, stream);
  DTC_CUDA(driver, cuCtxSynchronize);
  return {};
}

Status CudaSteps::begin(cu::Stream stream, TimeRange *times) {
  if (!open.begin)
    DTC_RETURN_IF_ERROR(pool.take(open.begin));
  open.beginTimes = times;
  DTC_CUDA(driver, cuEventRecord, open.begin, stream);
  return {};
}

Status CudaSteps::time(cu::Stream stream, TimeRange *times, const std::function<Status()> &work) {
  TimedWork timed{.begin = nullptr, .end = nullptr, .times = times};
  DTC_RETURN_IF_ERROR(pool.take(timed.begin));
  DTC_CUDA(driver, cuEventRecord, timed.begin, stream);
  DTC_RETURN_IF_ERROR(work());
  DTC_RETURN_IF_ERROR(pool.take(timed.end));
  DTC_CUDA(driver, cuEventRecord, timed.end, stream);
  open.timed.push_back(timed);
  return {};
}

Status CudaSteps::end(cu::Stream stream, TimeRange *times, uint64_t &step) {
  if (!open.end)
    DTC_RETURN_IF_ERROR(pool.take(open.end));
  open.endTimes = times;
  DTC_CUDA(driver, cuEventRecord, open.end, stream);
  steps.push_back(std::exchange(open, {}));
  step = ++ended;
  return {};
}

Status CudaSteps::secondsOf(cu::Event event, double &seconds) const {
  float milliseconds = 0;
  DTC_CUDA(driver, cuEventElapsedTime, &milliseconds, base, event);
  seconds = baseSeconds + static_cast<double>(milliseconds) * 1e-3;
  return {};
}

Status CudaSteps::finish(Step &step) {
  double begin = 0, end = 0;
  DTC_RETURN_IF_ERROR(secondsOf(step.begin, begin));
  pool.give(std::exchange(base, std::exchange(step.begin, nullptr)));
  baseSeconds = begin;
  if (step.beginTimes)
    *step.beginTimes = {begin, begin};
  for (const TimedWork &work : step.timed) {
    DTC_RETURN_IF_ERROR(secondsOf(work.begin, work.times->begin));
    DTC_RETURN_IF_ERROR(secondsOf(work.end, work.times->end));
  }
  DTC_RETURN_IF_ERROR(secondsOf(step.end, end));
  if (step.endTimes)
    *step.endTimes = {end, end};
  giveBack(step);
  return {};
}

Status CudaSteps::poll() {
  while (!steps.empty()) {
    cu::Result result = driver.cuEventQuery(steps.front().end);
    if (result == cu::errorNotReady)
      return {};
    DTC_RETURN_IF_ERROR(cu::check(driver, "cuEventQuery", result));
    DTC_RETURN_IF_ERROR(finish(steps.front()));
    steps.pop_front();
    ++done;
  }
  return {};
}

} // namespace dtc::rt
