// Calls MPI so that an error becomes a Status with the call's text and MPI's own words.
#pragma once

#include "runtime/comm/Names.h"

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

namespace dtc::rt {

struct MpiJob;

// "all-reduce of 4 f32 on group 'dp' (rank 1 of 4): MPI_Test(...): MPI_ERR_TRUNCATE: message
// truncated"; Aborted, since the job cannot go on, and `job` is marked so.
Status mpiError(MpiJob &job, int code, const char *text, const CommCall &call);

} // namespace dtc::rt

// DTC_MPI(job, call, MPI_Comm_rank(comm, &rank)): returns from the caller on error.
#define DTC_MPI(job, call, ...)                                                                    \
  do {                                                                                             \
    int dtcMpiCode = (__VA_ARGS__);                                                                \
    if (dtcMpiCode != MPI_SUCCESS)                                                                 \
      return ::dtc::rt::mpiError(job, dtcMpiCode, #__VA_ARGS__, call);                             \
  } while (false)
