// Calls MPI so that an error becomes a Status with the call's text and MPI's own words.
#pragma once

#include "runtime/comm/Names.h"

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <string>

namespace dtc::rt {

struct MpiJob;

// What a member is doing. It becomes words only in an error: calls are many and should not
// allocate.
struct MpiCall {
  const Comm *comm; // null: no group yet
  const char *operation;
  size_t count = 0;
  DataType type = DataType::U8;
  int peer = -1; // root, sender or receiver
  bool hasData = true;

  // "send of 4 f32, peer 1, on group 'dp' (rank 0 of 2)"
  std::string words() const;
};

// "all-reduce of 4 f32 on group 'dp' (rank 1 of 4): MPI_Test(...): MPI_ERR_TRUNCATE: message
// truncated"; Aborted, since the job cannot go on, and `job` is marked so.
Status mpiError(MpiJob &job, int code, const char *text, const MpiCall &call);

} // namespace dtc::rt

// DTC_MPI(job, call, MPI_Comm_rank(comm, &rank)): returns from the caller on error.
#define DTC_MPI(job, call, ...)                                                                    \
  do {                                                                                             \
    int dtcMpiCode = (__VA_ARGS__);                                                                \
    if (dtcMpiCode != MPI_SUCCESS)                                                                 \
      return ::dtc::rt::mpiError(job, dtcMpiCode, #__VA_ARGS__, call);                             \
  } while (false)
