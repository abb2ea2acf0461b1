// Runs a program on loopback ranks, with a thread each, for the tests of the executor.
#pragma once

#include "runtime/comm/Loopback.h"
#include "runtime/device/CpuDevice.h"
#include "runtime/exec/Executor.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

namespace dtc::test {

// The work of one rank after its executor is made.
using RankBody = std::function<void(int rank, rt::Executor &executor, rt::Device &device)>;

// Runs `body` on every rank of a job that executes `file`.
inline void runRanks(int ranks, const std::vector<uint8_t> &file, const RankBody &body,
                     int threads = 1, double timeoutSeconds = 60,
                     const rt::ExecutorOptions &options = {}) {
  std::unique_ptr<rt::Executable> executable;
  rt::Status loaded = rt::Executable::fromBytes(file, "test.dte", executable);
  ASSERT_TRUE(loaded.ok()) << loaded.message();
  auto worlds = rt::makeLoopbackWorld(ranks, timeoutSeconds);
  std::vector<std::thread> members;
  for (int rank = 0; rank < ranks; ++rank)
    members.emplace_back([&, rank] {
      std::unique_ptr<rt::Device> device =
          rt::makeCpuDevice(threads, worlds[static_cast<size_t>(rank)].get());
      std::unique_ptr<rt::Executor> executor;
      rt::Status status = rt::Executor::create(*executable, *worlds[static_cast<size_t>(rank)],
                                               *device, options, executor);
      ASSERT_TRUE(status.ok()) << status.message();
      body(rank, *executor, *device);
    });
  for (std::thread &member : members)
    member.join();
}

// Writes values into a buffer of the rank.
inline void put(rt::Executor &executor, rt::Device &device, uint32_t buffer,
                const std::vector<float> &values) {
  ASSERT_TRUE(device.copyIn(executor.address(buffer), values.data(), values.size() * 4).ok());
}

// Returns the values of a buffer of the rank.
inline std::vector<float> get(rt::Executor &executor, rt::Device &device, uint32_t buffer) {
  std::vector<float> values(executor.program().buffers()->Get(buffer)->bytes() / 4);
  EXPECT_TRUE(device.copyOut(values.data(), executor.address(buffer), values.size() * 4).ok());
  return values;
}

// Runs one step and expects that it succeeds.
inline void step(rt::Executor &executor) {
  rt::StepResult result;
  rt::Status status = executor.runStep(result);
  ASSERT_TRUE(status.ok()) << status.message();
}

} // namespace dtc::test
