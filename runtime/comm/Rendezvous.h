// Rendezvous over TCP, by which the ranks of a job find each other without MPI.
// Rank 0 is the host: it listens until all ranks have come, and forwards their messages until they
// have connections of their own. All others are guests. Data from a socket is used only if it is a
// message of this job; any other peer is answered or dropped and does not delay the job.
#pragma once

#include "runtime/comm/Environment.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace dtc::rt {

// The connections of a rank to all others after the rendezvous.
class Rendezvous {
public:
  virtual ~Rendezvous() = default;
  // sent[r] goes to rank r, and received[r] becomes what rank r has sent to this one. Every rank
  // calls it, alike, and sends at most kMostParcel bytes to each. Aborted where ranks have left, or
  // have not spoken in time: names them.
  virtual Status exchange(const std::vector<std::string> &sent,
                          std::vector<std::string> &received) = 0;
  // Returns the address at which others reach this rank's machine, e.g. "10.0.0.7" or "::1".
  virtual const std::string &address() const = 0;
  // 16 bytes that only the ranks of this job know.
  virtual const std::string &token() const = 0;

  static constexpr size_t kMostParcel = 1024;
};

// Settings of a rendezvous.
struct RendezvousOptions {
  int rank = 0, size = 1;
  std::string host; // names or addresses of rank 0's host, separated by commas; one has to work
  std::string hostVariable = "MASTER_ADDR"; // variable that names the host, for messages
  // Numeric addresses of the host, separated by commas; empty: resolve `host`.
  std::string addresses;
  std::vector<uint16_t> ports; // candidate ports; rank 0 takes the first free one
  std::string job;             // identifier that the ranks of one job share
  double seconds = 120;        // seconds for all ranks to come, and then for each exchange
  bool isQuiet = false;        // says nothing of what rank 0 says as well
  // Set for a rendezvous that the job does not depend on (Attendance.h): messages only report who
  // has come, and it ends with Unavailable when this becomes true.
  const std::atomic<bool> *isOver = nullptr;
};

// Chooses the rendezvous of the job from the environment. Host: MASTER_ADDR, or the launcher's
// variables (RendezvousAddress.h). Port: DTC_RENDEZVOUS_PORT, or MASTER_PORT and those behind it,
// without that port itself if torchrun's agent listens there; else one that follows from the job's
// name if the launcher gives one, else 29500. Errors: InvalidArgument if a variable is no port, and
// if nothing names the host.
Status planRendezvous(const LaunchEnvironment &launch, const EnvironmentReader &read,
                      double seconds, RendezvousOptions &options);

// Resolves the names of `options.host` into `options.addresses`. Unavailable if none resolves.
// Serves threads that may not resolve names themselves: that reads the environment, which other
// threads may change.
Status findAddresses(RendezvousOptions &options);

// Returns when all ranks have come. Aborted after the time, naming those that are missing, and the
// hosts of the others; its message is empty on a quiet rank that rank 0 has told. InvalidArgument
// where this rank cannot be one of the job.
Status joinRendezvous(const RendezvousOptions &options, std::unique_ptr<Rendezvous> &rendezvous);

} // namespace dtc::rt
