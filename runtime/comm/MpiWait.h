// Calls MPI so that an error becomes a Status, and waits for its requests without stealing the
// cores that computing threads and other ranks need.
#pragma once

#include "runtime/comm/Names.h"
#include "runtime/comm/StartUp.h"

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

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

// "all-reduce of 4 f32 on group 'dp' (rank 1 of 4): MPI_Test(...): MPI_ERR_TRUNCATE: message
// truncated"; Aborted, since the job cannot go on, and `job` is marked so.
Status mpiError(MpiJob &job, int code, const char *text, const CommCall &call);

// Tests `request` until it is done: at first at once, then letting others run between two tests,
// then sleeping for up to job.pollMicros. Aborted after the time-out, or when the job was given up;
// then the request is left alone, as only the end of the process can end it.
Status waitForMpi(MpiJob &job, MPI_Request &request, const CommCall &call);

} // namespace dtc::rt

// DTC_MPI(job, call, MPI_Comm_rank(comm, &rank)): returns from the caller on error.
#define DTC_MPI(job, call, ...)                                                                    \
  do {                                                                                             \
    int dtcMpiCode = (__VA_ARGS__);                                                                \
    if (dtcMpiCode != MPI_SUCCESS)                                                                 \
      return ::dtc::rt::mpiError(job, dtcMpiCode, #__VA_ARGS__, call);                             \
  } while (false)
