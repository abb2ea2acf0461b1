// Messages from ranks to the launcher that started them: their presence, and why the job ends.
#pragma once

#include "runtime/base/Status.h"

#include <set>
#include <string>
#include <string_view>

namespace dtc::rt {

// The launcher's side: a socket with an abstract name, which is in no file system. A rank that
// answers waits until the launcher has read it, so that no answer is lost.
class RollCall {
public:
  RollCall() = default;
  ~RollCall();
  RollCall(const RollCall &) = delete;
  RollCall &operator=(const RollCall &) = delete;

  // Opens the socket. Without one nothing is known, and all ranks count as present.
  void open();
  // Returns the address that ranks answer to, passed in DTRUN_CHILD; "1" without a socket.
  const std::string &name() const { return address; }
  // For poll; -1 without a socket.
  int descriptor() const { return socket; }
  // Takes the answers that have come.
  void read();
  // Returns true if none of `ranks` has answered. In a job on several hosts, ranks of other hosts
  // cannot.
  bool isDeserted() const { return socket >= 0 && present.empty(); }
  // Returns true if each of `ranks` ranks has reported its end.
  bool haveAllEnded(int ranks) const { return static_cast<int>(ended.size()) == ranks; }
  // Returns the first reported reason why the job ended, empty if there is none. causeTime() is the
  // time of the report by launchClock().
  const std::string &cause() const { return reported; }
  double causeTime() const { return reportedAt; }
  // Returns the last message of a rank to the next start of the job; empty if there is none.
  const std::string &note() const { return left; }

private:
  int socket = -1;
  std::string address = "1";
  std::set<int> present;
  std::set<std::string> ended; // ranks as text
  std::string reported, left;
  double reportedAt = 0;
};

// Seconds since this machine began, on which the launcher and the ranks that report to it are.
// Nobody sets this clock.
double launchClock();

// The rank's side: answers the launcher that this process was started by, if it was started by one.
void answerRollCall(int rank);
// And reports that this rank leaves MPI in order. MPI waits there until all ranks leave, so that
// all have reported before the first one exits.
void reportEnd(int rank);
// And tells it why the job ends, in one line; for a rank or its keeper that is the first to know.
void sendToLauncher(std::string_view cause);
// And leaves it what the next start of the job is to know; the last note counts. It never waits, so
// that one may get lost.
void leaveNote(std::string_view note);

} // namespace dtc::rt
