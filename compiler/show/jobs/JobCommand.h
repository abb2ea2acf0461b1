// The command of a rank, for all starters. Internal to this folder.
#pragma once

#include "compiler/show/jobs/Job.h"

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace dtc::jobs {

// Exit codes of dtrun after which another start would end in the same way: wrong input, bad usage,
// training that diverged.
inline constexpr int kFinalCodes[] = {1, 2, 4};
// Seconds that ranks have to save a checkpoint when they are told to end.
inline constexpr int64_t kGraceSeconds = 120;

// Returns the words of dtrun: program and flags, with --resume if the job is started again.
std::vector<std::string> commandOf(const JobRequest &request);
// Returns words as a line of a shell's script.
std::string lineOf(const std::vector<std::string> &words);

// Returns the environment of all ranks, by name.
std::vector<std::pair<std::string, std::string>> environmentOf(const JobRequest &request);

// Returns a bash script that starts the ranks of one node, whose number is in the variable `node`,
// and ends with the exit code of one that failed. SIGTERM is passed on to the ranks, which then
// save a checkpoint.
std::string nodeScript(const JobRequest &request, const std::string &node);

// Returns the loop of a script around `start`, a command line that starts all ranks: again after
// an exit code that is not final, request.restarts times.
std::string restartLoop(const JobRequest &request, const std::string &start);

// Returns true if dtrun's flags have `flag`, as "--x V" or "--x=V".
bool hasFlag(const JobRequest &request, llvm::StringRef flag);

} // namespace dtc::jobs
