// Who of the ranks that a launcher was asked for has really started: each answers once.
#pragma once

#include "runtime/base/Status.h"

#include <set>
#include <string>

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
  // A rank below `ranks` that has not answered; -1 where all have.
  int firstMissing(int ranks) const;

private:
  int socket = -1;
  std::string address = "1";
  std::set<int> present;
};

// The rank's side: answers the launcher that this process was started by, if it was started by one.
void answerRollCall(int rank);

} // namespace dtc::rt
