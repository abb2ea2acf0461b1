// dtrun: trains a model that dtc has compiled, as one rank of a job or as the one that starts the
// ranks.
#include "runtime/base/Env.h"
#include "runtime/base/Text.h"
#include "runtime/comm/Bootstrap.h"
#include "runtime/comm/Launch.h"
#include "runtime/exec/Agree.h"
#include "runtime/exec/Loader.h"
#include "tools/dtrun/Options.h"
#include "tools/dtrun/Train.h"

#include <climits>
#include <cstdio>
#include <unistd.h>

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
  if (!status.ok())
    std::fprintf(stderr, "dtrun: %s\n", status.message().c_str());
  return exitCodeOf(status);
}

Status checkRanks(const Executable &executable, const Options &options, int ranks) {
  size_t wanted = executable.ranks();
  if (wanted == static_cast<size_t>(ranks))
    return {};
  return Status::invalidArgument(text(executable.name(), " is compiled for ", wanted,
                                      wanted == 1 ? " rank" : " ranks", " and the job has ", ranks,
                                      "; run 'dtrun ", executable.name(), " -n ", wanted,
                                      "', or recompile for ", ranks, " devices"));
}

// The path of this program, so that ranks run the same one wherever it was found.
std::string ownPath(const char *fallback) {
  char path[PATH_MAX];
  ssize_t length = ::readlink("/proc/self/exe", path, sizeof(path));
  return length > 0 && length < PATH_MAX ? std::string(path, static_cast<size_t>(length))
                                         : std::string(fallback);
}

int startRanks(int argc, char **argv, const Options &options) {
  std::unique_ptr<Executable> executable;
  Status status = Executable::load(options.model, executable);
  if (status.ok())
    status = checkRanks(*executable, options, options.ranks);
  if (!status.ok())
    return report(status);
  executable.reset();
  std::vector<std::string> arguments{ownPath(argv[0])};
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  LaunchResult result;
  status = launchLocalRanks(options.ranks, arguments, result);
  if (!status.ok())
    return report(status);
  // A rank that ends with one of these has said why.
  bool told = result.exitCode == kExitUserError || result.exitCode == kExitDiverged ||
              result.exitCode == kExitInternal;
  if (!result.message.empty() && !told)
    std::fprintf(stderr, "dtrun: %s\n", result.message.c_str());
  return result.exitCode;
}

Status runInWorld(const Options &options, Comm &world, bool &diverged) {
  std::unique_ptr<Executable> executable;
  Status loaded = Executable::load(options.model, executable);
  if (loaded.ok())
    loaded = checkRanks(*executable, options, world.size());
  DTC_RETURN_IF_ERROR(agree(world, loaded));
  int threads = options.threads;
  if (threads == 0)
    DTC_RETURN_IF_ERROR(threadsPerRank(world, threads));
  return train(options, *executable, world, threads, diverged);
}

int runRank(const Options &options, const LaunchEnvironment &launch) {
  WorldOptions worldOptions{.launch = launch, .timeoutSeconds = options.timeoutSeconds};
  if (options.timeoutSeconds == 0) {
    Status status = envSeconds(EnvVar::Timeout, worldOptions.timeoutSeconds);
    if (!status.ok())
      return report(status);
  }
  std::unique_ptr<Comm> world;
  Status status = createWorld(worldOptions, world);
  if (!status.ok())
    return report(status);
  bool diverged = false;
  status = runInWorld(options, *world, diverged);
  // An error that all ranks agree on is told once; one of a rank that lost its peers is that rank's
  // own.
  if (world->rank() == 0 || status.statusCode() == StatusCode::Aborted)
    (void)report(status);
  int code = status.ok() && diverged ? kExitDiverged : exitCodeOf(status);
  if (code != kExitDone)
    world->abandon(status.message());
  return code;
}

} // namespace

int main(int argc, char **argv) {
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
  return runRank(options, launch);
}
