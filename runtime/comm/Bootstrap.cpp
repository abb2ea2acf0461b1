// Chooses and opens the backend of this process's job.
#include "runtime/comm/Bootstrap.h"

#include "runtime/base/Env.h"
#include "runtime/base/Text.h"
#include "runtime/comm/GlooPlugin.h"
#include "runtime/comm/JoinRendezvous.h"
#include "runtime/comm/Loopback.h"
#include "runtime/comm/MpiPlugin.h"
#include "runtime/comm/Rendezvous.h"
#include "runtime/comm/RollCall.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <limits.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dtc::rt {
using format::text;

namespace {
// A library that is opened only where it is needed, and what it has to have.
struct Plugin {
  const char *name; // "MPI"
  std::string file; // "libdtc_mpi.so"
  EnvVar variable;  // names another file
  const char *target, *package;
  const char *versionSymbol;
  int version;
  const char *createSymbol;
  int flags; // flags of dlopen, besides RTLD_NOW
};
} // namespace

// Returns the candidate paths of a plugin, best first.
static std::vector<std::string> pluginPaths(const Plugin &plugin) {
  if (std::string chosen = envText(plugin.variable); !chosen.empty())
    return {chosen};
  std::vector<std::string> paths;
  char program[PATH_MAX];
  ssize_t length = ::readlink("/proc/self/exe", program, sizeof(program));
  if (length > 0 && static_cast<size_t>(length) < sizeof(program)) {
    std::string folder(program, static_cast<size_t>(length));
    folder.resize(folder.rfind('/'));
    for (const char *relative : {"/", "/../lib/", "/../lib/dtc/"})
      paths.push_back(folder + relative + plugin.file);
  }
  paths.push_back(plugin.file);
  return paths;
}

// The plugin stays open until the process ends: it leaves threads and handlers behind.
template <typename Create> static Status openPlugin(const Plugin &plugin, Create *&create) {
  std::string tried;
  for (const std::string &path : pluginPaths(plugin)) {
    if (path.find('/') != std::string::npos && ::access(path.c_str(), F_OK) != 0) {
      tried += text(tried.empty() ? "" : ", ", path, " (no such file)");
      continue;
    }
    void *library = ::dlopen(path.c_str(), RTLD_NOW | plugin.flags);
    if (!library) {
      tried += text(tried.empty() ? "" : ", ", ::dlerror());
      continue;
    }
    auto *version = reinterpret_cast<int (*)()>(::dlsym(library, plugin.versionSymbol));
    create = reinterpret_cast<Create *>(::dlsym(library, plugin.createSymbol));
    if (!version || !create || version() != plugin.version)
      return Status::unavailable(text("loading the ", plugin.name, " plugin '", path,
                                      "': it is of another version of dtc; wanted version ",
                                      plugin.version, "; rebuild target ", plugin.target));
    return Status::okStatus();
  }
  return Status::unavailable(text("loading the ", plugin.name, " plugin ", plugin.file, ": ", tried,
                                  "; build target ", plugin.target, plugin.package, " or set ",
                                  envInfo(plugin.variable).name));
}

// The name and version of the MPI that the plugin is linked with, as it says itself; "MPI" if it
// does not. Example: "Open MPI v4.1.4".
static std::string mpiName() {
  using GetVersion = int(char *, int *);
  auto *getVersion =
      reinterpret_cast<GetVersion *>(::dlsym(RTLD_DEFAULT, "MPI_Get_library_version"));
  char version[8192] = {}; // MPI_MAX_LIBRARY_VERSION_STRING is 256 or 8192
  int length = 0;
  if (!getVersion || getVersion(version, &length) != 0)
    return "MPI";
  std::string name(version, ::strnlen(version, sizeof(version)));
  name.resize(std::min({name.find(','), name.find('\n'), name.size()}));
  return name;
}

// Another job than the launcher's variables tell: a launcher that this MPI does not understand
// leaves each rank alone.
static Status otherJob(const LaunchEnvironment &launch, const Comm &world) {
  std::string name = mpiName();
  std::string said = text("joining the job: ", launch.source, ", but MPI says rank ", world.rank(),
                          " of ", world.size());
  if (world.size() > 1)
    return Status::unavailable(text(said, "; start the ranks by mpirun, or by srun --mpi=pmix"));
  return Status::unavailable(
      text(said, ": dtrun is linked with ", name, ", which does not understand what started it",
           launch.launcher == Launcher::Pmi ? ", perhaps the mpiexec of another MPI" : "",
           "; start the ranks by the mpirun of ", name, " or by srun --mpi=pmix, or set ",
           envInfo(EnvVar::Comm).name, "=gloo and MASTER_ADDR to rank 0's host"));
}

