#include "runtime/cuda/CudaEnvironment.h"

#include "runtime/base/Text.h"

#include <charconv>
#include <cstdlib>

namespace dtc::rt {

using format::text;

Environment Environment::ofProcess() {
  Environment process;
  process.get = [](const char *name) {
    const char *value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
  process.set = [](const char *name, const std::string &value) {
    (void)::setenv(name, value.c_str(), /*overwrite=*/1);
  };
  process.unset = [](const char *name) { (void)::unsetenv(name); };
  return process;
}

static int numberIn(const std::string &value) {
  int number = 0;
  (void)std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

// Sets a variable. `why` completes "dtrun sets NAME=VALUE, not OTHER: ...".
static void require(const Environment &environment, const char *name, const char *value,
                    const char *why, std::vector<std::string> &messages) {
  std::optional<std::string> given = environment.get(name);
  if (given && *given == value)
    return;
  if (given)
    messages.push_back(text("dtrun sets ", name, "=", value, ", not ", *given, ": ", why));
  environment.set(name, value);
}

std::vector<std::string> prepareDriverEnvironment(const Environment &environment) {
  constexpr const char *connections = "CUDA_DEVICE_MAX_CONNECTIONS";
  constexpr int most = 32;
  std::vector<std::string> messages;
  // Scripts for Megatron-LM set 1.
  std::optional<std::string> given = environment.get(connections);
  if (!given || numberIn(*given) < most)
    require(environment, connections, "32",
            "streams that wait for other ranks must not block those that these wait for", messages);
  return messages;
}

std::vector<std::string> prepareNcclEnvironment(const Environment &environment) {
  std::vector<std::string> messages;
  require(environment, "NCCL_LAUNCH_ORDER_IMPLICIT", "1",
          "communicators that are used at once may deadlock without the order of the program",
          messages);
  require(environment, "NCCL_RUNTIME_CONNECT", "0",
          "ranks connect in one order when groups are made, not while they record steps", messages);
  if (allowsSharedGpus(environment))
    require(environment, "NCCL_NVLS_ENABLE", "0",
            "NVLS does not serve ranks that share a GPU (NCCL_MULTI_RANK_GPU_ENABLE)", messages);
  // It would give all groups the same root.
  if (std::optional<std::string> root = environment.get("NCCL_COMM_ID")) {
    messages.push_back(text("dtrun ignores NCCL_COMM_ID=", *root,
                            ": it starts NCCL over the connections that it has itself"));
    environment.unset("NCCL_COMM_ID");
  }
  // Another network than that of the start-up is the most common cause of starts that hang.
  std::optional<std::string> gloo = environment.get("GLOO_SOCKET_IFNAME");
  if (gloo && !environment.get("NCCL_SOCKET_IFNAME"))
    environment.set("NCCL_SOCKET_IFNAME", *gloo);
  return messages;
}

bool allowsSharedGpus(const Environment &environment) {
  std::optional<std::string> value = environment.get("NCCL_MULTI_RANK_GPU_ENABLE");
  return value && numberIn(*value) == 1;
}

Status checkSeveralRanks(const Environment &environment) {
  std::optional<std::string> value = environment.get("CUDA_LAUNCH_BLOCKING");
  if (!value || numberIn(*value) == 0)
    return {};
  return Status::unavailable(text("CUDA_LAUNCH_BLOCKING=", *value,
                                  " makes hosts wait for each launch, so that ranks would wait for "
                                  "each other forever; unset it"));
}

} // namespace dtc::rt
