#include "tools/dtrun/Devices.h"

#include "runtime/base/Env.h"
#include "runtime/base/Text.h"
#include "runtime/comm/Environment.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/device/CpuDevice.h"
#include "runtime/fakecuda/FakeCuda.h"
#include "runtime/format/Target.h"

#include <cstdio>

namespace dtc::rt {
namespace {

using format::text;

// Only where it is asked for: nobody is to wait for an emulated GPU who thinks that he has one.
Status emulatedLibraries(const Executable &executable, std::unique_ptr<CudaLibraries> &libraries) {
  uint64_t wanted = 0, seed = 0;
  DTC_RETURN_IF_ERROR(envUnsigned(EnvVar::EmulatedGpu, wanted));
  DTC_RETURN_IF_ERROR(envUnsigned(EnvVar::EmulatedSeed, seed));
  if (wanted != 1)
    return Status::unavailable(text(executable.name(),
                                    " is compiled for device 'simt', an emulated "
                                    "GPU; set DTC_EMULATED_GPU=1 to run it there, "
                                    "or recompile with dtc for cpu or cuda"));
  libraries = makeFakeCuda({.seed = seed});
  return {};
}

} // namespace

Status makeDevice(const Executable &executable, Comm &world, int threads, double timeoutSeconds,
                  RankDevice &made) {
  std::string_view name = format::deviceOf(executable.manifest());
  if (name == format::cpuDevice) {
    made.device = makeCpuDevice(threads, &world);
    return {};
  }
  if (name == format::simtDevice)
    DTC_RETURN_IF_ERROR(emulatedLibraries(executable, made.libraries));
  else
    made.libraries = systemCudaLibraries();
  LaunchEnvironment launch;
  DTC_RETURN_IF_ERROR(detectLaunch(launch));
  if (timeoutSeconds == 0)
    DTC_RETURN_IF_ERROR(envSeconds(EnvVar::Timeout, timeoutSeconds));
  CudaOptions options{.localRank = launch.localRank, .world = &world};
  options.timeoutSeconds = timeoutSeconds;
  options.notice = [](const std::string &words) {
    std::fprintf(stderr, "dtrun: %s\n", words.c_str());
  };
  Status status = makeCudaDevice(*made.libraries, options, made.device);
  if (!status.ok())
    return {status.statusCode(),
            text(executable.name(), " is compiled for device '", name, "': ", status.message())};
  return {};
}

} // namespace dtc::rt
