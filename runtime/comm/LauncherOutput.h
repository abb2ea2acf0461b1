// Reads the launcher's stderr: passes the ranks' lines on, keeps what mpirun says of a rank's end.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dtc::rt {

// The end of the rank that ended the job.
struct RankEnd {
  int rank = -1;
  int signal = 0;        // signal that killed it; 0 if it exited
  int exitCode = 0;      // exit code if it exited
  bool tooEarly = false; // it exited with code 0 while others went on
};

// Open MPI explains a job's end in blocks between two lines of dashes, which would bury the message
// of the rank that failed. Those that are understood are taken out; all else passes.
// Example: feed("loss 3\n-----...\nmpirun noticed that process rank 2 with PID 0 on node vm exited
// on signal 9 (Killed).\n-----...\n") returns "loss 3\n", and end() is {.rank = 2, .signal = 9}.
class LauncherOutput {
public:
  // The part of all bytes so far that is to be passed on and was not returned yet.
  std::string feed(std::string_view bytes);
  // Returns the rest of the output at the end of the stream.
  std::string finish();
  const std::optional<RankEnd> &end() const { return found; }

private:
  void line(std::string_view text, std::string &out);
  bool understand(const std::string &block);

  std::string partial; // a line that has no end yet and may start or belong to a block
  std::string block;   // lines since the opening dashes
  bool inBlock = false, midLine = false;
  std::optional<RankEnd> found;
};

} // namespace dtc::rt
