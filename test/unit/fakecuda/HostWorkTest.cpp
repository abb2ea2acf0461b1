// Tests programs that do part of their work on the host of the GPU, in any order of streams.
#include "test/unit/fakecuda/CudaTestSupport.h"

#include "runtime/cuda/HostArena.h"

namespace dtc::rt {
namespace {

using test::CudaRank;
using test::launchOf;
using test::ProgramBuilder;

constexpr uint64_t n = 128; // of the sample's 'decay'

// The program computes state += c + c' with c = 0.75 (2 state + 1). The host computes c from data
// that a second stream copies there and back; c' is a copy of c that the host makes behind zeros.
struct OverTheHost {
  OverTheHost() : builder(test::simtProgram({{"dp", 1}})) {
    builder.segments.push_back({format::SegmentKind::code, test::readBytes(DTC_SAMPLE_KERNELS)});
    builder.program().num_streams = 2;
    builder.program().num_events = 2;
    uint32_t scale = builder.kernel("scale", {4 * n, 4 * n}, n);
    builder.manifest.kernels[scale]->num_scalars = 1;
    builder.manifest.kernels[scale]->num_results = 1;
    uint32_t add = builder.kernel("add", {4 * n, 4 * n}, n);
    builder.manifest.kernels[add]->threads = 64;
    uint32_t decay = builder.kernel("decay", {4 * n, 4}, n);
    builder.manifest.kernels[decay]->code_segment = 1;
    state = builder.buffer("state", n);
    lr = builder.buffer("lr", 1);
    uint32_t y = builder.buffer("y", n), z = builder.buffer("z", n), w = builder.buffer("w", n);
    builder.scalar(format::ScalarRole::base_lr, lr);
    there = onHost("there", n, 0);
    lrThere = onHost("lr_there", 1, 512);
    copyThere = onHost("copy_there", n, 576);
    builder.program().host_bytes = 576 + 512;

    format::LaunchT first = launchOf(scale, {state, y}, n);
    first.scalars.push_back(test::rankScalar(1));
    builder.add(std::move(first));
    builder.add(test::record(0));
    builder.add(test::wait(0), 1);
    builder.add(test::copy(y, there, n), 1);
    builder.add(test::copy(lr, lrThere, 1), 1);
    builder.add(launchOf(decay, {there, lrThere}, n), 1);
    builder.add(test::zero(copyThere), 1);
    format::StridedCopyT adding = test::copy(there, copyThere, n);
    adding.accumulate = true;
    builder.add(std::move(adding), 1);
    builder.add(test::copy(there, z, n), 1);
    builder.add(test::copy(copyThere, w, n), 1);
    builder.add(test::record(1), 1);
    builder.add(test::wait(1));
    builder.add(launchOf(add, {z, state}, n));
    builder.add(launchOf(add, {w, state}, n));
  }

  uint32_t onHost(const std::string &name, uint64_t elements, uint64_t offset) {
    uint32_t made = builder.buffer(name, elements);
    format::BufferT &buffer = *builder.program().buffers[made];
    buffer.space = format::MemorySpace::host;
    buffer.offset = offset;
    return made;
  }

