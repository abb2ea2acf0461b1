// Tests the CUDA device on the fake driver: steps in any order of streams, errors of every call,
// matrix products.
#include "test/unit/fakecuda/CudaTestSupport.h"

#include "runtime/base/HalfFloats.h"
#include "runtime/cuda/SharedLibrary.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace dtc::rt {
namespace {

using test::CudaRank;
using test::launchOf;
using test::ProgramBuilder;

constexpr uint64_t n = 5;

// A program of two streams that pass values back and forth by events, with an input.
struct TwoStreams {
  TwoStreams() : builder(test::simtProgram({{"dp", 1}})) {
    builder.program().num_streams = 2;
    builder.program().num_events = 2;
    uint32_t scale = builder.kernel("scale", {4 * n, 4 * n}, n);
    builder.manifest.kernels[scale]->num_scalars = 1;
    builder.manifest.kernels[scale]->num_results = 1;
    uint32_t add = builder.kernel("add", {4 * n, 4 * n}, n);
    builder.manifest.kernels[add]->threads = 64;
    state = builder.buffer("state", n);
    y = builder.buffer("y", n);
    z = builder.buffer("z", n);
    lr = builder.buffer("lr", 1);
    builder.scalar(format::ScalarRole::base_lr, lr);
    builder.output(format::OutputRole::learning_rate, lr);
    addScale(scale, state, y, 1, 0);
    builder.add(test::record(0));
    builder.add(test::wait(0), 1);
    addScale(scale, y, z, 3, 1);
    builder.add(test::record(1), 1);
    builder.add(test::wait(1));
    builder.add(launchOf(add, {z, state}, n)); // state += 2 (2 state + 1) + 3
  }
  void addScale(uint32_t kernel, uint32_t from, uint32_t to, int64_t k, uint8_t stream) {
    format::LaunchT launch = launchOf(kernel, {from, to}, n);
    launch.scalars.push_back(test::rankScalar(k));
    builder.add(std::move(launch), stream);
  }