static Status createMpiWorld(const WorldOptions &options, std::unique_ptr<Comm> &world) {
  // Global: Open MPI's own plugins look up libmpi's symbols among those of the program.
  const Plugin plugin = {.name = "MPI",
                         .file = "libdtc_mpi.so",
                         .variable = EnvVar::MpiLibrary,
                         .target = "dtc_mpi",
                         .package = "",
                         .versionSymbol = kMpiPluginVersionSymbol,
                         .version = kMpiPluginVersion,
                         .createSymbol = kMpiCreateWorldSymbol,
                         .flags = RTLD_GLOBAL};
  MpiCreateWorld *create = nullptr;
  DTC_RETURN_IF_ERROR(openPlugin(plugin, create));
  MpiOptions mpi;
  mpi.timeoutSeconds = options.timeoutSeconds;
  mpi.maxElements = options.maxElements;
  mpi.phases = options.phases;
  mpi.reportEnd = reportEnd;
  DTC_RETURN_IF_ERROR(envUnsigned(EnvVar::PollMicros, mpi.pollMicros));
  DTC_RETURN_IF_ERROR(envUnsigned(EnvVar::PeerBytes, mpi.peerBytes));
  Status status;
  create(mpi, world, status);
  DTC_RETURN_IF_ERROR(status);
  const LaunchEnvironment &launch = options.launch;
  if (world->size() != launch.size || world->rank() != launch.rank) {
    status = otherJob(launch, *world);
    world->abandon("MPI sees another job than the environment");
    world.reset();
    return status;
  }
  return Status::okStatus();
}

// Each rank is connected to each, and rank 0 to all that it meets.
static Status allowConnections(int ranks) {
  rlimit files = {};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0)
    return {};
  files.rlim_cur = files.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &files);
  constexpr rlim_t kOthers = 64;
  rlim_t wanted = 2 * static_cast<rlim_t>(ranks) + kOthers;
  if (files.rlim_max >= wanted)
    return {};
  return Status::unavailable(text("connecting to the other ranks: a process may open ",
                                  files.rlim_max, " files, and a job of ", ranks, " ranks needs ",
                                  wanted, "; raise it by ulimit -n"));
}

static EnvironmentReader environmentOf(const WorldOptions &options) {
  if (options.environment)
    return options.environment;
  return [](const char *name) -> const char * { return std::getenv(name); };
}

// Returns true if the launcher offers a process management interface, which MPI needs to find its
// job. Slurm offers none by default (MpiDefault=none).
static bool offersPmi(const EnvironmentReader &read) {
  for (const char *name : {"PMIX_RANK", "PMIX_NAMESPACE", "PMI_RANK", "PMI_FD"})
    if (const char *value = read(name); value && *value)
      return true;
  return false;
}

static Status createGlooWorld(const WorldOptions &options, std::unique_ptr<Comm> &world) {
  const Plugin plugin = {.name = "Gloo",
                         .file = "libdtc_gloo.so",
                         .variable = EnvVar::GlooLibrary,
                         .target = "dtc_gloo",
                         .package = " (which needs libgloo-dev)",
                         .versionSymbol = kGlooPluginVersionSymbol,
                         .version = kGlooPluginVersion,
                         .createSymbol = kGlooCreateWorldSymbol,
                         .flags = RTLD_LOCAL};
  // First: a rank that can't talk is not to be met.
  GlooCreateWorld *create = nullptr;
  DTC_RETURN_IF_ERROR(openPlugin(plugin, create));
  RendezvousOptions plan;
  DTC_RETURN_IF_ERROR(
      planRendezvous(options.launch, environmentOf(options), options.startSeconds, plan));
  DTC_RETURN_IF_ERROR(allowConnections(plan.size));
  auto enter = [&] {
    if (options.phases)
      options.phases->enter(Phase::Rendezvous);
  };
  enter();
  std::unique_ptr<Rendezvous> rendezvous;
  DTC_RETURN_IF_ERROR(joinRendezvous(plan, rendezvous));
  enter();
  GlooOptions gloo;
  gloo.rank = plan.rank;
  gloo.size = plan.size;
  gloo.timeoutSeconds = options.timeoutSeconds;
  gloo.maxElements = options.maxElements;
  gloo.phases = options.phases;
  gloo.rendezvous = rendezvous.get();
  gloo.interface = envText(EnvVar::Interface);
  Status status;
  create(gloo, world, status);
  return status;
}

Status createWorld(const WorldOptions &options, std::unique_ptr<Comm> &world) {
  const LaunchEnvironment &launch = options.launch;
  answerRollCall(launch.rank);
  if (launch.size == 1) {
    world = std::move(makeLoopbackWorld(1, options.timeoutSeconds)[0]);
    return Status::okStatus();
  }
  std::string wanted = envText(EnvVar::Comm);
  if (!wanted.empty() && wanted != "mpi" && wanted != "gloo")
    return Status::invalidArgument(text("environment variable ", envInfo(EnvVar::Comm).name,
                                        " is '", wanted, "'; wanted mpi or gloo"));
  bool hasNoMpi = launch.launcher == Launcher::Torchrun ||
                  (launch.launcher == Launcher::Slurm && !offersPmi(environmentOf(options)));
  if (wanted == "gloo" || (wanted.empty() && hasNoMpi))
    return createGlooWorld(options, world);
  if (launch.launcher == Launcher::Torchrun)
    return Status::unavailable(text("joining the job of ", launch.source,
                                    ": these variables carry no MPI, which ",
                                    envInfo(EnvVar::Comm).name,
                                    "=mpi asks for; leave it out, or start the ranks by mpirun, "
                                    "srun --mpi=pmix or dtrun -n ",
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
