// The measured points. This file does not depend on CUDA, so that the output can be written and
// tested on any machine.
#pragma once

#include "Shapes.h"

// Sums up the samples of one measurement.
struct Summary {
  double seconds = 0, spread = 0; // median; distance of the quartiles over the median
  int repeats = 0;                // samples
};

// The time of one kernel launch, on a stream or in a graph.
struct MeasuredLaunch {
  bool graph;
  Summary time;
};
// The time of one matrix product.
struct MeasuredProduct {
  Product product;
  Summary time;
};
// The time of one pattern of memory traffic.
struct MeasuredMemory {
  std::string pattern; // "copy", "triad", "pointwise"
  int64_t bytes;
  Summary time;
};
// The time of one collective.
struct MeasuredCollective {
  std::string kind; // "all-reduce", "all-gather", ...
  int ranks;
  int64_t bytes; // size of the whole tensor
  Summary time;
};

// All points of a run.
struct MeasuredPoints {
  std::vector<MeasuredLaunch> launches;
  std::vector<MeasuredProduct> products;
  std::vector<MeasuredMemory> memory;
  std::vector<MeasuredCollective> collectives;
};

// Properties of a device, as the driver reports them.
struct DeviceFacts {
  std::string name;                      // "NVIDIA H200"
  int major = 0, minor = 0;              // compute capability
  int units = 0;                         // multiprocessors
  int64_t freeBytes = 0, cacheBytes = 0; // cache: the second level
  int count = 0;                         // devices of this machine
  int runtime = 0;                       // 13000 is CUDA 13.0
  int64_t cublasLt = 0;                  // 130002 is 13.0.2
};

// The state of a device at one time, from NVML. Zeros and "" if its library does not exist.
struct Moment {
  std::string driver; // "580.95.05"
  double clockHz = 0, memoryClockHz = 0, powerWatts = 0, powerLimitWatts = 0, celsius = 0;
};
