// Tests launch environments with the variables that launchers set.
#include "runtime/comm/Environment.h"
#include "runtime/comm/Bootstrap.h"
#include "runtime/comm/Loopback.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <thread>

namespace dtc::rt {
namespace {
using Variables = std::map<std::string, std::string>;

Status detect(const Variables &variables, LaunchEnvironment &found) {
  return detectLaunch(
      [&](const char *name) {
        auto at = variables.find(name);
        return at == variables.end() ? nullptr : at->second.c_str();
      },
      found);
}

TEST(DetectLaunch, IsOneRankWithoutALauncher) {
  LaunchEnvironment found;
  ASSERT_TRUE(detect({}, found).ok());
  EXPECT_EQ(found.launcher, Launcher::None);
  EXPECT_EQ(found.rank, 0);
  EXPECT_EQ(found.size, 1);
  EXPECT_EQ(found.localSize, 1);
}

TEST(DetectLaunch, ReadsOpenMpi) {
  LaunchEnvironment found;
  ASSERT_TRUE(detect({{"OMPI_COMM_WORLD_RANK", "1"},
                      {"OMPI_COMM_WORLD_SIZE", "4"},
                      {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                      {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                      {"SLURM_STEP_ID", "0"},
                      {"SLURM_PROCID", "0"},
                      {"SLURM_STEP_NUM_TASKS", "2"}},
                     found)
                  .ok());
  EXPECT_EQ(found.launcher, Launcher::OpenMpi);
  EXPECT_EQ(found.rank, 1);
  EXPECT_EQ(found.size, 4);
  EXPECT_EQ(found.localRank, 1);
  EXPECT_EQ(found.localSize, 2);
  EXPECT_EQ(found.source, "OMPI_COMM_WORLD_RANK=1, OMPI_COMM_WORLD_SIZE=4");
}

TEST(DetectLaunch, ReadsPmi) {
  LaunchEnvironment found;
  ASSERT_TRUE(detect({{"PMI_RANK", "3"},
                      {"PMI_SIZE", "8"},
                      {"MPI_LOCALRANKID", "1"},
                      {"MPI_LOCALNRANKS", "2"}},
                     found)
                  .ok());
  EXPECT_EQ(found.launcher, Launcher::Pmi);
  EXPECT_EQ(found.rank, 3);
  EXPECT_EQ(found.size, 8);
  EXPECT_EQ(found.localSize, 2);
}

TEST(DetectLaunch, ReadsSlurmInsideAStepOnly) {
  Variables variables = {{"SLURM_PROCID", "6"},         {"SLURM_NTASKS", "7"},
                         {"SLURM_STEP_NUM_TASKS", "7"}, {"SLURM_LOCALID", "0"},
                         {"SLURM_NODEID", "3"},         {"SLURM_STEP_TASKS_PER_NODE", "2(x3),1"}};
  LaunchEnvironment found;
  ASSERT_TRUE(detect(variables, found).ok());
  EXPECT_EQ(found.launcher, Launcher::None);
  variables["SLURM_STEP_ID"] = "0";
  ASSERT_TRUE(detect(variables, found).ok());
  EXPECT_EQ(found.launcher, Launcher::Slurm);
  EXPECT_EQ(found.rank, 6);
  EXPECT_EQ(found.size, 7);
  EXPECT_EQ(found.localRank, 0);
  EXPECT_EQ(found.localSize, 1);
  variables["SLURM_NODEID"] = "2";
  ASSERT_TRUE(detect(variables, found).ok());
  EXPECT_EQ(found.localSize, 2);
}

TEST(DetectLaunch, ReadsTorchrun) {
  Variables variables = {{"RANK", "1"}, {"WORLD_SIZE", "2"}};
  LaunchEnvironment found;
  EXPECT_EQ(detect(variables, found).message(),
            "reading the launch environment: RANK=1, WORLD_SIZE=2, but MASTER_ADDR is not set");
  variables["MASTER_ADDR"] = "node0";
  ASSERT_TRUE(detect(variables, found).ok());
  EXPECT_EQ(found.launcher, Launcher::Torchrun);
  EXPECT_EQ(found.rank, 1);
  // The environment is a pod of Kubernetes.
  EXPECT_EQ(found.localRank, 0);
  EXPECT_EQ(found.localSize, 1);
  variables["LOCAL_RANK"] = "1";
  variables["LOCAL_WORLD_SIZE"] = "2";
  ASSERT_TRUE(detect(variables, found).ok());
  EXPECT_EQ(found.localRank, 1);
  EXPECT_EQ(found.localSize, 2);
  // srun has started the agent of torchrun, one on each host.
  variables["SLURM_STEP_ID"] = variables["SLURM_PROCID"] = "0";
  variables["SLURM_STEP_NUM_TASKS"] = "1";
  ASSERT_TRUE(detect(variables, found).ok());
  EXPECT_EQ(found.launcher, Launcher::Slurm);
  variables["TORCHELASTIC_RUN_ID"] = "none";
  ASSERT_TRUE(detect(variables, found).ok());
  EXPECT_EQ(found.launcher, Launcher::Torchrun);
  EXPECT_EQ(found.size, 2);
}

TEST(CreateWorld, TakesWhatTheVariableAsksFor) {
  LaunchEnvironment launch;
  launch.launcher = Launcher::Torchrun;
  launch.size = 2;
  launch.source = "RANK=0, WORLD_SIZE=2";
  std::unique_ptr<Comm> world;
  ::setenv("DTC_COMM", "mpi", 1);
  Status status = createWorld({.launch = launch}, world);
  EXPECT_EQ(status.statusCode(), StatusCode::Unavailable);
  EXPECT_EQ(status.message(),
            "joining the job of RANK=0, WORLD_SIZE=2: these variables carry no MPI, which "
            "DTC_COMM=mpi asks for; leave it out, or start the ranks by mpirun, srun --mpi=pmix or "
            "dtrun -n 2");
  ::setenv("DTC_COMM", "nccl", 1);
  EXPECT_EQ(createWorld({.launch = launch}, world).message(),
            "environment variable DTC_COMM is 'nccl'; wanted mpi or gloo");
  ::unsetenv("DTC_COMM");
  ::setenv("DTC_GLOO_LIBRARY", "/nowhere/libdtc_gloo.so", 1);
  status = createWorld({.launch = launch}, world);
  ::unsetenv("DTC_GLOO_LIBRARY");
  EXPECT_EQ(status.statusCode(), StatusCode::Unavailable);
  EXPECT_EQ(status.message(),
            "loading the Gloo plugin libdtc_gloo.so: /nowhere/libdtc_gloo.so (no such file); build "
            "target dtc_gloo (which needs libgloo-dev) or set DTC_GLOO_LIBRARY");
}

TEST(DetectLaunch, RefusesWhatDoesNotFit) {
  LaunchEnvironment found;
  EXPECT_EQ(detect({{"RANK", "1"}}, found).message(),
            "reading the launch environment: RANK=1, WORLD_SIZE=(unset); wanted both or neither");
  EXPECT_EQ(detect({{"PMI_RANK", "4"}, {"PMI_SIZE", "4"}}, found).message(),
            "reading the launch environment: PMI_RANK=4, PMI_SIZE=4; wanted a rank below the "
            "number of ranks");
  EXPECT_EQ(detect({{"PMI_RANK", "one"}, {"PMI_SIZE", "4"}}, found).message(),
            "reading the launch environment: PMI_RANK is 'one'; wanted a whole number, 0 or more");
  for (const char *number : {"-1", "1x", " 1", "99999999999"})
    EXPECT_FALSE(detect({{"PMI_RANK", number}, {"PMI_SIZE", "4"}}, found).ok()) << number;
  EXPECT_FALSE(detect({{"PMI_RANK", "0"}, {"PMI_SIZE", "0"}}, found).ok());
  EXPECT_FALSE(detect({{"OMPI_COMM_WORLD_RANK", "1"},
                       {"OMPI_COMM_WORLD_SIZE", "4"},
                       {"OMPI_COMM_WORLD_LOCAL_SIZE", "8"}},
                      found)
                   .ok());
  for (const char *list : {"", "2(x", "2(x2", "0", "x", "2;1", "1"})
    EXPECT_EQ(detect({{"SLURM_STEP_ID", "0"},
                      {"SLURM_PROCID", "0"},
                      {"SLURM_STEP_NUM_TASKS", "4"},
                      {"SLURM_NODEID", "1"},
                      {"SLURM_STEP_TASKS_PER_NODE", list}},
                     found)
                  .ok(),
              *list == 0)
        << list; // an empty variable counts as unset
}

TEST(CreateWorld, NeedsNoMpiForOneRank) {
  std::unique_ptr<Comm> world;
  ASSERT_TRUE(createWorld({}, world).ok());
  EXPECT_EQ(world->size(), 1);
  EXPECT_EQ(world->name(), "world");
}

TEST(CreateWorld, NamesAPluginThatIsNotThere) {
  ::setenv("DTC_MPI_LIBRARY", "/nowhere/libdtc_mpi.so", 1);
  LaunchEnvironment launch;
  launch.launcher = Launcher::OpenMpi;
  launch.size = 2;
  std::unique_ptr<Comm> world;
  Status status = createWorld({.launch = launch}, world);
  ::unsetenv("DTC_MPI_LIBRARY");
  EXPECT_EQ(status.statusCode(), StatusCode::Unavailable);
  EXPECT_EQ(status.message(), "loading the MPI plugin libdtc_mpi.so: /nowhere/libdtc_mpi.so (no "
                              "such file); build target dtc_mpi or set DTC_MPI_LIBRARY");
}

// srun offers MPI nothing unless it is told to (MpiDefault=none, the default of Slurm).
TEST(CreateWorld, TakesGlooWhereSrunOffersNoPmi) {
  ::setenv("DTC_MPI_LIBRARY", "/nowhere/libdtc_mpi.so", 1);
  ::setenv("DTC_GLOO_LIBRARY", "/nowhere/libdtc_gloo.so", 1);
  Variables variables = {
      {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}};
  auto tried = [&] {
    WorldOptions options;
    EXPECT_TRUE(detect(variables, options.launch).ok());
    options.environment = [&](const char *name) {
      auto at = variables.find(name);
      return at == variables.end() ? nullptr : at->second.c_str();
    };
    std::unique_ptr<Comm> world;
    return createWorld(options, world).message();
  };
  EXPECT_TRUE(tried().starts_with("loading the Gloo plugin ")) << tried();
  variables["PMIX_RANK"] = "";
  EXPECT_TRUE(tried().starts_with("loading the Gloo plugin ")) << tried();
  variables["PMIX_RANK"] = "1"; // srun --mpi=pmix
  EXPECT_TRUE(tried().starts_with("loading the MPI plugin ")) << tried();
  variables.erase("PMIX_RANK");
  ::setenv("DTC_COMM", "mpi", 1);
  EXPECT_TRUE(tried().starts_with("loading the MPI plugin ")) << tried();
  for (const char *name : {"DTC_COMM", "DTC_MPI_LIBRARY", "DTC_GLOO_LIBRARY"})
    ::unsetenv(name);
}

TEST(ThreadsPerRank, SharesTheCoresAmongTheRanksOfAMachine) {
  auto alone = makeLoopbackWorld(1);
  int all = 0;
  ASSERT_TRUE(threadsPerRank(*alone[0], all).ok());
  EXPECT_GE(all, 1);
  auto world = makeLoopbackWorld(2);
  int halves[2] = {};
  std::thread peer([&] { EXPECT_TRUE(threadsPerRank(*world[1], halves[1]).ok()); });
  EXPECT_TRUE(threadsPerRank(*world[0], halves[0]).ok());
  peer.join();
  EXPECT_EQ(halves[0], std::max(all / 2, 1));
  EXPECT_EQ(halves[1], halves[0]);
}

TEST(ThreadsPerRank, ObeysTheVariable) {
  auto world = makeLoopbackWorld(1);
  int threads = 0;
  ::setenv("DTC_THREADS", "7", 1);
  ASSERT_TRUE(threadsPerRank(*world[0], threads).ok());
  EXPECT_EQ(threads, 7);
  ::setenv("DTC_THREADS", "99999", 1);
  EXPECT_EQ(threadsPerRank(*world[0], threads).message(),
            "environment variable DTC_THREADS is 99999; wanted at most 4096");
  ::unsetenv("DTC_THREADS");
}
} // namespace
} // namespace dtc::rt