  ProgramBuilder builder;
  uint32_t state = 0, y = 0, z = 0, lr = 0;
};

// Runs steps one after another, with as many enqueued ahead as the executor allows.
Status runSteps(Executor &executor, int steps, float firstRate) {
  StepResult result;
  for (int i = 0; i < steps; ++i) {
    DTC_RETURN_IF_ERROR(executor.setScalars({.baseLr = firstRate + static_cast<float>(i)}));
    DTC_RETURN_IF_ERROR(executor.enqueue(format::EntryKind::train));
    if (i == 0)
      continue;
    DTC_RETURN_IF_ERROR(executor.collect(result));
    EXPECT_EQ(result.learningRate, firstRate + static_cast<float>(i) - 1);
  }
  return executor.collect(result);
}

TEST(CudaDevice, RunsStepsInEveryOrderOfStreamsAndWithoutGraphsAlike) {
  TwoStreams program;
  std::vector<uint8_t> file = program.builder.file();
  for (uint64_t seed = 1; seed <= 40; ++seed)
    for (bool graphs : {true, false}) {
      auto fake = makeFakeCuda({.seed = seed});
      auto worlds = makeLoopbackWorld(1);
      ExecutorOptions options{.trace = seed % 2 == 0};
      Status status = test::onCuda(*fake, file, *worlds[0], options, graphs, [&](CudaRank at) {
        at.put(program.state, {0, 1, 2, 3, -1});
        DTC_RETURN_IF_ERROR(runSteps(at.executor, 3, 7));
        // three times s -> 5 s + 5
        EXPECT_EQ(at.get(program.state), (std::vector<float>{155, 280, 405, 530, 30})) << seed;
        return Status();
      });
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_EQ(fake->leaks(), "");
    }
}

TEST(CudaDevice, GivesTimesOfStepsAndWhereTheyAreWantedOfInstructions) {
  TwoStreams program;
  auto fake = makeFakeCuda({});
  auto worlds = makeLoopbackWorld(1);
  for (bool trace : {false, true}) {
    Status status = test::onCuda(
        *fake, program.builder.file(), *worlds[0], {.trace = trace}, true, [&](CudaRank at) {
          StepResult result;
          DTC_RETURN_IF_ERROR(at.executor.runStep(result));
          EXPECT_GT(result.seconds, 0);
          double kernels = result.classSeconds[static_cast<size_t>(TimeClass::Kernel)];
          EXPECT_EQ(kernels > 0, trace);
          EXPECT_LE(kernels, result.seconds);
          return Status();
        });
    ASSERT_TRUE(status.ok()) << status.message();
  }
}

// Makes each call fail in turn: the error must name the call, and nothing may be leaked.
TEST(CudaDevice, NamesEveryCallThatFails) {
  TwoStreams program;
  std::vector<uint8_t> file = program.builder.file();
  uint64_t calls = 0;
  for (uint64_t failing = 0; failing <= calls; ++failing) {
    auto fake = makeFakeCuda({.failingCall = failing});
    auto worlds = makeLoopbackWorld(1);
    uint64_t ofSteps = 0; // calls before the device was released
    Status status = test::onCuda(*fake, file, *worlds[0], {}, true, [&](CudaRank at) {
      Status ran = runSteps(at.executor, 2, 7);
      ofSteps = fake->numCalls();
      return ran;
    });
    if (failing == 0)
      calls = fake->numCalls();
    if (failing == 0 || (ofSteps > 0 && failing > ofSteps)) {
      EXPECT_TRUE(status.ok()) << failing << ": " << status.message();
    } else if (!status.ok()) {
      EXPECT_NE(status.message().find(": CUDA_ERROR_OPERATING_SYSTEM: "), std::string::npos)
          << failing << ": " << status.message();
      EXPECT_NE(status.message().find("cu"), std::string::npos) << status.message();
    } else {
      ADD_FAILURE() << "nobody saw that call " << failing << " failed";
    }
    EXPECT_EQ(fake->leaks(), "") << failing;
  }
  EXPECT_GT(calls, 80u);
}

TEST(CudaDevice, RefusesAProgramForAnotherDevice) {
  auto fake = makeFakeCuda({});
  std::unique_ptr<Device> device;
  ASSERT_TRUE(makeCudaDevice(*fake, {}, device).ok());
  Status status = device->checkTarget({.device = "cuda", .gpuArch = "sm_90"});
  EXPECT_EQ(status.message(), "the program is compiled for device 'cuda' and was to run on device "
                              "'simt'; recompile with dtc");
  status = device->allocateArena(format::MemorySpace::device, uint64_t(1) << 40);
  EXPECT_EQ(status.statusCode(), StatusCode::ResourceExhausted);
  EXPECT_NE(status.message().find("1099511627776 bytes cannot be had from GPU 0 'emulated'"),
            std::string::npos)
      << status.message();
}

TEST(CudaDevice, SaysWhichLibraryIsMissing) {
  auto libraries = systemCudaLibraries();
  const cu::Driver *driver = nullptr;
  if (libraries->driver(driver).ok())
    GTEST_SKIP() << "this machine has libcuda.so.1";
  std::unique_ptr<Device> device;
  Status status = makeCudaDevice(*libraries, {}, device);
  EXPECT_EQ(status.statusCode(), StatusCode::Unavailable);
  EXPECT_NE(status.message().find("libcuda.so.1"), std::string::npos) << status.message();
  EXPECT_EQ(status.message().find('\n'), std::string::npos);
}

// Optional symbols may be missing in older libraries; a missing needed symbol is an error.
TEST(SharedLibrary, LacksNothingButWhatIsOptional) {
  void *there = nullptr, *missing = nullptr;
  LibraryName name{.what = "the C library", .files = {"libc.so.6"}, .mend = "update it"};
  const LibrarySymbol optional[] = {{"malloc", &there}, {"dtc_of_later", &missing, false}};
  EXPECT_TRUE(openLibrary(name, optional).ok());
  EXPECT_TRUE(there && !missing);
  const LibrarySymbol needed[] = {{"dtc_of_later", &missing}};
  EXPECT_EQ(openLibrary(name, needed).message(),
            "the C library (libc.so.6) has no function 'dtc_of_later', so that it is too old; "
            "update it");
}

// Tests every combination of transposes, with gaps between rows, twice in a batch, adding to the
// result.
TEST(CudaDevice, MultipliesAsTheProgramSays) {
  for (int variant = 0; variant < 8; ++variant) {
    bool transA = variant & 1, transB = variant & 2;
    format::DType type = variant & 4 ? format::DType::bf16 : format::DType::f32;
    format::GemmT op;
    op.m = 2;
    op.n = 3;
    op.k = 4;
    op.trans_a = transA;
    op.trans_b = transB;
    op.lda = op.ldb = 5;
    op.ldc = 4;
    op.alpha = 2;
    op.beta = 0.5f;
    op.batch = 2;
    op.stride_a = op.stride_b = 25;
    op.stride_c = 10;
    op.dtype = type;
    ProgramBuilder builder = test::simtProgram({{"dp", 1}});
    op.a = builder.buffer("a", 50, type);
    op.b = builder.buffer("b", 50, type);
    op.c = builder.buffer("c", 20);
    uint32_t a = op.a, b = op.b, c = op.c;
    builder.add(op);
    std::vector<float> x, y, z(20, 2);
    for (int i = 0; i < 50; ++i) {
      x.push_back(static_cast<float>(i % 7));
      y.push_back(static_cast<float>(i % 5) - 2);
    }
    std::vector<float> wanted = z;
    for (size_t batch = 0; batch < 2; ++batch)
      for (size_t i = 0; i < 2; ++i)
        for (size_t j = 0; j < 3; ++j) {
          float sum = 0;
          for (size_t k = 0; k < 4; ++k)
            sum += x[25 * batch + (transA ? 5 * k + i : 5 * i + k)] *
                   y[25 * batch + (transB ? 5 * j + k : 5 * k + j)];
          wanted[10 * batch + 4 * i + j] = 2 * sum + 1;
        }
    auto fake = makeFakeCuda({});
    auto worlds = makeLoopbackWorld(1);
    Status status = test::onCuda(*fake, builder.file(), *worlds[0], {}, true, [&](CudaRank at) {
      auto narrow = [&](uint32_t buffer, const std::vector<float> &values) {
        std::vector<uint16_t> bits;
        for (float value : values)
          bits.push_back(toBf16(value));
        return at.device.copyIn(at.executor.address(buffer), bits.data(), bits.size() * 2);
      };
      if (type == format::DType::bf16) {
        DTC_RETURN_IF_ERROR(narrow(a, x));
        DTC_RETURN_IF_ERROR(narrow(b, y));
      } else {
        at.put(a, x);
        at.put(b, y);
      }
      at.put(c, z);
      StepResult result;
      DTC_RETURN_IF_ERROR(at.executor.runStep(result));
      EXPECT_EQ(at.get(c), wanted) << variant;
      return Status();
    });
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(fake->leaks(), "");
  }
}

// A launch that the driver refuses is an error of the step that names the launch.
TEST(CudaDevice, NamesALaunchOutsideOfTheKernelsLimits) {
  TwoStreams program;
  program.builder.manifest.kernels[1]->threads = 32; // The kernel needs 64.
  auto fake = makeFakeCuda({});
  auto worlds = makeLoopbackWorld(1);
  Status status = test::onCuda(*fake, program.builder.file(), *worlds[0], {}, true,
                               [&](CudaRank at) { return runSteps(at.executor, 1, 7); });
  EXPECT_NE(status.message().find("recording launch as a part of a graph: cuLaunchKernel: "
                                  "CUDA_ERROR_INVALID_VALUE"),
            std::string::npos)
      << status.message();
  EXPECT_EQ(fake->leaks(), "");
}

// A device of one GPU with an arena, made in the given order, whose steps the test enqueues itself.
class Bare {
public:
  Bare(FakeCuda &fake, bool arenaFirst) {
    EXPECT_TRUE(makeCudaDevice(fake, {}, device).ok());
    if (arenaFirst)
      EXPECT_TRUE(device->allocateArena(format::MemorySpace::device, bytes).ok());
    EXPECT_TRUE(device->createStreams({.used = {true, true}, .events = 1}).ok());
    if (!arenaFirst)
      EXPECT_TRUE(device->allocateArena(format::MemorySpace::device, bytes).ok());
    EXPECT_TRUE(device->allocateHost(bytes, host).ok());
    std::memset(host, 9, bytes);
    arena = device->arena(format::MemorySpace::device);
  }
  Status end() const {
    uint64_t step = 0, tag = 0;
    DTC_RETURN_IF_ERROR(device->enqueueCopyOut(0, host, arena, bytes, {}));
    DTC_RETURN_IF_ERROR(device->endStep({}, step));
    return device->synchronize(step, tag);
  }

