// How the ranks of a job find each other where no MPI introduces them: a rendezvous over TCP.
//
// Rank 0 is the host: it listens until all ranks have come, and carries what they have to tell each other before they
// have connections of their own. All others are guests. What comes in over a socket is believed only where it is a message
// of this job; whoever else connects is answered or dropped, and does not keep the job waiting.
#pragma once

#include "runtime/comm/Environment.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace dtc::rt {

class Meeting {
public:
  virtual ~Meeting() = default;
  // sent[r] goes to rank r, and received[r] becomes what rank r has sent to this one. Every rank calls it, alike, and
  // sends at most kMostParcel bytes to each. Aborted where ranks have left, or have not spoken in time: names them.
  virtual Status exchange(const std::vector<std::string> &sent,
                          std::vector<std::string> &received) = 0;
  // Where the others reach this rank's machine, e.g. "10.0.0.7" or "::1".
  virtual const std::string &address() const = 0;
  // 16 bytes that only the ranks of this job know.
  virtual const std::string &token() const = 0;

  static constexpr size_t kMostParcel = 1024;
};

struct MeetingOptions {
  int rank = 0, size = 1;
  std::string host; // of rank 0: names or addresses, parted by commas, of which one will do
  std::string hostVariable = "MASTER_ADDR"; // that names it, for messages
  std::string addresses;       // of the host, as numbers, parted by commas; empty: as its names say
  std::vector<uint16_t> ports; // of which rank 0 takes the first that is free
  std::string job;             // what ranks of one job have alike, and others not
  double seconds = 120;        // that all ranks may take to come, and then to speak
  bool isQuiet = false;        // says nothing of what rank 0 says as well
  // Of a meeting on which nothing depends (Attendance.h): messages say who has come, and no more; and it ends, Unavailable,
  // when this becomes true.
  const std::atomic<bool> *isOver = nullptr;
};

// Where the ranks of the job meet, by the environment. The host: MASTER_ADDR, or what the launcher tells (MeetingPlace.h). The
// port: DTC_RENDEZVOUS_PORT, or MASTER_PORT and those behind it, without that port itself where torchrun's agent listens
// there; without either, one that follows from the job's name where the launcher gives it one, else 29500.
// InvalidArgument where a variable is no port, and where nothing tells the host.
Status planMeeting(const LaunchEnvironment &launch, const EnvironmentReader &read, double seconds,
                   MeetingOptions &options);

// Where the names of `options.host` lead to, as numbers, into `options.addresses`. Unavailable where none leads anywhere.
// For threads that may not ask for names themselves: that reads the environment, which others may be changing.
Status findAddresses(MeetingOptions &options);

// Returns when all ranks have come. Aborted after the time, naming those that are missing, and the hosts of the others;
// its message is empty on a quiet rank that rank 0 has told. InvalidArgument where this rank cannot be one of the job.
Status meet(const MeetingOptions &options, std::unique_ptr<Meeting> &meeting);

} // namespace dtc::rt
