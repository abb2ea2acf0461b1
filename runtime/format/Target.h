// The device that a file is for, and the segments that run there.
#pragma once

#include "runtime/format/dte_generated.h"

#include <string_view>

namespace dtc::format {

// Values of Manifest.device.
inline constexpr std::string_view cpuDevice = "cpu", cudaDevice = "cuda", simtDevice = "simt";

// Returns the device of a file, cpuDevice by default.
inline std::string_view deviceOf(const Manifest &manifest) {
  return manifest.device() ? manifest.device()->string_view() : cpuDevice;
}
// Returns true if the file is for GPUs, real or emulated.
inline bool isForGpu(const Manifest &manifest) { return deviceOf(manifest) != cpuDevice; }

// Values of Manifest.gpu_arch. Code for one of them runs on later ones too, cubins within one
// generation only.
inline constexpr std::string_view gpuArchs[] = {"sm_80", "sm_90", "sm_100"};

// Returns the kind of segment that a device of this name takes its kernels from.
inline SegmentKind kernelSegments(std::string_view device) {
  return device == cudaDevice   ? SegmentKind::ptx
         : device == simtDevice ? SegmentKind::simt
                                : SegmentKind::code;
}

// Returns true if the segment is loaded into this process, as machine code of its processor.
inline bool isHostCode(SegmentKind kind) {
  return kind == SegmentKind::code || kind == SegmentKind::simt;
}

// The most parameters of a kernel for a GPU, of 8 bytes each: its buffers, scalars and range.
inline constexpr uint32_t maxGpuParameters = 512;

} // namespace dtc::format
