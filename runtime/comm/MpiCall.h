// Calls MPI so that an error becomes a Status with the call's text and MPI's own words.
#pragma once

#include "runtime/base/Status.h"

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <string>

namespace dtc::rt {

struct MpiJob;

// "all-reduce of 4 f32 on group 'dp' (rank 1 of 4): MPI_Test(...): MPI_ERR_TRUNCATE: message
// truncated"; Aborted, since the job cannot go on, and `job` is marked so.
Status mpiError(MpiJob &job, int code, const char *call, const std::string &what);

} // namespace dtc::rt

// DTC_MPI(job, what, MPI_Comm_rank(comm, &rank)): returns from the caller on error.
#define DTC_MPI(job, what, ...)                                                                    \
  do {                                                                                             \
    int dtcMpiCode = (__VA_ARGS__);                                                                \
    if (dtcMpiCode != MPI_SUCCESS)                                                                 \
      return ::dtc::rt::mpiError(job, dtcMpiCode, #__VA_ARGS__, what);                             \
  } while (false)
