// Machine code of a program's kernels.
#pragma once

#include "runtime/format/Target.h"
#include "runtime/format/Write.h"

#include "llvm/ADT/ArrayRef.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace dtc {

// The machine code of a program's kernels.
struct ProgramCode {
  std::string device{format::cpuDevice}; // a value of Manifest.device
  std::string gpuArch;                   // a value of Manifest.gpu_arch; empty for CPUs
  // Features that the code needs, named as in /proc/cpuinfo: "avx2".
  std::vector<std::string> cpuFeatures;
  // The first has all kernels, but those of `onHost`; none where there are none.
  std::vector<format::SegmentBytes> segments;
  // Kernels that run on the host of a GPU, and the segment that has them.
  std::set<std::string> onHost;
  uint32_t hostSegment = 0;
  // Threads per block of each GPU kernel.
  std::map<std::string, uint32_t> blockThreads;
  std::map<std::string, std::string> merged; // Kernel.merged, of those that have one

  // Returns the code of a shared object for CPUs; of no kernels if it is empty.
  static ProgramCode ofCpu(llvm::ArrayRef<char> object) {
    ProgramCode code;
    if (!object.empty())
      code.segments.push_back({format::SegmentKind::code, {object.begin(), object.end()}});
    return code;
  }
};

} // namespace dtc
