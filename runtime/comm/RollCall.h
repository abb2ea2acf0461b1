// What ranks tell the launcher that started them: that they are there, and why the job ends.
#pragma once

#include "runtime/base/Status.h"

#include <set>
#include <string>
#include <string_view>

namespace dtc::rt {

// The launcher's side: a socket with an abstract name, which is in no file system. A rank that answers
// waits until the launcher has read it, so that no answer is lost.
class RollCall {
public:
  RollCall() = default;
  ~RollCall();
  RollCall(const RollCall &) = delete;
  RollCall &operator=(const RollCall &) = delete;

  // Without a socket nothing is known, and all ranks count as present.
  void open();
  // What ranks answer to, by DTRUN_CHILD; "1" without a socket.
  const std::string &name() const { return address; }
  // For poll; -1 without a socket.
  int descriptor() const { return socket; }
  // Takes the answers that have come.
  void read();
  // Whether none of `ranks` has answered. Of some hosts, those of others cannot.
  bool isDeserted() const { return socket >= 0 && present.empty(); }
  // Why the job ended, of the first that said so; empty where none has. And when that came, of
  // launchClock().
  const std::string &cause() const { return told; }
  double causeTime() const { return toldAt; }
  // What a rank left for the next start of the job, at last; empty where none has.
  const std::string &note() const { return left; }

private:
  int socket = -1;
  std::string address = "1";
  std::set<int> present;
  std::string told, left;
  double toldAt = 0;
};

// Seconds since this machine began, on which the launcher and the ranks that it hears are. Nobody sets this clock.
double launchClock();

// The rank's side: answers the launcher that this process was started by, if it was started by one.
void answerRollCall(int rank);
// And tells it why the job ends, in one line; for a rank or its keeper that is the first to know.
void tellLauncher(std::string_view cause);
// And leaves it what the next start of the job is to know; the last note counts. It never waits, so that
// one may get lost.
void leaveNote(std::string_view note);

} // namespace dtc::rt