  static constexpr uint64_t bytes = 64;
  std::unique_ptr<Device> device;
  char *host = nullptr, *arena = nullptr;
};

// Copies through pinned staging buffers: less than one buffer, whole buffers, more than two and a
// rest.
TEST(CudaDevice, CopiesMemoryThatIsNotPinnedPieceByPiece) {
  for (uint64_t seed = 1; seed <= 10; ++seed)
    for (uint64_t bytes : {1, 15, 16, 32, 33, 63}) {
      auto fake = makeFakeCuda({.seed = seed});
      std::unique_ptr<Device> device;
      ASSERT_TRUE(makeCudaDevice(*fake, {.stageBytes = 16}, device).ok());
      ASSERT_TRUE(device->allocateArena(format::MemorySpace::device, 64).ok());
      char *arena = device->arena(format::MemorySpace::device);
      std::string sent, got(bytes, 'x');
      for (uint64_t i = 0; i < bytes; ++i)
        sent += static_cast<char>('A' + i);
      for (int times = 0; times < 2; ++times) {
        ASSERT_TRUE(device->copyIn(arena + 1, sent.data(), bytes).ok());
        ASSERT_TRUE(device->copyOut(got.data(), arena + 1, bytes).ok());
        EXPECT_EQ(got, sent);
        std::reverse(sent.begin(), sent.end());
      }
      device.reset();
      EXPECT_EQ(fake->leaks(), "");
    }
}

// An arena is mapped if the GPU supports it, and allocated otherwise. Either way it may have as
// much memory as the GPU has, and nothing is leaked.
TEST(CudaDevice, TakesItsArenaEitherWay) {
  for (bool maps : {true, false})
    for (uint64_t bytes : {1, 256, 1000}) {
      auto fake = makeFakeCuda({.memoryBytes = 1024, .maps = maps});
      for (int times = 0; times < 3; ++times) {
        std::unique_ptr<Device> device;
        ASSERT_TRUE(makeCudaDevice(*fake, {}, device).ok());
        Status status = device->allocateArena(format::MemorySpace::device, bytes);
        ASSERT_TRUE(status.ok()) << status.message();
        std::string got(bytes, 'x');
        ASSERT_TRUE(
            device->copyOut(got.data(), device->arena(format::MemorySpace::device), bytes).ok());
        EXPECT_EQ(got, std::string(bytes, '\0'));
        device.reset();
        EXPECT_EQ(fake->leaks(), "");
      }
    }
}

// Machines that NVLink connects may map the arena, if the machine's service lets them.
TEST(CudaDevice, LetsOtherMachinesMapItsArena) {
  for (auto fabric :
       {FakeCudaOptions::NoFabric, FakeCudaOptions::Fabric, FakeCudaOptions::RefusedFabric}) {
    auto fake = makeFakeCuda({.memoryBytes = 1024, .fabric = fabric});
    std::unique_ptr<Device> device;
    ASSERT_TRUE(makeCudaDevice(*fake, {}, device).ok());
    Status status = device->allocateArena(format::MemorySpace::device, 256);
    EXPECT_TRUE(status.ok()) << status.message();
    device.reset();
    EXPECT_EQ(fake->leaks(), "");
  }
}

// The first contents of the arena do not depend on when the fill is executed.
TEST(CudaDevice, HasAnArenaOfZerosWheneverItIsMade) {
  for (uint64_t seed = 1; seed <= 10; ++seed)
    for (bool arenaFirst : {true, false}) {
      auto fake = makeFakeCuda({.seed = seed});
      Bare bare(*fake, arenaFirst);
      ASSERT_TRUE(bare.device->beginStep(0).ok());
      Status status = bare.end();
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(std::string(bare.host, Bare::bytes), std::string(Bare::bytes, '\0'));
    }
}

// A stream that the caller orders by no event is part of the step like all others.
TEST(CudaDevice, TakesStreamsThatNobodyOrdersIntoTheStep) {
  ProgramBuilder builder = test::simtProgram({{"dp", 1}});
  builder.add(test::zero(builder.buffer("x", 16)));
  std::unique_ptr<Executable> executable;
  ASSERT_TRUE(Executable::fromBytes(builder.file(), "test.dte", executable).ok());
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    auto fake = makeFakeCuda({.seed = seed});
    Bare bare(*fake, true);
    Command command{.source = executable->program(0).tasks()->Get(0)->instructions()->Get(0),
                    .buffers = {bare.arena},
                    .scalars = {},
                    .bytes = Bare::bytes};
    for (int step = 0; step < 2; ++step) {
      std::memset(bare.host, 9, Bare::bytes);
      ASSERT_TRUE(bare.device->beginStep(0).ok());
      ASSERT_TRUE(bare.device->enqueueCopyIn(0, bare.arena, bare.host, Bare::bytes, {}).ok());
      ASSERT_TRUE(bare.device->enqueue(1, command, {}).ok());
      Status status = bare.end();
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(std::string(bare.host, Bare::bytes), std::string(Bare::bytes, '\0'));
    }
  }
}

