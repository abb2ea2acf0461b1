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
  // calls it equally often, and sends at most kMostParcel bytes to each. Aborted where ranks have
  // left, or have not spoken in time: names them.
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

} // namespace dtc::rt
