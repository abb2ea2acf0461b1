#include "compiler/build/driver/CompileTarget.h"

#include "compiler/support/Hints.h"
#include "runtime/format/Target.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/TargetParser/Host.h"

using namespace llvm;

namespace dtc {
namespace {

const std::vector<std::string> kLevel3 = {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma"};
const std::vector<std::string> kLevel4 = {"avx512f", "avx512bw", "avx512cd", "avx512dq",
                                          "avx512vl"};

// Returns a target for x86-64-v3: for CPU code, and for the host of a GPU.
CompileTarget targetWithHost(std::string_view device) {
  CompileTarget target;
  target.device = device;
  target.cpu = {"x86-64-v3", ""};
  target.cpuFeatures = kLevel3;
  return target;
}

Result<CompileTarget> cpuTarget(StringRef text, StringRef cpu) {
  if (cpu == "native")
    cpu = sys::getHostCPUFeatures().lookup("avx512f") ? "x86-64-v4" : "x86-64-v3";
  CompileTarget target = targetWithHost(format::cpuDevice);
  if (cpu.empty() || cpu == "x86-64-v3")
    return target;
  if (cpu != "x86-64-v4")
    return UserError("--target " + text.str() + ": '" + cpu.str() +
                         "' is not a microarchitecture that dtc knows",
                     "use x86-64-v3 (AVX2), x86-64-v4 (AVX-512) or native");
  target.cpu = {"x86-64-v4", ""};
  target.cpuFeatures.insert(target.cpuFeatures.end(), kLevel4.begin(), kLevel4.end());
  return target;
}

// The architecture whose code GPUs of `arch` get: of those that code is generated for the next
// older one, whose PTX their driver translates. Compute capabilities are those of the CUDA C++
// Programming Guide. Any other name is returned as it is.
StringRef codeFor(StringRef arch) {
  return StringSwitch<StringRef>(arch)
      .Cases({"sm_86", "sm_87", "sm_89"}, "sm_80") // A10, RTX 30; Orin; L4, L40S, RTX 40
      .Cases({"sm_103", "sm_110", "sm_120", "sm_121"}, "sm_100") // B300; Thor; RTX 50; GB10
      .Default(arch);
}

Result<CompileTarget> cudaTarget(StringRef text, StringRef arch) {
  CompileTarget target = targetWithHost(format::cudaDevice);
  target.gpuArch = codeFor(arch.empty() ? "sm_90" : arch).str();
  std::optional<GpuTarget> gpu = readGpuTarget(target.gpuArch);
  if (!gpu)
    return UserError("--target " + text.str() + ": '" + arch.str() +
                         "' is not an architecture that dtc knows",
                     "use sm_80 (A100), sm_90 (H100, H200), sm_100 (B200), or sm_86, sm_89, sm_120 "
                     "(RTX 30, 40, 50), which get the code of the next older one");
  target.gpu = *gpu;
  return target;
}

} // namespace

Result<CompileTarget> readCompileTarget(StringRef text) {
  auto [device, kind] = text.split(':');
  if (device == StringRef(format::cpuDevice))
    return cpuTarget(text, kind);
  if (device == StringRef(format::cudaDevice))
    return cudaTarget(text, kind);
  if (text != StringRef(format::simtDevice))
    return UserError(
        "--target " + text.str() + ": dtc compiles for cpu, cuda and simt",
        (device == "gpu" ? "did you mean 'cuda'? " : didYouMean(device, {"cpu", "cuda", "simt"})) +
            "use cpu, cpu:x86-64-v4, cuda:sm_90 or simt, for example");
  return targetWithHost(format::simtDevice);
}

} // namespace dtc
