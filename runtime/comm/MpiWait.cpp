// Polling with a back-off and a deadline.
#include "runtime/comm/MpiWait.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <chrono>
#include <sched.h>
#include <thread>

namespace dtc::rt {
using format::text;

Status mpiError(MpiJob &job, int code, const char *text, const CommCall &call) {
  char words[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  if (MPI_Error_string(code, words, &length) != MPI_SUCCESS)
    length = 0;
  std::string failure =
      format::text(text, ": ", std::string_view(words, static_cast<size_t>(length)));
  job.fail(failure);
  return Status::aborted(format::text(call.words(), ": ", failure));
}

void MpiJob::fail(const std::string &reason) {
  std::lock_guard lock(mutex);
  if (!failed)
    firstReason = reason;
  failed = true;
}

std::string MpiJob::reason() {
  std::lock_guard lock(mutex);
  return firstReason;
}

Status waitForMpi(MpiJob &job, MPI_Request &request, const CommCall &call) {
  using Clock = std::chrono::steady_clock;
  constexpr int spins = 100;                                // some microseconds
  constexpr auto yieldFor = std::chrono::microseconds(500); // about one round of messages
  auto started = Clock::now();
  double sleepMicros = 5;
  for (int test = 0;; ++test) {
    int done = 0;
    DTC_MPI(job, call, MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    if (done)
      return Status::okStatus();
    if (test < spins)
      continue;
    if (job.failed)
      return Status::aborted(text(call.words(), ": ", job.reason()));
    auto waited = Clock::now() - started;
    double seconds = std::chrono::duration<double>(waited).count();
    if (seconds > job.timeoutSeconds &&
        (!job.phases || seconds > job.phases->patienceOf(job.timeoutSeconds))) {
      std::string suspects = job.phases ? job.phases->suspects() : std::string();
      std::string failure =
          text("not complete after ", job.timeoutSeconds, " s; ",
               suspects.empty() ? "another rank died, hangs or is in another operation" : suspects);
      job.fail(failure);
      return Status::aborted(text(call.words(), ": ", failure));
    }
    if (waited < yieldFor) {
      ::sched_yield();
      continue;
    }
    std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(sleepMicros));
    sleepMicros = std::min(sleepMicros * 1.25, static_cast<double>(job.pollMicros));
  }
}

} // namespace dtc::rt
