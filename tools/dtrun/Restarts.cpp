#include "tools/dtrun/Restarts.h"

#include "runtime/base/Env.h"
#include "runtime/base/Text.h"
#include "runtime/checkpoint/Folder.h"
#include "runtime/comm/Launch.h"
#include "runtime/exec/Loader.h"
#include "runtime/format/Printable.h"
#include "tools/dtrun/Goodput.h"
#include "tools/dtrun/LoadProgram.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <poll.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dtc::rt {
using format::text;

bool RestartBudget::take(uint64_t newest) {
  if (newest > best)
    count = 0;
  best = std::max(best, newest);
  if (count == most)
    return false;
  ++count;
  return true;
}

double RestartBudget::waitSeconds() const {
  constexpr double longest = 30;
  return count < 2 ? 0 : std::min(std::exp2(static_cast<double>(count - 2)), longest);
}

bool mayMend(const LaunchResult &result) {
  return !result.byUser && result.outputError == 0 &&
         (result.exitCode == kExitRankLost || result.exitCode == kExitInternal);
}

namespace {

void say(const std::string &line) {
  std::fprintf(stderr, "dtrun: %s\n", format::printable(line).c_str());
}

// A folder that cannot be read counts as one without checkpoints.
uint64_t newestCheckpoint(const Options &options) {
  std::vector<uint64_t> steps;
  Status status = CheckpointFolder::steps(options.checkpointDir, steps);
  return status.ok() && !steps.empty() ? *std::max_element(steps.begin(), steps.end()) : 0;
}

Status hashProgram(const Options &options, uint64_t &hash) {
  std::unique_ptr<Executable> executable;
  TrustedKeys trusted;
  DTC_RETURN_IF_ERROR(loadProgram(options, trusted, executable));
  hash = XXH3_64bits(executable->bytes().data(), executable->bytes().size());
  return {};
}

std::string causeOf(const LaunchResult &result) {
  return !result.cause.empty()     ? result.cause
         : !result.message.empty() ? result.message
                                   : text("the ranks ended with exit code ", result.exitCode);
}

std::string stepText(uint64_t step) {
  return step ? text("after step ", step) : std::string("from the first step");
}

// A restart must run the same program as the first start.
bool isSameProgram(const Options &options, uint64_t wanted) {
  uint64_t found = 0;
  Status status = hashProgram(options, found);
  if (!status.ok())
    say(text("no restart: ", status.message()));
  else if (found != wanted)
    say(text("no restart: '", options.model,
             "' is another program than the job began with; start it with --resume"));
  return status.ok() && found == wanted;
}

} // namespace

Status runWithRestarts(const Options &options, std::vector<std::string> arguments,
                       LaunchResult &result) {
  LaunchOptions launch{.savesAtStop = !options.checkpointDir.empty(),
                       .isAlone = options.ranks <= 1};
  int ranks = std::max(options.ranks, 1);
  const char *spentVariable = envInfo(EnvVar::Spent).name;
  (void)::unsetenv(spentVariable);
  if (options.restarts == 0)
    return launchLocalRanks(ranks, arguments, result, launch);
  uint64_t program = 0;
  DTC_RETURN_IF_ERROR(hashProgram(options, program));
  RestartBudget budget(options.restarts, newestCheckpoint(options));
  JobSpent spent{.until = processBegan(), .seconds = std::nullopt};
  for (bool resumes = options.resume;; resumes = true) {
    if (resumes != options.resume && arguments.back() != "--resume")
      arguments.push_back("--resume");
    DTC_RETURN_IF_ERROR(launchLocalRanks(ranks, arguments, result, launch));
    if (!mayMend(result))
      return {};
    spent = afterFailure(spent, result.note, result.endedAt);
    (void)::setenv(spentVariable, asText(spent).c_str(), 1);
    uint64_t step = newestCheckpoint(options);
    if (!budget.take(step)) {
      say(text("no restart: ", budget.used(),
               budget.used() == 1 ? " restart has" : " restarts have",
               " brought no new checkpoint; the newest is ",
               step ? text("of step ", step) : std::string("none"), "; the job ended as ",
               causeOf(result)));
      result.message.clear();
      return {};
    }
    if (!isSameProgram(options, program))
      return {};
    say(text("restart ", budget.used(), " of ", options.restarts, ", ", stepText(step), ": ",
             causeOf(result)));
    (void)::poll(nullptr, 0, static_cast<int>(budget.waitSeconds() * 1000));
  }
}

} // namespace dtc::rt
