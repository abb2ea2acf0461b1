#include "runtime/cuda/HostWork.h"

#include "kernels/cpu/ThreadPool.h"

#include <utility>

namespace dtc::rt {

HostWork::HostWork(const cu::Driver &driver, int threads,
                   std::function<void(const Status &, uint64_t tag)> failed)
    : driver(driver), threads(threads), failed(std::move(failed)) {}

HostWork::~HostWork() = default;

void HostWork::prepare(const Command &command, StreamWork &work,
                       std::function<void(uint64_t tag)> &announce) {
  if (!pool)
    pool = std::make_unique<cpu::ThreadPool>(threads);
  Job *job = &jobs.emplace_back();
  job->owner = this;
  job->command = command;
  announce = [job](uint64_t tag) { job->tag = tag; };
  work = [this, job](cu::Stream stream) -> Status {
    DTC_CUDA(driver, cuLaunchHostFunc, stream, call, job);
    return {};
  };
}

// Called on a thread of the driver, where no CUDA call is allowed.
void HostWork::call(void *job) {
  const Job &called = *static_cast<const Job *>(job);
  called.owner->run(called);
}

void HostWork::run(const Job &job) {
  if (stopped)
    return;
  std::lock_guard lock(mutex);
  if (Status status = code.run(job.command, *pool); !status.ok())
    failed(status, job.tag);
}

} // namespace dtc::rt
