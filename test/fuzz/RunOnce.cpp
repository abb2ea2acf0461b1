#include "test/fuzz/RunOnce.h"

#include "runtime/comm/Loopback.h"
#include "runtime/device/CpuDevice.h"
#include "runtime/exec/Executor.h"
#include "runtime/format/Operands.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace dtc::fuzz {
namespace {

using namespace rt;

constexpr int refusedCode = 17;

using Tensors = flatbuffers::Vector<flatbuffers::Offset<format::Tensor>>;

Status fill(const Tensors *tensors, Executor &executor, Device &device) {
  for (uint32_t i = 0; i < format::sizeOf(tensors); ++i) {
    const format::Buffer &buffer = *executor.program().buffers()->Get(tensors->Get(i)->buffer());
    std::vector<float> values(buffer.bytes() / sizeof(float), 0.01f);
    DTC_RETURN_IF_ERROR(device.copyIn(executor.address(tensors->Get(i)->buffer()), values.data(),
                                      values.size() * sizeof(float)));
  }
  return {};
}

// Writes integers that the model may index with; every bit pattern of them is a float, too.
Status writeInput(const format::Input &input, Executor &executor) {
  uint64_t count = 1;
  for (uint64_t size : *input.shape())
    count *= size;
  std::vector<int32_t> values(count);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<int32_t>(i % std::max<uint64_t>(input.below(), 1));
  return executor.writeInput(input.name()->string_view(), std::as_bytes(std::span(values)));
}

Status runRank(const Executable &executable, Comm &world) {
  std::unique_ptr<Device> device = makeCpuDevice(1, &world);
  std::unique_ptr<Executor> executor;
  DTC_RETURN_IF_ERROR(Executor::create(executable, world, *device, {}, executor));
  DTC_RETURN_IF_ERROR(fill(executor->program().parameters(), *executor, *device));
  DTC_RETURN_IF_ERROR(fill(executor->program().optimizer_state(), *executor, *device));
  for (const format::Input *input : *executor->program().inputs())
    DTC_RETURN_IF_ERROR(writeInput(*input, *executor));
  DTC_RETURN_IF_ERROR(
      executor->setScalars({.step = 1, .totalSteps = 10, .baseLr = 1e-3f, .seed = 1}));
  StepResult result;
  return executor->runStep(result);
}

// Runs all ranks of the file, a thread each. Returns true if all came to the end of the step.
bool runRanks(const std::vector<uint8_t> &file, unsigned limitSeconds) {
  std::unique_ptr<Executable> executable;
  if (!Executable::fromBytes(file, "fuzz.dte", executable).ok())
    return false;
  int ranks = static_cast<int>(executable->ranks());
  auto worlds = makeLoopbackWorld(ranks, limitSeconds);
  std::vector<std::thread> threads;
  std::vector<char> ok(static_cast<size_t>(ranks), 0);
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      Comm &world = *worlds[static_cast<size_t>(rank)];
      Status status = runRank(*executable, world);
      ok[static_cast<size_t>(rank)] = status.ok();
      if (!status.ok())
        world.abandon(status.message());
    });
  for (std::thread &thread : threads)
    thread.join();
  return std::all_of(ok.begin(), ok.end(), [](char each) { return each != 0; });
}

[[noreturn]] void child(const std::vector<uint8_t> &file, unsigned limitSeconds) {
  ::alarm(limitSeconds);
#ifndef __SANITIZE_ADDRESS__ // AddressSanitizer's shadow takes terabytes of addresses
  // A changed size may ask for more memory than the machine should give.
  rlimit memory{rlim_t(16) << 30, rlim_t(16) << 30};
  (void)::setrlimit(RLIMIT_AS, &memory);
#endif
  rlimit noCore{0, 0};
  (void)::setrlimit(RLIMIT_CORE, &noCore);
  ::_exit(runRanks(file, limitSeconds) ? 0 : refusedCode);
}

} // namespace

bool warmUp(const std::vector<uint8_t> &file) { return runRanks(file, 60); }

RunResult runOnce(const std::vector<uint8_t> &file, unsigned limitSeconds) {
  pid_t process = ::fork();
  if (process < 0)
    return {RunStatus::Crashed, "fork failed"};
  if (process == 0)
    child(file, limitSeconds);
  int status = 0;
  while (::waitpid(process, &status, 0) < 0)
    ;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return {RunStatus::Ran, ""};
  if (WIFEXITED(status) && WEXITSTATUS(status) == refusedCode)
    return {RunStatus::Refused, ""};
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    return {RunStatus::Hung, ""};
  if (WIFSIGNALED(status))
    return {RunStatus::Crashed, ::strsignal(WTERMSIG(status))};
  return {RunStatus::Crashed, "exit code " + std::to_string(WEXITSTATUS(status))};
}

} // namespace dtc::fuzz
