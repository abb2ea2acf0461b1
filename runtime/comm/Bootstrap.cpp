// Chooses and opens the backend of this process's job.
#include "runtime/comm/Bootstrap.h"

#include "runtime/base/Env.h"
#include "runtime/base/Text.h"
#include "runtime/comm/Loopback.h"
#include "runtime/comm/MpiPlugin.h"
#include "runtime/comm/RollCall.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <limits.h>
#include <sched.h>
#include <unistd.h>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dtc::rt {
using format::text;

// Where the plugin may lie, best first.
static std::vector<std::string> pluginPaths() {
  if (std::string chosen = envText(EnvVar::MpiLibrary); !chosen.empty())
    return {chosen};
  std::vector<std::string> paths;
  char program[PATH_MAX];
  ssize_t length = ::readlink("/proc/self/exe", program, sizeof(program));
  if (length > 0 && static_cast<size_t>(length) < sizeof(program)) {
    std::string folder(program, static_cast<size_t>(length));
    folder.resize(folder.rfind('/'));
    paths = {folder + "/libdtc_mpi.so", folder + "/../lib/libdtc_mpi.so",
             folder + "/../lib/dtc/libdtc_mpi.so"};
  }
  paths.push_back("libdtc_mpi.so");
  return paths;
}

// The plugin stays open until the process ends: MPI leaves threads and handlers behind.
static Status openPlugin(MpiCreateWorld *&create) {
  std::string tried;
  for (const std::string &path : pluginPaths()) {
    if (path.find('/') != std::string::npos && ::access(path.c_str(), F_OK) != 0) {
      tried += text(tried.empty() ? "" : ", ", path, " (no such file)");
      continue;
    }
    // Global: Open MPI's own plugins look up libmpi's symbols among those of the program.
    void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
      tried += text(tried.empty() ? "" : ", ", ::dlerror());
      continue;
    }
    auto *version = reinterpret_cast<MpiPluginVersion *>(::dlsym(library, kMpiPluginVersionSymbol));
    create = reinterpret_cast<MpiCreateWorld *>(::dlsym(library, kMpiCreateWorldSymbol));
    if (!version || !create || version() != kMpiPluginVersion)
      return Status::unavailable(text("loading the MPI plugin '", path,
                                      "': it is of another version of dtc; wanted version ",
                                      kMpiPluginVersion, "; rebuild target dtc_mpi"));
    return Status::okStatus();
  }
  return Status::unavailable(text("loading the MPI plugin libdtc_mpi.so: ", tried,
                                  "; build target dtc_mpi or set ",
                                  envInfo(EnvVar::MpiLibrary).name));
}

static Status createMpiWorld(const WorldOptions &options, std::unique_ptr<Comm> &world) {
  MpiCreateWorld *create = nullptr;
  DTC_RETURN_IF_ERROR(openPlugin(create));
  MpiOptions mpi;
  mpi.timeoutSeconds = options.timeoutSeconds;
  mpi.maxElements = options.maxElements;
  mpi.phases = options.phases;
  DTC_RETURN_IF_ERROR(envUnsigned(EnvVar::PollMicros, mpi.pollMicros));
  DTC_RETURN_IF_ERROR(envUnsigned(EnvVar::PeerBytes, mpi.peerBytes));
  Status status;
  create(mpi, world, status);
  DTC_RETURN_IF_ERROR(status);
  const LaunchEnvironment &launch = options.launch;
  if (world->size() != launch.size || world->rank() != launch.rank) {
    status = Status::unavailable(text("joining the job: ", launch.source, ", but MPI says rank ",
                                      world->rank(), " of ", world->size(),
                                      "; start the ranks by mpirun, or by srun --mpi=pmix"));
    world->abandon("MPI sees another job than the environment");
    world.reset();
    return status;
  }
  return Status::okStatus();
}

Status createWorld(const WorldOptions &options, std::unique_ptr<Comm> &world) {
  const LaunchEnvironment &launch = options.launch;
  answerRollCall(launch.rank);
  if (launch.size == 1) {
    world = std::move(makeLoopbackWorld(1, options.timeoutSeconds)[0]);
    return Status::okStatus();
  }
  if (launch.launcher == Launcher::Torchrun)
    return Status::unavailable(
        text("joining the job of ", launch.source,
             ": torchrun's variables carry no MPI, which this build needs for more than one rank; "
             "start the ranks by mpirun, srun --mpi=pmix or dtrun -n ",
             launch.size));
  return createMpiWorld(options, world);
}

Status threadsPerRank(Control &world, int &threads) {
  // Ranks that name the same machine and the same cores share them.
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  bool known = ::sched_getaffinity(0, sizeof(allowed), &allowed) == 0;
  int cores = known ? CPU_COUNT(&allowed) : 1;
  char host[HOST_NAME_MAX + 1] = {};
  (void)::gethostname(host, HOST_NAME_MAX);
  auto mine = static_cast<int64_t>(
      XXH3_64bits_withSeed(host, sizeof(host), XXH3_64bits(&allowed, sizeof(allowed))));
  std::vector<int64_t> all(static_cast<size_t>(world.size()));
  DTC_RETURN_IF_ERROR(world.allGather(&mine, all.data(), 1, DataType::I64));
  auto sharing = static_cast<int>(std::count(all.begin(), all.end(), mine));
  threads = std::max(cores / std::max(sharing, 1), 1);

  uint64_t wanted = 0;
  DTC_RETURN_IF_ERROR(envUnsigned(EnvVar::Threads, wanted));
  constexpr uint64_t most = 4096;
  if (wanted > most)
    return Status::invalidArgument(text("environment variable ", envInfo(EnvVar::Threads).name,
                                        " is ", wanted, "; wanted at most ", most));
  if (wanted > 0)
    threads = static_cast<int>(wanted);
  return Status::okStatus();
}

} // namespace dtc::rt