  ProgramBuilder builder;
  uint32_t state = 0, lr = 0, there = 0, lrThere = 0, copyThere = 0;
};

Status runSteps(CudaRank at, const OverTheHost &program) {
  std::vector<float> state(n);
  for (uint64_t i = 0; i < n; ++i)
    state[i] = static_cast<float>(i % 3);
  at.put(program.state, state);
  DTC_RETURN_IF_ERROR(at.executor.setScalars({.baseLr = 0.25f}));
  StepResult result;
  for (int step = 0; step < 3; ++step) {
    DTC_RETURN_IF_ERROR(at.executor.enqueue(format::EntryKind::train));
    if (step > 0) // as many steps ahead as the executor allows
      DTC_RETURN_IF_ERROR(at.executor.collect(result));
  }
  DTC_RETURN_IF_ERROR(at.executor.collect(result));
  for (float &each : state) // 4 each + 1.5, as decay leaves 1 - 0.25
    for (int step = 0; step < 3; ++step)
      each = each + 2 * 0.75f * (2 * each + 1);
  EXPECT_EQ(at.get(program.state), state);
  return {};
}

TEST(HostWork, RunsBetweenWhatTheGpuDoes) {
  OverTheHost program;
  std::vector<uint8_t> file = program.builder.file();
  for (uint64_t seed = 1; seed <= 30; ++seed)
    for (bool graphs : {true, false})
      for (int threads : {1, 2}) {
        auto fake = makeFakeCuda({.seed = seed});
        auto worlds = makeLoopbackWorld(1);
        CudaOptions cuda;
        cuda.graphs = graphs;
        cuda.threads = threads;
        Status status = test::onCuda(*fake, file, *worlds[0], {.trace = seed % 2 == 0}, cuda,
                                     [&](CudaRank at) { return runSteps(at, program); });
        ASSERT_TRUE(status.ok()) << status.message();
        ASSERT_EQ(fake->leaks(), "");
      }
}

// Parameters and state on the host are read and written as those on the GPU are, in any size.
TEST(HostWork, IsReadAndWrittenFromOutside) {
  OverTheHost program;
  for (uint64_t stageBytes : {uint64_t(16), uint64_t(1) << 20}) {
    auto fake = makeFakeCuda({});
    auto worlds = makeLoopbackWorld(1);
    CudaOptions cuda;
    cuda.stageBytes = stageBytes;
    Status status = test::onCuda(*fake, program.builder.file(), *worlds[0], {}, cuda,
                                 [&](CudaRank at) -> Status {
                                   EXPECT_EQ(at.get(program.there), std::vector<float>(n));
                                   std::vector<float> values(n);
                                   for (uint64_t i = 0; i < n; ++i)
                                     values[i] = static_cast<float>(i);
                                   at.put(program.there, values);
                                   EXPECT_EQ(at.get(program.there), values);
                                   EXPECT_EQ(at.get(program.copyThere), std::vector<float>(n));
                                   return {};
                                 });
    ASSERT_TRUE(status.ok()) << status.message();
  }
}

// Only copies of contiguous elements without conversion are moves; the GPU's kernels do the others.
TEST(HostArena, MovesWhatIsDense) {
  auto fake = makeFakeCuda({});
  std::unique_ptr<Device> device; // Calls are made in its context.
  ASSERT_TRUE(makeCudaDevice(*fake, {}, device).ok());
  const cu::Driver *driver = nullptr;
  ASSERT_TRUE(fake->driver(driver).ok());
  HostArena arena(*driver);
  ASSERT_TRUE(arena.allocate(1024).ok());
  char elsewhere[1024];
  format::InstructionT instruction;
  auto isMove = [&](std::vector<int64_t> srcStrides, std::vector<int64_t> dstStrides,
                    bool accumulate, char *from, char *to) {
    format::StridedCopyT copy = test::copy(0, 1, 12);
    copy.sizes = {3, 4};
    copy.src_strides = std::move(srcStrides);
    copy.dst_strides = std::move(dstStrides);
    copy.accumulate = accumulate;
    instruction.op.Set(std::move(copy));
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(format::CreateInstruction(builder, &instruction));
    Command command{.source = flatbuffers::GetRoot<format::Instruction>(builder.GetBufferPointer()),
                    .buffers = {from, to},
                    .scalars = {}};
    return arena.isMove(command);
  };
  EXPECT_TRUE(isMove({4, 1}, {4, 1}, false, elsewhere, arena.begin()));
  EXPECT_TRUE(isMove({4, 1}, {4, 1}, false, arena.begin() + 1023, elsewhere));
  EXPECT_FALSE(isMove({8, 1}, {4, 1}, false, elsewhere, arena.begin()));
  EXPECT_FALSE(isMove({4, 1}, {1, 3}, false, elsewhere, arena.begin()));
  EXPECT_FALSE(isMove({4, 1}, {4, 1}, true, elsewhere, arena.begin()));
  EXPECT_FALSE(isMove({4, 1}, {4, 1}, false, arena.begin(), arena.begin() + 512));
  EXPECT_FALSE(isMove({4, 1}, {4, 1}, false, elsewhere, elsewhere + 512));
  EXPECT_FALSE(isMove({4, 1}, {4, 1}, false, elsewhere, arena.begin() + 1024));
}

// Makes each call fail in turn: the error must name the call, and nothing may be leaked.
TEST(HostWork, NamesEveryCallThatFails) {
  OverTheHost program;
  std::vector<uint8_t> file = program.builder.file();
  uint64_t calls = 0;
  for (uint64_t failing = 0; failing <= calls; ++failing) {
    auto fake = makeFakeCuda({.failingCall = failing});
    auto worlds = makeLoopbackWorld(1);
    bool isInSteps = true;
    Status status = test::onCuda(*fake, file, *worlds[0], {}, true, [&](CudaRank at) {
      StepResult result;
      Status ran = at.executor.runStep(result);
      isInSteps = failing <= fake->numCalls();
      return ran;
    });
    if (failing == 0)
      calls = fake->numCalls();
    if (!status.ok())
      EXPECT_NE(status.message().find("CUDA_ERROR_OPERATING_SYSTEM"), std::string::npos)
          << failing << ": " << status.message();
    else
      EXPECT_TRUE(failing == 0 || !isInSteps) << "nobody saw that call " << failing << " failed";
    EXPECT_EQ(fake->leaks(), "") << failing;
  }
  EXPECT_GT(calls, 20u);
}

} // namespace
} // namespace dtc::rt
