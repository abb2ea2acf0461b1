// dtrun trains a model that dtc has compiled. It runs as one rank of a job, or as the process that
// starts the ranks.
#include "runtime/base/Env.h"
#include "runtime/base/Text.h"
#include "runtime/comm/Agree.h"
#include "runtime/comm/Bootstrap.h"
#include "runtime/comm/Launch.h"
#include "runtime/comm/RollCall.h"
#include "runtime/exec/Loader.h"
#include "runtime/format/Counted.h"
#include "runtime/format/Printable.h"
#include "runtime/monitor/BytesMoved.h"
#include "runtime/monitor/Keeper.h"
#include "runtime/monitor/WatchedComm.h"
#include "tools/cli/AddressSpace.h"
#include "tools/cli/EndWithWords.h"
#include "tools/dtrun/LoadProgram.h"
#include "tools/dtrun/Options.h"
#include "tools/dtrun/Restarts.h"
#include "tools/dtrun/SameJob.h"
#include "tools/dtrun/TerminalView.h"
#include "tools/dtrun/Train.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

DTC_NEED_ADDRESS_SPACE(
    "dtrun: memory ran out before the program began; raise its limit (ulimit -v)\n")

namespace {

using namespace dtc::rt;
using dtc::format::text;

int exitCodeOf(const Status &status) {
  switch (status.statusCode()) {
  case StatusCode::Ok:
    return kExitDone;
  case StatusCode::Aborted:
    return kExitRankLost;
  case StatusCode::Internal:
    return kExitInternal;
  default:
    return kExitUserError;
  }
}

int report(const Status &status) {
  if (!status.ok() && !status.message().empty()) // otherwise rank 0 prints it
    std::fprintf(stderr, "dtrun: %s\n", dtc::format::printable(status.message()).c_str());
  return exitCodeOf(status);
}

Status checkRanks(const Executable &executable, const Options &options, int ranks) {
  size_t wanted = executable.ranks();
  if (wanted == static_cast<size_t>(ranks))
    return {};
  return Status::invalidArgument(
      text(executable.name(), " is compiled for ", dtc::format::counted(wanted, "rank"),
           " and the job has ", ranks, "; run 'dtrun ", executable.name(), " -n ", wanted,
           "', or recompile for ", dtc::format::counted(static_cast<uint64_t>(ranks), "device")));
}

// Returns the path of this program, so that ranks run the same one wherever it was found.
std::string ownPath(const char *fallback) {
  char path[PATH_MAX];
  ssize_t length = ::readlink("/proc/self/exe", path, sizeof(path));
  return length > 0 && length < PATH_MAX ? std::string(path, static_cast<size_t>(length))
                                         : std::string(fallback);
}

int startRanks(int argc, char **argv, const Options &options) {
  std::unique_ptr<Executable> executable;
  TrustedKeys trusted;
  Status status = loadProgram(options, trusted, executable);
  if (status.ok())
    status = checkRanks(*executable, options, std::max(options.ranks, 1));
  if (!status.ok())
    return report(status);
  executable.reset();
  // Rank 0 draws on the terminal itself, because mpirun buffers what it prints.
  if (std::string terminal = TerminalView::terminalOf(options); !terminal.empty())
    (void)::setenv(envInfo(EnvVar::Terminal).name, terminal.c_str(), 1);
  else
    (void)::unsetenv(envInfo(EnvVar::Terminal).name);
  std::vector<std::string> arguments{ownPath(argv[0])};
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  LaunchResult result;
  status = runWithRestarts(options, arguments, result);
  if (!status.ok())
    return report(status);
  // The reader of stdout has closed the pipe. Ends like a single rank that writes to such a pipe.
  if (result.outputError == EPIPE) {
    (void)std::signal(SIGPIPE, SIG_DFL);
    (void)std::raise(SIGPIPE);
  }
  // A rank that ends by itself with one of these codes has printed the reason. It is not at fault
  // if others kept it waiting.
  bool hasReported =
      result.exitCode == kExitDiverged || result.exitCode == kExitInternal ||
      (result.byRank && (result.exitCode == kExitUserError || result.exitCode == kExitRankLost ||
                         result.exitCode == kExitStopped));
  if (!result.message.empty() && !hasReported)
    std::fprintf(stderr, "dtrun: %s\n", dtc::format::printable(result.message).c_str());
  return result.exitCode;
}

Status runInWorld(const Options &options, Comm &world, StartUp &startUp, Progress *progress,
                  TrainEnd &end) {
  startUp.enter(Phase::ComparingJob);
  DTC_RETURN_IF_ERROR(checkSameDtrun(world));
  if (progress)
    DTC_RETURN_IF_ERROR(introduceKeepers(world, *progress));
  startUp.enter(Phase::ReadingProgram);
  std::unique_ptr<Executable> executable;
  TrustedKeys trusted;
  Status loaded = loadProgram(options, trusted, executable);
  if (loaded.ok())
    loaded = checkRanks(*executable, options, world.size());
  DTC_RETURN_IF_ERROR(agree(world, loaded));
  DTC_RETURN_IF_ERROR(checkSameJob(world, options, *executable, trusted));
  // All ranks call this, even if one has --threads.
  int threads = 1;
  DTC_RETURN_IF_ERROR(agree(world, threadsPerRank(world, threads)));
  return train(options, *executable, world, options.threads ? options.threads : threads, startUp,
               progress, end);
}

struct Timeouts {
  Patience patience;       // longestSeconds is --timeout
  double startSeconds = 0; // for a phase of the start
  double silenceSeconds = 0;
};

Status readTimeouts(const Options &options, Timeouts &timeouts) {
  double &seconds = timeouts.patience.longestSeconds;
  seconds = options.timeoutSeconds;
  if (seconds == 0)
    DTC_RETURN_IF_ERROR(envSeconds(EnvVar::Timeout, seconds));
  DTC_RETURN_IF_ERROR(envSeconds(EnvVar::StartTimeout, timeouts.startSeconds));
  DTC_RETURN_IF_ERROR(envSeconds(EnvVar::HangTimeout, timeouts.patience.hangSeconds));
  DTC_RETURN_IF_ERROR(envSeconds(EnvVar::SilenceTimeout, timeouts.silenceSeconds));
  timeouts.startSeconds = std::min(timeouts.startSeconds, seconds);
  timeouts.patience.startSeconds = timeouts.startSeconds;
  timeouts.patience.hangSeconds = std::min(timeouts.patience.hangSeconds, seconds);
  // Without this count, a rank that reads cannot be told from one that hangs.
  if (bytesMovedBy(::getpid()) == 0)
    timeouts.patience.startSeconds = seconds;
  return {};
}

StartUpOptions startOptions(double seconds, double workSeconds, Progress *progress, bool isKept) {
  StartUpOptions options{.seconds = seconds, .workSeconds = workSeconds};
  if (isKept)
    options.isWatched = [progress] { return progress->isWatched(); };
  if (progress)
    options.onPhase = [progress](Phase phase) {
      progress->enterPhase(static_cast<uint32_t>(phase));
    };
  return options;
}

// Runs this process as one rank of the job. `progress` is null in a job of one rank. `isKept` means
// that it has a keeper.
int runRank(const Options &options, const LaunchEnvironment &launch, const Timeouts &timeouts,
            Progress *progress, bool isKept) {
  // A collective ends by itself only if no keeper has ended the job before.
  double seconds = timeouts.patience.longestSeconds + (isKept ? 10 : 0);
  StartUp startUp(launch, startOptions(timeouts.startSeconds, seconds, progress, isKept));
  std::unique_ptr<Comm> world;
  Status status = createWorld({.launch = launch,
                               .timeoutSeconds = seconds,
                               .startSeconds = timeouts.startSeconds,
                               .phases = &startUp},
                              world);
  if (!status.ok())
    return report(status);
  if (progress)
    world = watch(std::move(world), *progress);
  TrainEnd end;
  status = runInWorld(options, *world, startUp, progress, end);
  startUp.done();
  // An error that all ranks agree on is printed once. If a rank lost its peers, the error is its
  // own, and its keeper reports it, because the keeper may know of an earlier error.
  bool isLost = status.statusCode() == StatusCode::Aborted;
  if (isLost && isKept)
    progress->say(status.message());
  else if (world->rank() == 0 || end.isOwn || isLost)
    (void)report(status);
  if (end.isOwn && ((isLost && !isKept) || status.statusCode() == StatusCode::Internal))
    sendToLauncher(dtc::format::printable(status.message()));
  int code = !status.ok()   ? exitCodeOf(status)
             : end.diverged ? kExitDiverged
             : end.stopped  ? kExitStopped
                            : kExitDone;
  if (code != kExitDone)
    world->abandon(status.message());
  else if (progress)
    progress->enter(Activity::Finished);
  return code;
}

int startRank(const Options &options, LaunchEnvironment launch) {
  launch.parent = ::getppid();
  Timeouts timeouts;
  uint64_t wantsKeeper = 0;
  Status status = readTimeouts(options, timeouts);
  if (status.ok())
    status = envUnsigned(EnvVar::Keeper, wantsKeeper);
  if (!status.ok())
    return report(status);
  // A job of one rank runs under debuggers and profilers, so it has no keeper unless restarts need
  // one.
  if (launch.size == 1 && options.restarts == 0)
    return runRank(options, launch, timeouts, nullptr, false);
  if (wantsKeeper)
    return keepRank(
        {launch, timeouts.patience, timeouts.silenceSeconds, options.logDir},
        [&](Progress &progress) { return runRank(options, launch, timeouts, &progress, true); });
  auto page = std::make_unique<ProgressPage>();
  Progress progress(*page, -1);
  return runRank(options, launch, timeouts, &progress, false);
}

} // namespace

