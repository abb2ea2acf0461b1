// What was measured, without anything of CUDA: the file is written, and tested, on any machine.
#pragma once

#include "Shapes.h"

struct Summary {
  double seconds = 0, spread = 0; // median; distance of the quartiles over the median
  int repeats = 0;                // samples
};

struct MeasuredLaunch {
  bool graph;
  Summary time;
};
struct MeasuredProduct {
  Product product;
  Summary time;
};
struct MeasuredMemory {
  std::string pattern; // "copy", "triad", "pointwise"
  int64_t bytes;
  Summary time;
};
struct MeasuredCollective {
  std::string kind; // "all-reduce", "all-gather", ...
  int ranks;
  int64_t bytes; // of the whole tensor
  Summary time;
};

struct MeasuredPoints {
  std::vector<MeasuredLaunch> launches;
  std::vector<MeasuredProduct> products;
  std::vector<MeasuredMemory> memory;
  std::vector<MeasuredCollective> collectives;
};

// What the driver says about a device.
struct DeviceFacts {
  std::string name;                      // "NVIDIA H200"
  int major = 0, minor = 0;              // compute capability
  int units = 0;                         // multiprocessors
  int64_t freeBytes = 0, cacheBytes = 0; // cache: the second level
  int count = 0;                         // devices of this machine
  int runtime = 0;                       // 13000 is CUDA 13.0
  int64_t cublasLt = 0;                  // 130002 is 13.0.2
};

// What NVML says at this moment; zeros and "" where its library is not there.
struct Moment {
  std::string driver; // "580.95.05"
  double clockHz = 0, memoryClockHz = 0, powerWatts = 0, powerLimitWatts = 0, celsius = 0;
};
