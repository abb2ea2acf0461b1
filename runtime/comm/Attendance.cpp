#include "runtime/comm/Attendance.h"

#include "runtime/base/Text.h"
#include "runtime/comm/JoinRendezvous.h"
#include "runtime/comm/Rendezvous.h"

#include <chrono>
#include <string_view>
#include <sys/resource.h>

namespace dtc::rt {
using format::text;

// Rank 0 has a connection to each, and leaves MPI as many files as it may want. Limits are the same
// on all hosts, as a rule, so that nobody looks for a rank 0 that may not.
static bool mayConnectTo(int ranks) {
  constexpr rlim_t kOthers = 512;
  rlimit files = {};
  return ::getrlimit(RLIMIT_NOFILE, &files) == 0 &&
         files.rlim_cur >= static_cast<rlim_t>(ranks) + kOthers;
}

Attendance::Attendance(const LaunchEnvironment &launch, const EnvironmentReader &read,
                       double seconds) {
  if (launch.localSize >= launch.size || !mayConnectTo(launch.size))
    return;
  // Ignores variables that address ranks without MPI.
  EnvironmentReader others = [&read](const char *name) {
    return std::string_view(name).starts_with("MASTER_") ? nullptr : read(name);
  };
  RendezvousOptions options;
  if (!planRendezvous(launch, others, seconds, options).ok())
    return;
  // MPI changes the environment, which asking for names reads, once this constructor is left.
  if (Status status = launch.rank == 0 ? Status() : findAddresses(options); !status.ok()) {
    known = status.message();
    return;
  }
  options.isOver = &isOver;
  isAsking = true;
  thread = std::thread([this, options] {
    std::unique_ptr<Rendezvous> rendezvous;
    Status status = joinRendezvous(options, rendezvous);
    std::lock_guard lock(mutex);
    isAsking = false;
    changed.notify_all();
    isComplete = status.ok();
    if (isComplete)
      known = text("all ", options.size, " ranks of the job have started dtrun");
    else if (status.statusCode() == StatusCode::Aborted)
      known = status.message();
  });
}

Attendance::~Attendance() {
  isOver = true;
  if (thread.joinable())
    thread.join();
}

std::string Attendance::words(double patience) {
  std::unique_lock lock(mutex);
  (void)changed.wait_for(lock, std::chrono::duration<double>(patience), [&] { return !isAsking; });
  return known;
}

bool Attendance::haveAllCome() {
  std::lock_guard lock(mutex);
  return isComplete;
}

} // namespace dtc::rt