int main(int argc, char **argv) {
  dtc::installLastWords({"dtrun",
                         "use fewer --threads, compile for more devices, or raise the limits of "
                         "memory and processes (ulimit -v, ulimit -u)",
                         kExitUserError, kExitInternal});
  std::signal(SIGXFSZ, SIG_IGN); // a file that may not grow further is an error of write()
  Options options;
  int exitCode = kExitDone;
  if (!parseOptions(argc, argv, options, exitCode))
    return exitCode;
  LaunchEnvironment launch;
  Status status = detectLaunch(launch);
  if (!status.ok())
    return report(status);
  if (options.ranks > 0 && !isLaunchedRank()) {
    if (launch.launcher != Launcher::None) {
      std::fprintf(stderr,
                   "dtrun: -n starts ranks itself, but %s says that this is one rank of a job; "
                   "leave out -n\n",
                   launch.source.c_str());
      return kExitBadUsage;
    }
    if (options.ranks > 1)
      return startRanks(argc, argv, options);
  }
  if (options.restarts > 0 && !isLaunchedRank()) {
    if (launch.launcher == Launcher::None)
      return startRanks(argc, argv, options);
    std::fprintf(
        stderr,
        "dtrun: --restarts wants to start the ranks itself, and %s says that this is one "
        "of a job; use 'dtrun -n', or leave it out and let the launcher start the job again "
        "with --resume\n",
        launch.source.c_str());
    return kExitBadUsage;
  }
  return startRank(options, launch);
}
