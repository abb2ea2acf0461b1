#include "tools/dtrun/Devices.h"

#include "runtime/base/Env.h"
#include "runtime/base/Text.h"
#include "runtime/comm/Environment.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/device/CpuDevice.h"
#include "runtime/fakecuda/FakeCuda.h"
#include "runtime/format/Header.h"
#include "runtime/format/InstructionText.h"
#include "runtime/format/Operands.h"
#include "runtime/format/Target.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace dtc::rt {
namespace {

using format::text;

// Emulates a GPU only if the user asks for it: nobody who expects a real GPU must wait for an
// emulated one.
Status emulatedLibraries(const Executable &executable, std::unique_ptr<CudaLibraries> &libraries) {
  uint64_t wanted = 0, seed = 0, report = 0, cudnn = 0, shared = 0;
  DTC_RETURN_IF_ERROR(envUnsigned(EnvVar::EmulatedGpu, wanted));
  DTC_RETURN_IF_ERROR(envUnsigned(EnvVar::EmulatedSeed, seed));
  DTC_RETURN_IF_ERROR(envUnsigned(EnvVar::EmulatedReport, report));
  DTC_RETURN_IF_ERROR(envUnsigned(EnvVar::EmulatedCudnn, cudnn));
  DTC_RETURN_IF_ERROR(envUnsigned(EnvVar::EmulatedShared, shared));
  if (wanted != 1)
    return Status::unavailable(text(executable.name(),
                                    " is compiled for device 'simt', an emulated "
                                    "GPU; set DTC_EMULATED_GPU=1 to run it there, "
                                    "or recompile with dtc for cpu or cuda"));
  constexpr uint64_t mostShared = 1024; // KiB
  libraries =
      makeFakeCuda({.seed = seed,
                    .cudnnVersion = cudnn,
                    .sharedBytes = static_cast<uint32_t>(std::min(shared, mostShared)) * 1024,
                    .report = report == 1});
  return {};
}

// Returns the user's folder for files that can be made again, and creates it if needed. Returns an
// empty string if there is none.
std::string cacheFolder() {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  std::filesystem::path folder = cache && *cache ? cache
                                 : home && *home ? text(home, "/.cache")
                                                 : std::string();
  if (folder.empty())
    return {};
  folder /= "dtc";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return error ? "" : folder.string();
}

// Choices are kept beside the program, or in the user's cache folder if that place is read-only.
// Other ranks wait at most `timeoutSeconds` for the one that measures.
Status tuningOptions(const Executable &executable, double timeoutSeconds, TuningOptions &tuning) {
  uint64_t millis = format::deviceOf(executable.manifest()) == format::simtDevice ? 0 : 5000;
  if (!envText(EnvVar::TuningMillis).empty())
    DTC_RETURN_IF_ERROR(envUnsigned(EnvVar::TuningMillis, millis));
  if (millis == 0)
    return {};
  tuning.seconds = std::min(static_cast<double>(millis) * 1e-3, timeoutSeconds / 4);
  format::Header header;
  DTC_RETURN_IF_ERROR(format::readHeader(executable.bytes(), executable.name(), header));
  char hash[40];
  std::snprintf(hash, sizeof(hash), "%016llx%016llx",
                static_cast<unsigned long long>(header.manifestHash.high),
                static_cast<unsigned long long>(header.manifestHash.low));
  tuning.program = hash;
  tuning.files = {executable.name() + ".tuning"};
  std::string folder = std::filesystem::path(executable.name()).parent_path().string();
  if (::access(folder.empty() ? "." : folder.c_str(), W_OK) == 0)
    return {};
  if (std::string cache = cacheFolder(); !cache.empty())
    tuning.files.push_back(text(cache, "/", hash, ".tuning"));
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
  CudaOptions options{.localRank = launch.localRank, .world = &world, .threads = threads};
  options.timeoutSeconds = timeoutSeconds;
  DTC_RETURN_IF_ERROR(tuningOptions(executable, timeoutSeconds, options.tuning));
  options.nameOf = [&manifest = executable.manifest()](const format::Instruction &instruction) {
    return format::describe(manifest, instruction);
  };
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
