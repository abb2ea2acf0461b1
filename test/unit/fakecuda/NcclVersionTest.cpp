// Checks which builds of NCCL are refused, and what is changed in the environment that it reads.
#include "runtime/cuda/NcclVersion.h"
#include "runtime/cuda/CudaEnvironment.h"

#include <gtest/gtest.h>

#include <map>

namespace dtc::rt {
namespace {

std::string refusal(int version, int toolkit, int driver) {
  cu::Nccl nccl;
  nccl.version = version;
  nccl.toolkit = toolkit;
  return cu::checkVersions(nccl, driver).message();
}

TEST(NcclVersion, TakesBuildsThatKeepTheOrderOfLaunches) {
  EXPECT_EQ(refusal(22703, 12090, 12090), "");
  EXPECT_EQ(refusal(23203, 13040, 13040), "");
  EXPECT_EQ(refusal(22809, 12030, 13000), "");
  EXPECT_EQ(refusal(22809, 0, 12030), ""); // the toolkit is unknown
}

TEST(NcclVersion, RefusesBuildsThatDeadlockOrDoNotStart) {
  const std::string what = "NCCL, by which ranks on several GPUs exchange data, is version ";
  const std::string advice = ", or name its folder in LD_LIBRARY_PATH";
  EXPECT_EQ(refusal(22605, 12080, 13000),
            what + "2.26.5, which deadlocks pipelines: install NVIDIA's NCCL 2.27.3 or later" +
                advice);
  EXPECT_EQ(refusal(22702, 12090, 13000).find(what + "2.27.2, which deadlocks"), 0u);
  EXPECT_EQ(refusal(22703, 12020, 13000),
            what +
                "2.27.3 built with CUDA 12.2, which deadlocks pipelines: install a build of "
                "CUDA 12.3 or later" +
                advice);
  EXPECT_EQ(refusal(22809, 13000, 12090),
            what +
                "2.28.9 built with CUDA 13.0, and the driver is of CUDA 12.9: update the NVIDIA "
                "driver, or install the build of NCCL for CUDA 12" +
                advice);
}

TEST(NcclVersion, FindsTheToolkitInTheBytesOfALibrary) {
  using namespace std::string_view_literals;
  EXPECT_EQ(cu::toolkitIn("\x7f ELF\0NCCL version %d.%d\0NCCL version 2.27.3+cuda12.9\0more"sv),
            12090);
  EXPECT_EQ(cu::toolkitIn("NCCL version 2.32.3+cuda13.4"), 13040);
  EXPECT_EQ(cu::toolkitIn("NCCL version 2.32.3\0+cuda13.4"sv), 0);
  EXPECT_EQ(cu::toolkitIn("NCCL version mismatch"), 0);
  EXPECT_EQ(cu::toolkitIn("NCCL version 2.32.3+cuda"), 0);
  EXPECT_EQ(cu::toolkitIn(""), 0);
  // The text above is in this file.
  EXPECT_GT(cu::toolkitOf(reinterpret_cast<const void *>(&refusal)), 0);
}

// Variables of a process, as `prepare` leaves them, and its messages.
struct Prepared {
  Prepared(std::map<std::string, std::string> given,
           std::vector<std::string> (*prepare)(const Environment &))
      : variables(std::move(given)), messages(prepare(environment())) {}

  Environment environment() {
    return {[this](const char *name) {
              auto found = variables.find(name);
              return found == variables.end() ? std::nullopt : std::optional(found->second);
            },
            [this](const char *name, const std::string &value) { variables[name] = value; },
            [this](const char *name) { variables.erase(name); }};
  }

  std::map<std::string, std::string> variables;
  std::vector<std::string> messages;
};

using Variables = std::map<std::string, std::string>;

TEST(CudaEnvironment, HasAQueueForEachStream) {
  Prepared none({}, prepareDriverEnvironment);
  EXPECT_EQ(none.variables, (Variables{{"CUDA_DEVICE_MAX_CONNECTIONS", "32"}}));
  EXPECT_TRUE(none.messages.empty());
  Prepared one({{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}}, prepareDriverEnvironment);
  EXPECT_EQ(one.variables, none.variables);
  ASSERT_EQ(one.messages.size(), 1u);
  EXPECT_EQ(one.messages[0].find("dtrun sets CUDA_DEVICE_MAX_CONNECTIONS=32, not 1: "), 0u);
  EXPECT_TRUE(
      Prepared({{"CUDA_DEVICE_MAX_CONNECTIONS", "32"}}, prepareDriverEnvironment).messages.empty());
}

TEST(CudaEnvironment, KeepsTheOrderOfLaunches) {
  Variables wanted{{"NCCL_LAUNCH_ORDER_IMPLICIT", "1"}, {"NCCL_RUNTIME_CONNECT", "0"}};
  Prepared none({}, prepareNcclEnvironment);
  EXPECT_EQ(none.variables, wanted);
  EXPECT_TRUE(none.messages.empty());
  Prepared given({{"NCCL_LAUNCH_ORDER_IMPLICIT", "0"},
                  {"NCCL_RUNTIME_CONNECT", "1"},
                  {"NCCL_COMM_ID", "10.0.0.1:4000"}},
                 prepareNcclEnvironment);
  EXPECT_EQ(given.variables, wanted);
  EXPECT_EQ(given.messages.size(), 3u);
}

TEST(CudaEnvironment, UsesTheNetworkOfTheStart) {
  Prepared gloo({{"GLOO_SOCKET_IFNAME", "eth1"}}, prepareNcclEnvironment);
  EXPECT_EQ(gloo.variables["NCCL_SOCKET_IFNAME"], "eth1");
  Prepared both({{"GLOO_SOCKET_IFNAME", "eth1"}, {"NCCL_SOCKET_IFNAME", "ib"}},
                prepareNcclEnvironment);
  EXPECT_EQ(both.variables["NCCL_SOCKET_IFNAME"], "ib");
}

TEST(CudaEnvironment, KeepsNvlsFromSharedGpus) {
  Prepared shared({{"NCCL_MULTI_RANK_GPU_ENABLE", "1"}, {"NCCL_NVLS_ENABLE", "2"}},
                  prepareNcclEnvironment);
  EXPECT_EQ(shared.variables["NCCL_NVLS_ENABLE"], "0");
  EXPECT_EQ(shared.messages.size(), 1u);
  EXPECT_TRUE(allowsSharedGpus(shared.environment()));
  EXPECT_FALSE(allowsSharedGpus(Prepared({}, prepareNcclEnvironment).environment()));
}

TEST(CudaEnvironment, RefusesHostsThatWaitForEachLaunch) {
  Prepared blocking({{"CUDA_LAUNCH_BLOCKING", "1"}}, prepareDriverEnvironment);
  EXPECT_EQ(checkSeveralRanks(blocking.environment()).message(),
            "CUDA_LAUNCH_BLOCKING=1 makes hosts wait for each launch, so that ranks would wait for "
            "each other forever; unset it");
  EXPECT_TRUE(checkSeveralRanks(Prepared({}, prepareDriverEnvironment).environment()).ok());
}

} // namespace
} // namespace dtc::rt
