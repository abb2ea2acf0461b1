// Runs the hand-written CUDA kernels on the emulator, with all of its checks.
#pragma once

#include "kernels/cuda/Launch.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace dtc::cuda {

// A GPU whose memory is poisoned until it is written. Faults of kernels and of launches fail the
// test.
class EmulatedGpu {
public:
  EmulatedGpu();
  ~EmulatedGpu();

  // Allocates memory for `count` values, which are not written yet.
  template <typename T> T *allocate(size_t count) {
    return static_cast<T *>(allocateBytes(count * sizeof(T)));
  }
  // Allocates memory and copies the values into it.
  template <typename T> T *upload(const std::vector<T> &values) {
    T *to = allocate<T>(values.size());
    std::copy(values.begin(), values.end(), to);
    markWritten(to, values.size() * sizeof(T));
    return to;
  }
  // Records that the test has written memory.
  void markWritten(const void *address, size_t bytes);

  // Runs launches one after another, each with the parameter struct. `seed` determines the order of
  // threads and blocks.
  void launch(const std::vector<Launch> &launches, void *params, uint64_t seed = 0);

private:
  void *allocateBytes(size_t bytes);
  struct State;
  std::unique_ptr<State> state;
};

} // namespace dtc::cuda
