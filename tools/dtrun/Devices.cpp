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

Status makeDevice(const Executable &executable, Comm &world, int threads, RankDevice &made) {
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
  if (Status status = makeCudaDevice(*made.libraries,
                                     {.localRank = launch.localRank, .world = &world}, made.device);
      !status.ok())
    return {status.statusCode(),
            text(executable.name(), " is compiled for device '", name, "': ", status.message())};
  if (world.size() > 1 && world.rank() == 0)
    std::fprintf(stderr,
                 "dtrun: ranks exchange data through the memory of their hosts, not between "
                 "GPUs\n");
  return {};
}

} // namespace dtc::rt