// Two orders of the same length are recorded and replayed in turn, each for itself. Replaying an
// order with another's contents is an error.
TEST(CudaDevice, ReplaysTheOrderThatTheStepHas) {
  ProgramBuilder builder = test::simtProgram({{"dp", 1}});
  builder.add(test::zero(builder.buffer("x", 16)));
  std::unique_ptr<Executable> executable;
  ASSERT_TRUE(Executable::fromBytes(builder.file(), "test.dte", executable).ok());
  auto fake = makeFakeCuda({});
  Bare bare(*fake, true);
  auto step = [&](uint32_t order, uint64_t half) {
    std::memset(bare.host, 9, Bare::bytes);
    Command command{.source = executable->program(0).tasks()->Get(0)->instructions()->Get(0),
                    .buffers = {bare.arena + half * Bare::bytes / 2},
                    .scalars = {},
                    .bytes = Bare::bytes / 2};
    DTC_RETURN_IF_ERROR(bare.device->beginStep(order));
    DTC_RETURN_IF_ERROR(bare.device->enqueueCopyIn(0, bare.arena, bare.host, Bare::bytes, {}));
    DTC_RETURN_IF_ERROR(bare.device->enqueue(0, command, {}));
    return bare.end();
  };
  for (uint32_t i = 0; i < 6; ++i) {
    Status status = step(i % 2, i % 2);
    ASSERT_TRUE(status.ok()) << status.message();
    std::string zeros(Bare::bytes / 2, '\0'), nines(Bare::bytes / 2, 9);
    EXPECT_EQ(std::string(bare.host, Bare::bytes), i % 2 ? nines + zeros : zeros + nines);
  }
  EXPECT_EQ(step(0, 1).message(),
            "command 0 of an order differs from the one that was recorded there");
}

// An order that changed since it was recorded is an error of the caller, which is detected.
TEST(CudaDevice, FindsAnOrderThatChanges) {
  auto fake = makeFakeCuda({});
  Bare bare(*fake, true);
  for (int events : {1, 2}) {
    uint64_t step = 0, tag = 0;
    Status status = bare.device->beginStep(0);
    for (int i = 0; i < events && status.ok(); ++i)
      status = bare.device->enqueueRecord(0, 0, {});
    if (status.ok())
      status = bare.device->endStep({}, step);
    if (status.ok())
      status = bare.device->synchronize(step, tag);
    EXPECT_EQ(status.message(), events == 1 ? ""
                                            : "command 1 of an order differs from the one "
                                              "that was recorded there");
  }
}

} // namespace
} // namespace dtc::rt
