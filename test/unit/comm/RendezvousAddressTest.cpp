// Tests where rank 0 is, from the variables of launchers and from wrong ones.
#include "runtime/comm/RendezvousAddress.h"
#include "runtime/comm/JoinRendezvous.h"
#include "runtime/comm/Rendezvous.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace dtc::rt {
namespace {

using Variables = std::map<std::string, std::string>;

EnvironmentReader readerOf(const Variables &variables) {
  return [&variables](const char *name) -> const char * {
    auto at = variables.find(name);
    return at == variables.end() ? nullptr : at->second.c_str();
  };
}

LaunchEnvironment rankOf(Launcher launcher, int rank, int size, int localSize) {
  LaunchEnvironment launch;
  launch.launcher = launcher;
  launch.rank = rank;
  launch.size = size;
  launch.localSize = localSize;
  launch.source = "VARIABLES";
  return launch;
}

std::string firstOf(std::string_view list) {
  std::string host;
  Status status = firstHostOf(list, host);
  EXPECT_EQ(status.ok(), !host.empty()) << list;
  return status.ok() ? host : "refused: " + status.message();
}

TEST(FirstHostOf, TakesTheFirstNumberOfEachBracket) {
  EXPECT_EQ(firstOf("r[1-2]n[03-04,7],gpu4"), "r1n03");
  EXPECT_EQ(firstOf("node[003-007,12],gpu4"), "node003");
  EXPECT_EQ(firstOf("node[8-10]"), "node8");
  EXPECT_EQ(firstOf("gpu4,node[1-2]"), "gpu4");
  EXPECT_EQ(firstOf("rack-1.n[2]-ib.site"), "rack-1.n2-ib.site");
  EXPECT_EQ(firstOf("n[000000000000000000000000000001-3]"), "n000000000000000000000000000001");
  EXPECT_EQ(firstOf("a,[[[["), "a"); // only the first is of interest
}

TEST(FirstHostOf, RefusesWhatIsNoListOfHosts) {
  for (const char *list :
       {"",          ",",         "node[",      "node[]", "node[1-]",   "node[-1]",
        "node[a-b]", "node[1,]",  "node[1--2]", "node]",  "node[1[2]]", "-rf",
        ".a",        "a b",       "a;b",        "$(id)",  "a\nb",       "[1-3]",
        "127",       "node[1x2]", "a/b",        "a:80",   "\x1b[31m"})
    EXPECT_TRUE(firstOf(list).starts_with("refused: ")) << list << " gives " << firstOf(list);
  EXPECT_TRUE(firstOf(std::string(1 << 20, 'a')).ends_with("a name that is too long"));
  EXPECT_TRUE(firstOf("n[" + std::string(1 << 20, '1') + "]").ends_with("a name that is too long"));
  EXPECT_LT(firstOf(std::string(1 << 20, '[')).size(), 200u); // the part of it that is shown
}

// The result has only letters, digits, '-', '.' and '_', whatever the input is.
TEST(FirstHostOf, GivesNothingButNames) {
  std::mt19937 random(7);
  const std::string letters = "an09[]-,. \\\"'";
  for (int times = 0; times < 20000; ++times) {
    std::string list, host;
    for (size_t length = random() % 12; length > 0; --length)
      list += letters[random() % letters.size()];
    if (!firstHostOf(list, host).ok())
      continue;
    EXPECT_EQ(host.find_first_not_of("an09-.x"), std::string::npos) << list << " gives " << host;
    EXPECT_NE(host.find_first_not_of("0123456789"), std::string::npos) << list;
  }
}

TEST(AddressesOf, TakesThoseOfAllNetworks) {
  EXPECT_EQ(addressesOf("4711.0;tcp://10.0.0.7,192.168.0.7:39627;tcp6://[fd00::7]:57325"),
            "10.0.0.7,192.168.0.7,fd00::7");
  EXPECT_EQ(addressesOf("4711.0;tcp://10.0.0.7:1"), "10.0.0.7");
  for (const char *uri : {"", "4711.0", "tcp://", "tcp6://[]:1", "tcp://host:1", "tcp://1.2.3:4",
                          "usock;/tmp/x", "tcp6://10.0.0.7:1", "tcp://fd00::7:1", ";;;"})
    EXPECT_EQ(addressesOf(uri), "") << uri;
  std::string many = "tcp://1.1.1.1";
  for (int times = 0; times < 1000; ++times)
    many += ",1.1.1.1";
  EXPECT_EQ(addressesOf(many + ":1").size(), 16 * 8 - 1u);
}

TEST(FindRendezvousAddress, IsTheFirstNodeOfASlurmStep) {
  Variables variables = {{"SLURM_JOB_ID", "123"},
                         {"SLURM_STEP_ID", "4"},
                         {"SLURM_JOB_NODELIST", "node[1-9]"},
                         {"SLURM_STEP_NODELIST", "node[3-4]"},
                         {"SLURM_DISTRIBUTION", "cyclic:block"},
                         {"SLURMD_NODENAME", "node3"}};
  RendezvousAddress rankZero;
  LaunchEnvironment launch = rankOf(Launcher::Slurm, 0, 8, 4);
  ASSERT_TRUE(findRendezvousAddress(launch, readerOf(variables), rankZero).ok());
  EXPECT_EQ(rankZero.host, "node3");
  EXPECT_EQ(rankZero.variable, "SLURM_STEP_NODELIST");
  EXPECT_EQ(rankZero.job, "slurm 123.4");
  // The same applies to srun --mpi=pmi2, and if only the job has a list.
  variables.erase("SLURM_STEP_NODELIST");
  variables["SLURMD_NODENAME"] = "node1";
  launch.launcher = Launcher::Pmi;
  ASSERT_TRUE(findRendezvousAddress(launch, readerOf(variables), rankZero).ok());
  EXPECT_EQ(rankZero.host, "node1");
  EXPECT_EQ(rankZero.variable, "SLURM_JOB_NODELIST");
  variables.erase("SLURM_STEP_ID"); // another launcher in a batch script
  ASSERT_TRUE(findRendezvousAddress(launch, readerOf(variables), rankZero).ok());
  EXPECT_EQ(rankZero.host + rankZero.job, "");
}

TEST(FindRendezvousAddress, IsNotGuessedWhereRankZeroMayBeElsewhere) {
  const Variables usual = {{"SLURM_JOB_ID", "123"},
                           {"SLURM_STEP_ID", "4"},
                           {"SLURM_STEP_NODELIST", "node[3-4]"},
                           {"SLURMD_NODENAME", "node3"}};
  auto messageWith = [&](const Variables &more, int rank) {
    Variables variables = more;
    variables.insert(usual.begin(), usual.end());
    RendezvousAddress rankZero;
    return findRendezvousAddress(rankOf(Launcher::Slurm, rank, 8, 4), readerOf(variables), rankZero)
        .message();
  };
  const std::string arbitrary =
      "joining the job of VARIABLES: tasks are distributed by a host file, so that rank 0 may be "
      "on any node of the step; set MASTER_ADDR to rank 0's host";
  EXPECT_EQ(messageWith({{"SLURM_DISTRIBUTION", "arbitrary"}}, 0), arbitrary);
  EXPECT_EQ(messageWith({{"SLURM_HOSTFILE", "hosts"}}, 5), arbitrary);
  EXPECT_EQ(messageWith({{"SLURM_HOSTFILE", "hosts"}, {"SLURM_DISTRIBUTION", "block"}}, 5), "");
  EXPECT_EQ(
      messageWith({{"SLURM_HET_SIZE", "2"}}, 5),
      "joining the job of VARIABLES: the job has 2 components (SLURM_HET_SIZE), of which each "
      "knows its own nodes alone; set MASTER_ADDR to rank 0's host");
  EXPECT_EQ(
      messageWith({{"SLURMD_NODENAME", "node4"}}, 0),
      "joining the job of VARIABLES: rank 0 is on node 'node4', and SLURM_STEP_NODELIST begins "
      "with 'node3'; set MASTER_ADDR to rank 0's host");
  EXPECT_EQ(messageWith({{"SLURMD_NODENAME", "node4"}}, 5), "");
  EXPECT_EQ(
      messageWith({{"SLURM_STEP_NODELIST", "node["}}, 5),
      "reading the launch environment: SLURM_STEP_NODELIST is 'node[', whose brackets hold no "
      "numbers; set MASTER_ADDR to rank 0's host");
}

TEST(FindRendezvousAddress, IsMpirunsHost) {
  Variables variables = {{"PMIX_NAMESPACE", "77"},
                         {"OMPI_MCA_orte_hnp_uri", "76.0;tcp://10.0.0.1:5"},
                         {"OMPI_MCA_orte_local_daemon_uri", "76.0;tcp://10.0.0.1:5"}};
  RendezvousAddress rankZero;
  ASSERT_TRUE(
      findRendezvousAddress(rankOf(Launcher::OpenMpi, 0, 4, 2), readerOf(variables), rankZero)
          .ok());
  EXPECT_EQ(rankZero.host, "10.0.0.1");
  EXPECT_EQ(rankZero.job, "pmix 77");
  ASSERT_TRUE(
      findRendezvousAddress(rankOf(Launcher::OpenMpi, 0, 4, 4), readerOf(variables), rankZero)
          .ok());
  EXPECT_EQ(rankZero.host, "127.0.0.1"); // all ranks are on this machine
  variables["OMPI_MCA_orte_local_daemon_uri"] = "76.1;tcp://10.0.0.2:6";
  EXPECT_EQ(
      findRendezvousAddress(rankOf(Launcher::OpenMpi, 0, 4, 2), readerOf(variables), rankZero)
          .message(),
      "joining the job of VARIABLES: rank 0 is not on mpirun's host, where the others would look "
      "for it; set MASTER_ADDR to rank 0's host");
  EXPECT_TRUE(
      findRendezvousAddress(rankOf(Launcher::OpenMpi, 2, 4, 2), readerOf(variables), rankZero)
          .ok());
  variables["OMPI_MCA_orte_hnp_uri"] = "tcp://evil:1";
  EXPECT_EQ(findRendezvousAddress(rankOf(Launcher::OpenMpi, 2, 4, 2), readerOf(variables), rankZero)
                .message(),
            "reading the launch environment: OMPI_MCA_orte_hnp_uri is 'tcp://evil:1', which has no "
            "address of mpirun's host; set MASTER_ADDR to rank 0's host");
}

TEST(PlanRendezvous, GivesStepsOfOneJobPortsAndNamesOfTheirOwn) {
  Variables variables = {
      {"SLURM_JOB_ID", "123"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NODELIST", "a"}};
  RendezvousOptions first, second, other;
  LaunchEnvironment launch = rankOf(Launcher::Slurm, 1, 2, 1);
  ASSERT_TRUE(planRendezvous(launch, readerOf(variables), 1, first).ok());
  ASSERT_TRUE(planRendezvous(rankOf(Launcher::Slurm, 0, 2, 1), readerOf(variables), 1, other).ok());
  EXPECT_EQ(first.host, "a");
  EXPECT_EQ(first.hostVariable, "SLURM_STEP_NODELIST");
  EXPECT_EQ(first.job, "slurm 123.0");
  EXPECT_EQ(first.ports, other.ports); // all ranks look at the same ports
  EXPECT_EQ(first.ports.size(), 9u);
  EXPECT_GE(first.ports.front(), 20000);
  EXPECT_LT(first.ports.back(), 32768);
  variables["SLURM_STEP_ID"] = "1";
  ASSERT_TRUE(planRendezvous(launch, readerOf(variables), 1, second).ok());
  EXPECT_NE(first.job, second.job);
  EXPECT_TRUE(first.ports.back() < second.ports.front() ||
              second.ports.back() < first.ports.front());
  variables["MASTER_PORT"] = "4000";
  ASSERT_TRUE(planRendezvous(launch, readerOf(variables), 1, second).ok());
  EXPECT_EQ(second.ports.front(), 4000);
  variables["MASTER_ADDR"] = "b";
  ASSERT_TRUE(planRendezvous(launch, readerOf(variables), 1, second).ok());
  EXPECT_EQ(second.host, "b");
  EXPECT_EQ(second.hostVariable, "MASTER_ADDR");
  // The error tells that no variable gives the place.
  variables = {{"SLURM_STEP_ID", "0"}};
  EXPECT_EQ(planRendezvous(launch, readerOf(variables), 1, second).message(),
            "joining the job of VARIABLES: MASTER_ADDR is not set; it names rank 0's host");
}

} // namespace
} // namespace dtc::rt
