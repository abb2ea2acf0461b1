// Waits for MPI requests without stealing the cores that computing threads and other ranks need.
#pragma once

#include "runtime/comm/MpiCall.h"
#include "runtime/comm/StartUp.h"

#include <atomic>
#include <memory>
#include <mutex>

namespace dtc::rt {

// State that all groups of a process share.
struct MpiJob {
  double timeoutSeconds = 600;
  uint64_t pollMicros = 100;
  int maxElements = 0;
  uint64_t peerBytes = 0;
  PhaseListener *phases = nullptr;
  void (*reportEnd)(int rank) = nullptr;
  std::atomic<bool> failed = false;

  // Keeps the first reason.
  void fail(const std::string &reason);
  // Returns the first reason; empty if nothing failed.
  std::string reason();

private:
  std::mutex mutex;
  std::string firstReason;
};

// Tests `request` until it is done: at first at once, then letting others run between two tests,
// then sleeping for up to job.pollMicros. Aborted after the time-out, or when the job was given up;
// then the request is left alone, as only the end of the process can end it.
Status waitForMpi(MpiJob &job, MPI_Request &request, const CommCall &call);

} // namespace dtc::rt
