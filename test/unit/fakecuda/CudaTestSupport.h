// Helpers to run programs on CUDA devices over the fake driver.
#pragma once

#include "runtime/comm/Loopback.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/exec/Executor.h"
#include "runtime/fakecuda/FakeCuda.h"
#include "runtime/fakecuda/FakeCudaOptions.h"
#include "test/unit/format/Sample.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

namespace dtc::test {

// A builder for a program of device simt with the kernels of TestKernels.cpp.
inline ProgramBuilder simtProgram(const std::vector<std::pair<std::string, uint32_t>> &mesh) {
  ProgramBuilder builder(mesh);
  builder.manifest.device = "simt";
  builder.segments.push_back({format::SegmentKind::simt, readBytes(DTC_TEST_KERNELS)});
  return builder;
}

// Returns a launch of a kernel over `range` units.
inline format::LaunchT launchOf(uint32_t kernel, std::vector<uint32_t> buffers, uint64_t range) {
  format::LaunchT launch;
  launch.kernel = kernel;
  launch.buffers = std::move(buffers);
  launch.range = range;
  return launch;
}

// A rank that runs a program.
struct CudaRank {
  int rank = 0;
  rt::Executor &executor;
  rt::Device &device;

  // Copies values into a buffer.
  void put(uint32_t buffer, const std::vector<float> &values) const {
    ASSERT_TRUE(
        device.copyIn(executor.address(buffer), values.data(), values.size() * sizeof(float)).ok());
  }
  // Returns all values of a buffer.
  std::vector<float> get(uint32_t buffer) const {
    std::vector<float> values(executor.program().buffers()->Get(buffer)->bytes() / sizeof(float));
    EXPECT_TRUE(
        device.copyOut(values.data(), executor.address(buffer), values.size() * sizeof(float))
            .ok());
    return values;
  }
};

// Makes a device and an executor of `file` for one rank and calls `body`. Returns the first error.
inline rt::Status onCuda(rt::FakeCuda &fake, const std::vector<uint8_t> &file, rt::Comm &world,
                         const rt::ExecutorOptions &options, rt::CudaOptions cuda,
                         const std::function<rt::Status(CudaRank)> &body) {
  std::unique_ptr<rt::Executable> executable;
  DTC_RETURN_IF_ERROR(rt::Executable::fromBytes(file, "test.dte", executable));
  std::unique_ptr<rt::Device> device;
  cuda.localRank = world.rank();
  cuda.world = &world;
  DTC_RETURN_IF_ERROR(rt::makeCudaDevice(fake, cuda, device));
  std::unique_ptr<rt::Executor> executor;
  DTC_RETURN_IF_ERROR(rt::Executor::create(*executable, world, *device, options, executor));
  return body({world.rank(), *executor, *device});
}
// Does the same with default options but for `graphs`, which records steps as graphs.
inline rt::Status onCuda(rt::FakeCuda &fake, const std::vector<uint8_t> &file, rt::Comm &world,
                         const rt::ExecutorOptions &options, bool graphs,
                         const std::function<rt::Status(CudaRank)> &body) {
  rt::CudaOptions cuda;
  cuda.graphs = graphs;
  return onCuda(fake, file, world, options, cuda, body);
}

// Options of a run of several ranks.
struct RanksOptions {
  int ranks = 2;
  rt::FakeCudaOptions fake = {}; // a GPU for each rank, or one if `oneGpu` is set
  bool graphs = true;
  bool trace = false;  // instructions are timed
  double timeout = 60; // seconds that an operation waits for other ranks
};

// Runs ranks on threads as onCuda does, and checks for leaks. `ended` gets every rank's status.
inline void onCudaRanks(const RanksOptions &options, const std::vector<uint8_t> &file,
                        const std::function<rt::Status(CudaRank)> &body,
                        const std::function<void(int rank, const rt::Status &)> &ended) {
  rt::FakeCudaOptions gpus = options.fake;
  gpus.gpus = options.ranks;
  auto fake = rt::makeFakeCuda(gpus);
  auto worlds = rt::makeLoopbackWorld(options.ranks, options.timeout);
  rt::CudaOptions cuda;
  cuda.graphs = options.graphs;
  cuda.timeoutSeconds = options.timeout;
  std::vector<std::thread> members;
  for (int rank = 0; rank < options.ranks; ++rank)
    members.emplace_back([&, rank] {
      ended(rank, onCuda(*fake, file, *worlds[static_cast<size_t>(rank)], {.trace = options.trace},
                         cuda, body));
    });
  for (std::thread &member : members)
    member.join();
  EXPECT_EQ(fake->leaks(), "");
}

// Runs ranks that must all succeed.
inline void onCudaRanks(const RanksOptions &options, const std::vector<uint8_t> &file,
                        const std::function<rt::Status(CudaRank)> &body) {
  onCudaRanks(options, file, body, [](int rank, const rt::Status &status) {
    EXPECT_TRUE(status.ok()) << "rank " << rank << ": " << status.message();
  });
}

} // namespace dtc::test
