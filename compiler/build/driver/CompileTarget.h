// Parses the value of --target.
#pragma once

#include "compiler/support/Error.h"
#include "passes/codegen/PtxCode.h"
#include "passes/native/ObjectCode.h"
#include "runtime/format/Target.h"

#include <string>
#include <vector>

namespace dtc {

// The processors that code is generated for.
struct CompileTarget {
  std::string device;                   // a value of Manifest.device
  KernelTarget cpu;                     // for device cpu, and for the host of a GPU
  std::vector<std::string> cpuFeatures; // features that its code needs, as in /proc/cpuinfo
  GpuTarget gpu;                        // for device cuda
  std::string gpuArch;                  // the same as the executable says it: "sm_90"
  bool hasCubin = true;                 // false: PTX alone, even where ptxas is found

  // Real or emulated.
  bool isGpu() const { return device != format::cpuDevice; }
};

// Reads "cpu", "cpu:x86-64-v3", "cpu:x86-64-v4", "cpu:native" (as good as this machine's), "cuda",
// "cuda:sm_80", "cuda:sm_90", "cuda:sm_100" and "simt", an emulated GPU. Later GPUs of a generation
// are named, too, and get the code of the next older architecture.
//
// Example: "cuda" is device cuda of sm_90; "cuda:sm_89" (RTX 4090) is that of sm_80.
Result<CompileTarget> readCompileTarget(llvm::StringRef text);

} // namespace dtc
