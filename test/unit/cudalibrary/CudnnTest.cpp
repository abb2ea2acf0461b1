// Tests attention by cuDNN with its stand-in: the results of its graphs, and when they are used.
#include "runtime/base/HalfFloats.h"
#include "runtime/comm/Loopback.h"
#include "runtime/cuda/AttentionCheck.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/CudnnChoices.h"
#include "runtime/device/CpuDevice.h"
#include "runtime/exec/Executor.h"
#include "runtime/fakecuda/FakeCuda.h"
#include "runtime/fakecuda/FakeCudaOptions.h"
#include "runtime/format/Operands.h"
#include "test/unit/cudalibrary/DeviceCode.h"
#include "test/unit/data/TempFolder.h"
#include "test/unit/format/Sample.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <thread>

namespace dtc::rt {
namespace {

using format::DType;
using test::ProgramBuilder;
using test::rankScalar;

using Bytes = std::vector<uint8_t>;
using Runs = std::map<int64_t, uint64_t>;

// Engines of the stand-in.
constexpr int64_t kRight = 0, kUnordered = 1, kWrong = 3, kRestless = 4, kIdle = 5;
constexpr size_t kVersion = 91900;

struct Shape {
  DType type = DType::bf16;
  uint64_t batch = 2, queries = 33, keys = 33, heads = 2, kvHeads = 2, headDim = 16;
  bool causal = true;
  uint64_t gap = 0; // elements between rows of q, k, v and of their gradients
  float dropout = 0;
  uint8_t stream = 0; // the stream of the forward pass
};

// An attention and its gradient.
struct Program {
  explicit Program(const Shape &shape, uint32_t ranks = 1) : builder({{"dp", ranks}}) {
    uint64_t ofQueries = shape.batch * shape.queries, ofKeys = shape.batch * shape.keys;
    uint64_t queryRow = shape.heads * shape.headDim, keyRow = shape.kvHeads * shape.headDim;
    auto heads = [&](const char *name, uint64_t rows, uint64_t row) {
      return builder.buffer(name, (rows - 1) * (row + shape.gap) + row, shape.type);
    };
    format::AttentionT forward;
    forward.batch = shape.batch;
    forward.queries = shape.queries;
    forward.keys = shape.keys;
    forward.heads = forward.total_heads = shape.heads;
    forward.kv_heads = shape.kvHeads;
    forward.head_dim = shape.headDim;
    forward.causal = shape.causal;
    forward.scale = 0.3F;
    forward.dropout = shape.dropout;
    forward.dtype = shape.type;
    forward.dropout_id = rankScalar(0);
    forward.first_batch = rankScalar(0);
    forward.first_head = rankScalar(0);
    if (shape.dropout > 0) {
      forward.step = builder.buffer("step", 1);
      forward.seed = builder.buffer("seed", 1, DType::i64);
      builder.scalar(format::ScalarRole::step, forward.step);
      builder.scalar(format::ScalarRole::seed, forward.seed);
    }
    if (shape.gap > 0) {
      forward.q_row = queryRow + shape.gap;
      forward.k_row = forward.v_row = keyRow + shape.gap;
    }
    forward.q = heads("q", ofQueries, queryRow);
    forward.k = heads("k", ofKeys, keyRow);
    forward.v = heads("v", ofKeys, keyRow);
    forward.out = builder.buffer("out", ofQueries * queryRow, shape.type);
    forward.lse = builder.buffer("lse", shape.batch * shape.heads * shape.queries);
    format::AttentionGradT grad;
    grad.forward = std::make_unique<format::AttentionT>(forward);
    grad.dout = builder.buffer("dout", ofQueries * queryRow, shape.type);
    grad.dq = heads("dq", ofQueries, queryRow);
    grad.dk = heads("dk", ofKeys, keyRow);
    grad.dv = heads("dv", ofKeys, keyRow);
    grad.dq_row = forward.q_row;
    grad.dk_row = forward.k_row;
    grad.dv_row = forward.v_row;
    grad.scratch = builder.buffer("delta", shape.batch * shape.heads * shape.queries);
    builder.program().num_streams = shape.stream + 1U;
    builder.program().num_events = 1;
    builder.add(std::move(forward), shape.stream);
    if (shape.stream > 0) {
      builder.add(test::record(0), shape.stream);
      builder.add(test::wait(0));
    }
    builder.add(std::move(grad));
  }

  // Returns random normal numbers, and NaN where nothing may be read.
  std::vector<Bytes> start() const {
    std::mt19937 engine(5);
    std::normal_distribution<float> normal(0, 1);
    std::vector<Bytes> buffers;
    for (const auto &buffer : builder.manifest.programs[0]->buffers) {
      Bytes &bytes = buffers.emplace_back(buffer->bytes, uint8_t(0xff));
      for (size_t at = 0;
           buffer->dtype != DType::f32 && buffer->dtype != DType::i64 && at + 2 <= bytes.size();
           at += 2) {
        float value = normal(engine);
        uint16_t bits = buffer->dtype == DType::bf16 ? toBf16(value) : toF16(value);
        std::memcpy(&bytes[at], &bits, 2);
      }
    }
    return buffers;
  }

  std::vector<double> values(const std::vector<Bytes> &buffers, const std::string &name) const {
    const auto &described = builder.manifest.programs[0]->buffers;
    std::vector<double> found;
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (described[i]->name != name)
        continue;
      size_t each = format::bytesOf(described[i]->dtype);
      for (size_t at = 0; at + each <= buffers[i].size(); at += each) {
        float value = 0;
        uint16_t bits = 0;
        if (each == 4)
          std::memcpy(&value, &buffers[i][at], 4);
        std::memcpy(&bits, &buffers[i][at], 2);
        found.push_back(each == 4                            ? value
                        : described[i]->dtype == DType::bf16 ? fromBf16(bits)
                                                             : fromF16(bits));
      }
    }
    return found;
  }

  ProgramBuilder builder;
};

struct Start {
  Status status;
  Runs tuned, stepped; // number of runs by engine, on the rank's own GPU
  std::vector<std::string> notices;
  std::vector<Bytes> buffers;
};

// Runs two steps of `file` on a device.
Status runSteps(const Bytes &file, Comm &world, Device &device, const std::vector<Bytes> &at,
                const std::function<void()> &isTuned, std::vector<Bytes> &buffers) {
  std::unique_ptr<Executable> executable;
  DTC_RETURN_IF_ERROR(Executable::fromBytes(file, "test.dte", executable));
  std::unique_ptr<Executor> executor;
  DTC_RETURN_IF_ERROR(Executor::create(*executable, world, device, {}, executor));
  isTuned();
  buffers = at;
  for (uint32_t i = 0; i < buffers.size(); ++i) { // nothing is left of the measurements
    DTC_RETURN_IF_ERROR(device.copyOut(buffers[i].data(), executor->address(i), buffers[i].size()));
    EXPECT_EQ(buffers[i], Bytes(buffers[i].size()));
  }
  buffers = at;
  for (uint32_t i = 0; i < buffers.size(); ++i)
    DTC_RETURN_IF_ERROR(device.copyIn(executor->address(i), buffers[i].data(), buffers[i].size()));
  for (uint64_t step : {1, 2}) {
    StepResult result;
    DTC_RETURN_IF_ERROR(
        executor->setScalars({.step = step, .totalSteps = 2, .baseLr = 1, .seed = 9}));
    DTC_RETURN_IF_ERROR(executor->runStep(result));
  }
  for (uint32_t i = 0; i < buffers.size(); ++i)
    DTC_RETURN_IF_ERROR(device.copyOut(buffers[i].data(), executor->address(i), buffers[i].size()));
  return {};
}

// A machine without cuDNN but with everything else.
class WithoutCudnn : public CudaLibraries {
public:
  explicit WithoutCudnn(CudaLibraries &of) : of(of) {}
  const char *device() const override { return of.device(); }
  std::string machine() const override { return of.machine(); }
  Status driver(const cu::Driver *&driver) override { return of.driver(driver); }
  Status blasLt(const cu::BlasLt *&blas) override { return of.blasLt(blas); }
  Status cudnn(const cu::Cudnn *&) override { return Status::unavailable("no cuDNN here"); }
  int process() const override { return of.process(); }
  Environment environment() override { return of.environment(); }
  std::vector<std::string> takeMessages() override { return of.takeMessages(); }
  Status nccl(const cu::Nccl *&nccl) override { return of.nccl(nccl); }

private:
  CudaLibraries &of;
};

Start start(FakeCuda &fake, CudaLibraries &libraries, const Program &program, const Bytes &file,
            const TuningOptions &tuning, Comm &world) {
  Start result;
  CudaOptions options;
  options.tuning = tuning;
  options.localRank = world.rank();
  options.world = &world;
  options.notice = [&](const std::string &words) { result.notices.push_back(words); };
  std::unique_ptr<Device> device;
  result.status = makeCudaDevice(libraries, options, device);
  if (!result.status.ok())
    return result;
  result.status = runSteps(
      file, world, *device, program.start(), [&] { result.tuned = fake.cudnnRuns(world.rank()); },
      result.buffers);
  result.stepped = fake.cudnnRuns(world.rank());
  for (const auto &[engine, count] : result.tuned)
    result.stepped[engine] -= count;
  std::erase_if(result.stepped, [](const auto &each) { return each.second == 0; });
  return result;
}

// Returns the file of a program with the kernels that it needs, which are compiled once.
Bytes fileOf(Program &program) {
  static std::map<std::vector<std::string>, Bytes> segments;
  static std::vector<std::string> kernels = {"AttentionForward_bf16_32",
                                             "AttentionBackward_queries_bf16_32",
                                             "AttentionBackward_keys_bf16_32",
                                             "AttentionForward_f16_32",
                                             "AttentionBackward_queries_f16_32",
                                             "AttentionBackward_keys_f16_32",
                                             "AttentionGeneral_forward_f32_32",
                                             "AttentionGeneral_queries_f32_32",
                                             "AttentionGeneral_keys_f32_32",
                                             "AttentionForward_bf16_32_dropout",
                                             "AttentionBackward_queries_bf16_32_dropout",
                                             "AttentionBackward_keys_bf16_32_dropout"};
  Bytes &segment = segments[kernels];
  if (segment.empty())
    segment = test::simtSegment(kernels);
  program.builder.manifest.device = "simt";
  program.builder.segments = {{format::SegmentKind::simt, segment}};
  return program.builder.file();
}

Start start(const Shape &shape, const FakeCudaOptions &machine, const TuningOptions &tuning) {
  Program program(shape);
  Bytes file = fileOf(program);
  auto fake = makeFakeCuda(machine);
  auto worlds = makeLoopbackWorld(1);
  Start result = start(*fake, *fake, program, file, tuning, *worlds[0]);
  EXPECT_TRUE(result.status.ok()) << result.status.message();
  EXPECT_EQ(fake->leaks(), "");
  return result;
}

double distance(const std::vector<double> &found, const std::vector<double> &wanted) {
  double scale = 1e-30, error = found.size() == wanted.size() ? 0 : INFINITY;
  for (size_t i = 0; i < std::min(found.size(), wanted.size()); ++i) {
    if (std::isnan(found[i]) != std::isnan(wanted[i]))
      return INFINITY;
    if (std::isnan(wanted[i]))
      continue;
    scale = std::max(scale, std::abs(wanted[i]));
    error = std::max(error, std::abs(found[i] - wanted[i]));
  }
  return error / scale;
}

class CudnnAttention : public TempFolder {};

// Weights are rounded to 16 bits before products, and so are results: this is the tolerance of our
// own kernels.
TEST_F(CudnnAttention, ComputesWhatCpusDo) {
  const Shape shapes[] = {
      {},
      {.type = DType::f16, .queries = 31, .keys = 40, .heads = 4, .headDim = 32, .causal = false},
      {.queries = 5, .keys = 9, .heads = 6, .kvHeads = 2, .headDim = 8, .gap = 24},
      {.batch = 3, .queries = 1, .keys = 7, .headDim = 24},
      {.batch = 1, .queries = 64, .keys = 65, .heads = 3, .kvHeads = 1, .headDim = 32, .gap = 8},
  };
  for (const Shape &shape : shapes) {
    Program program(shape);
    Start by = start(shape, {.cudnnVersion = kVersion}, {.seconds = 60});
    EXPECT_EQ(by.stepped, (Runs{{kRight, 2}})); // both runs, recorded as a graph once
    auto worlds = makeLoopbackWorld(1);
    program.builder.segments.clear();
    program.builder.manifest.device = "cpu";
    auto cpu = makeCpuDevice(1, nullptr);
    std::vector<Bytes> wanted;
    Status status = runSteps(
        program.builder.file(), *worlds[0], *cpu, program.start(), [] {}, wanted);
    ASSERT_TRUE(status.ok()) << status.message();
    for (const char *name : {"out", "dq", "dk", "dv"})
      EXPECT_LE(distance(program.values(by.buffers, name), program.values(wanted, name)), 1e-2)
          << name << " of " << shape.queries << " x " << shape.keys;
    EXPECT_LE(distance(program.values(by.buffers, "lse"), program.values(wanted, "lse")), 1e-5);
  }
}

TEST_F(CudnnAttention, IsTakenOnlyWhereItIsFaster) {
  Start slow = start({}, {.cudnnVersion = kVersion, .slowCudnn = true}, {.seconds = 60});
  EXPECT_GT(slow.tuned[kRight], 2u);
  EXPECT_EQ(slow.stepped, Runs());
  Start unmeasured = start({}, {.cudnnVersion = kVersion}, {.seconds = 0});
  EXPECT_EQ(unmeasured.tuned, Runs());
  EXPECT_EQ(unmeasured.stepped, Runs());
}

// No message is printed if there is no cuDNN.
TEST_F(CudnnAttention, IsNotMissed) {
  Start without = start({}, {}, {.seconds = 60});
  EXPECT_EQ(without.stepped, Runs());
  EXPECT_EQ(without.notices, std::vector<std::string>());
}

// The first engine that is offered adds up in any order, one is wrong, one differs from run to run,
// and one does nothing.
TEST_F(CudnnAttention, HasToBeRightAndTheSameEachTime) {
  Start result = start({}, {.cudnnVersion = kVersion}, {.seconds = 60});
  EXPECT_EQ(result.tuned.count(kUnordered), 0u);
  EXPECT_EQ(result.tuned[kWrong], 4u); // twice for each attention
  EXPECT_EQ(result.tuned[kRestless], 4u);
  EXPECT_EQ(result.tuned[kIdle], 4u);
  EXPECT_EQ(result.stepped, (Runs{{kRight, 2}}));
  ASSERT_EQ(result.notices.size(), 1u);
  EXPECT_EQ(result.notices[0].find("what cuDNN computes is not what dtc's own kernels compute, "
                                   "which are used: row "),
            0u)
      << result.notices[0];
}

// There is one workspace.
TEST_F(CudnnAttention, IsOfOneStream) {
  Start result = start({.stream = 1}, {.cudnnVersion = kVersion}, {.seconds = 60});
  EXPECT_EQ(result.stepped, (Runs{{kRight, 1}}));
}

TEST_F(CudnnAttention, DoesNoOtherAttention) {
  const Shape shapes[] = {{.type = DType::f32}, {.dropout = 0.25F}};
  for (const Shape &shape : shapes) {
    Start result = start(shape, {.cudnnVersion = kVersion}, {.seconds = 60});
    EXPECT_EQ(result.tuned, Runs());
    EXPECT_EQ(result.stepped, Runs());
  }
}

TEST_F(CudnnAttention, NeedsMemoryThatIsLeft) {
  Start result =
      start({}, {.memoryBytes = uint64_t(520) << 20, .cudnnVersion = kVersion}, {.seconds = 60});
  EXPECT_EQ(result.stepped, (Runs{{kRight, 2}}));
  result =
      start({}, {.memoryBytes = uint64_t(512) << 20, .cudnnVersion = kVersion}, {.seconds = 60});
  EXPECT_EQ(result.tuned, Runs());
  EXPECT_EQ(result.stepped, Runs());
}

TEST_F(CudnnAttention, IsKnownAtTheNextStart) {
  TuningOptions tuning{.seconds = 60, .program = "12ab", .files = {folder + "/gpt2.dte.tuning"}};
  (void)start({}, {.cudnnVersion = kVersion}, tuning);
  Start second = start({}, {.cudnnVersion = kVersion}, tuning);
  EXPECT_EQ(second.tuned, (Runs{{kRight, 2}})); // each once, which loads it
  EXPECT_EQ(second.stepped, (Runs{{kRight, 2}}));
  EXPECT_EQ(second.notices, std::vector<std::string>());
  Start other = start({}, {.cudnnVersion = kVersion + 100}, tuning);
  EXPECT_GT(other.tuned[kWrong], 0u); // nothing is known about another version
  Start none = start({}, {}, tuning);
  EXPECT_EQ(none.stepped, Runs());
}

// The choices of rank 0 apply to both. If the other rank has no cuDNN, neither uses it.
TEST_F(CudnnAttention, IsMeasuredAtTheNextStartWhereTimeDidNotSuffice) {
  TuningOptions tuning{.seconds = 1e-9, .program = "12ab", .files = {folder + "/gpt2.dte.tuning"}};
  Start hurried = start({}, {.cudnnVersion = kVersion}, tuning);
  ASSERT_TRUE(hurried.status.ok()) << hurried.status.message();
  EXPECT_EQ(hurried.stepped, Runs());
  EXPECT_EQ(hurried.notices,
            std::vector<std::string>{
                "operations of cuDNN, which may be faster, were not measured for want "
                "of time: give a larger DTC_TUNING_MS"});
  tuning.seconds = 60;
  Start next = start({}, {.cudnnVersion = kVersion}, tuning);
  EXPECT_NE(next.stepped, Runs());
  ASSERT_EQ(next.notices.size(), 1u); // about the wrong engine
  EXPECT_EQ(next.notices[0].find("want of time"), std::string::npos) << next.notices[0];
}

TEST_F(CudnnAttention, IsTakenByAllRanksOrByNone) {
  Program program({}, 2);
  Bytes file = fileOf(program);
  for (bool has : {true, false}) {
    auto fake = makeFakeCuda({.gpus = 2, .cudnnVersion = kVersion});
    WithoutCudnn without(*fake);
    auto worlds = makeLoopbackWorld(2);
    std::vector<Start> results(2);
    std::vector<std::thread> ranks;
    for (size_t rank = 0; rank < 2; ++rank)
      ranks.emplace_back([&, rank] {
        CudaLibraries &libraries = has || rank == 0 ? static_cast<CudaLibraries &>(*fake) : without;
        results[rank] = start(*fake, libraries, program, file, {.seconds = 60}, *worlds[rank]);
      });
    for (std::thread &rank : ranks)
      rank.join();
    for (const Start &result : results) {
      EXPECT_TRUE(result.status.ok()) << result.status.message();
      EXPECT_EQ(result.stepped, has ? (Runs{{kRight, 2}}) : Runs());
    }
    EXPECT_EQ(results[1].tuned, has ? (Runs{{kRight, 2}}) : Runs());
    EXPECT_EQ(results[0].buffers, results[1].buffers);
    ASSERT_EQ(results[0].notices.size(), 1u);
    EXPECT_EQ(results[0].notices[0].find("cuDNN, which is faster, is not used, as rank "
                                         "1 cannot have it") != std::string::npos,
              !has);
    EXPECT_EQ(fake->leaks(), "");
  }
}

// One call after the other ends in an error. The start continues without what failed, or names it,
// and nothing is leaked.
TEST_F(CudnnAttention, EndsWellWhateverFails) {
  Shape tiny{.batch = 1, .queries = 2, .keys = 2, .heads = 1, .kvHeads = 1, .headDim = 8};
  Program program(tiny);
  Bytes file = fileOf(program);
  uint64_t calls = 0;
  for (uint64_t failing = 0; failing <= calls; failing += failing < 20 ? 1 : 61) {
    auto fake = makeFakeCuda({.cudnnVersion = kVersion, .failingCall = failing});
    auto worlds = makeLoopbackWorld(1);
    Start result = start(*fake, *fake, program, file, {.seconds = 60}, *worlds[0]);
    if (failing == 0) {
      calls = fake->numCalls();
      EXPECT_TRUE(result.status.ok()) << result.status.message();
    }
    EXPECT_TRUE(result.status.ok() || result.status.message().find("cu") != std::string::npos)
        << failing << ": " << result.status.message();
    EXPECT_EQ(fake->leaks(), "") << failing;
  }
  EXPECT_GT(calls, 1000u);
}

TEST(CudnnChoice, IsReadAsItWasWritten) {
  CudnnEngine engine{.index = 7, .knobs = {{24, 26}, {3, -5}, {0, 0}, {43, 8000000}}}, read;
  cu::BlasAlgo choice{};
  bool isCudnn = false;
  ASSERT_TRUE(packChoice(&engine, choice));
  ASSERT_TRUE(unpackChoice(choice, read, isCudnn));
  EXPECT_TRUE(isCudnn);
  EXPECT_EQ(read, engine);
  ASSERT_TRUE(packChoice(nullptr, choice));
  ASSERT_TRUE(unpackChoice(choice, read, isCudnn));
  EXPECT_FALSE(isCudnn);
  EXPECT_FALSE(unpackChoice({{1, 2, 3}}, read, isCudnn)); // the choice of a product
  for (int type = 0; type < 13; ++type)
    engine.knobs[type] = 1;
  EXPECT_FALSE(packChoice(&engine, choice)); // too many
  EXPECT_FALSE(
      packChoice(std::make_unique<CudnnEngine>(CudnnEngine{1, {{2, 9000000}}}).get(), choice));
}

// Two tokens of two heads of 8. Results are in the order dq, dk, dv.
struct Compared {
  Compared() {
    cuda::AttentionParams &p = attention.params;
    attention.type = ElementType::BF16;
    attention.isGradient = true;
    p.batch = 1;
    p.queries = p.keys = p.heads = p.kvHeads = 2;
    p.headDim = 8;
    p.dqStrides = p.dkStrides = p.dvStrides = {40, 20, 8}; // 4 elements between tokens
    for (std::vector<char> &bytes : results) {
      std::vector<uint16_t> numbers(36, 0x7fc0);
      for (size_t token = 0; token < 2; ++token)
        for (size_t i = 0; i < 16; ++i)
          numbers[20 * token + i] = toBf16(1 + static_cast<float>(i) * 0.25F);
      bytes.resize(72);
      std::memcpy(bytes.data(), numbers.data(), 72);
    }
  }
  // Returns the results with `bits` for one element of dk.
  CudnnResults with(size_t element, uint16_t bits) const {
    CudnnResults other = results;
    std::memcpy(&other[1][2 * element], &bits, 2);
    return other;
  }
  AttentionCase attention;
  CudnnResults results{3};
};

TEST(AttentionCheck, TakesRoundingsAndNothingElse) {
  Compared of;
  EXPECT_EQ(findDifference(of.attention, of.results, of.with(0, 0x3f81)), "");  // 1.0078 for 1
  EXPECT_EQ(findDifference(of.attention, of.results, of.with(17, 0x4000)), ""); // in a gap
  EXPECT_TRUE(areSame(of.attention, of.results, of.with(17, 0x4000)));
  EXPECT_FALSE(areSame(of.attention, of.results, of.with(0, 0x3f81)));
  EXPECT_EQ(findDifference(of.attention, of.results, of.with(28, 0x3fa0)) // 1.25 for 3
                .find("row 1 of head 1 of batch 0 of 'dk' is 1.75 away"),
            0u);
  EXPECT_NE(findDifference(of.attention, of.results, of.with(35, 0x7fc0)), "");
  // The largest row of dq, which has norm 6.2 here, sets the tolerance.
  CudnnResults first = of.results;
  std::memset(first[0].data(), 0, 16);
  std::memset(first[1].data(), 0, 16);
  CudnnResults other = first;
  uint16_t bits = toBf16(0.02F);
  std::memcpy(other[0].data(), &bits, 2);
  EXPECT_EQ(findDifference(of.attention, first, other), "");
  std::memcpy(other[1].data(), &bits, 2);
  EXPECT_NE(findDifference(of.attention, first, other), "");
}

// The first, the third and the last of four batches are compared, each without the gap behind it.
TEST(AttentionCheck, ComparesThreeBatches) {
  Compared of;
  of.attention.params.batch = 4;
  for (std::vector<char> &bytes : of.results) {
    std::vector<char> one = bytes;
    bytes.insert(bytes.end(), one.begin(), one.end());
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  EXPECT_TRUE(areSame(of.attention, of.results, of.results));
  for (auto [slot, batch] : {std::pair<size_t, int>(0, 0), {1, 2}, {2, 3}}) {
    CudnnResults other = of.with(36 * slot + 28, 0x3fa0);
    EXPECT_FALSE(areSame(of.attention, of.results, other));
    EXPECT_EQ(findDifference(of.attention, of.results, other)
                  .find("row 1 of head 1 of batch " + std::to_string(batch) + " of 'dk'"),
              0u);
  }
}

TEST(CudnnCase, IsWhatItsPatternsAreFor) {
  AttentionCase fit;
  fit.type = ElementType::BF16;
  cuda::AttentionParams &p = fit.params;
  p.batch = 1;
  p.queries = p.keys = 4;
  p.heads = p.kvHeads = 2;
  p.headDim = 64;
  for (cuda::HeadStrides *strides : {&p.qStrides, &p.kStrides, &p.vStrides, &p.outStrides,
                                     &p.doutStrides, &p.dqStrides, &p.dkStrides, &p.dvStrides})
    *strides = {512, 128, 64};
  EXPECT_TRUE(isCudnnCase(fit));
  fit.isGradient = true;
  EXPECT_TRUE(isCudnnCase(fit));
  auto isFitWith = [&](auto change) {
    AttentionCase other = fit;
    change(other);
    return isCudnnCase(other);
  };
  EXPECT_FALSE(isFitWith([](AttentionCase &of) { of.type = ElementType::F32; }));
  EXPECT_FALSE(isFitWith([](AttentionCase &of) { of.params.headDim = 136; }));
  EXPECT_FALSE(isFitWith([](AttentionCase &of) { of.params.headDim = 60; }));
  EXPECT_FALSE(isFitWith([](AttentionCase &of) { of.params.keptFrom = 1; }));
  EXPECT_FALSE(isFitWith([](AttentionCase &of) { of.params.causal = of.params.window = 1; }));
  EXPECT_FALSE(isFitWith([](AttentionCase &of) { of.params.causal = of.params.keys = 1; }));
  EXPECT_FALSE(isFitWith([](AttentionCase &of) { of.params.dkStrides.token = 132; }));
  EXPECT_FALSE(isFitWith([](AttentionCase &of) { of.params.dq = reinterpret_cast<void *>(8); }));
  EXPECT_FALSE(isFitWith([](AttentionCase &of) {
    of.params.causal = 1;
    of.params.queries = 5; // the first query sees no key
  }));
}

TEST(CudnnCase, IsDescribedByAllThatDecidesHowItIsDone) {
  AttentionCase of;
  of.isGradient = true;
  std::set<std::string> words = {describeAttention(of)};
  size_t count = 1;
  auto add = [&](auto change) {
    AttentionCase other = of;
    change(other, other.params);
    words.insert(describeAttention(other));
    EXPECT_EQ(words.size(), ++count);
  };
  using cuda::AttentionParams;
  for (int AttentionParams::*size :
       {&AttentionParams::batch, &AttentionParams::queries, &AttentionParams::keys,
        &AttentionParams::heads, &AttentionParams::kvHeads, &AttentionParams::headDim,
        &AttentionParams::causal})
    add([size](AttentionCase &, AttentionParams &p) { p.*size = 1; });
  for (cuda::HeadStrides AttentionParams::*strides :
       {&AttentionParams::qStrides, &AttentionParams::kStrides, &AttentionParams::vStrides,
        &AttentionParams::outStrides, &AttentionParams::doutStrides, &AttentionParams::dqStrides,
        &AttentionParams::dkStrides, &AttentionParams::dvStrides})
    for (int64_t cuda::HeadStrides::*stride :
         {&cuda::HeadStrides::batch, &cuda::HeadStrides::token, &cuda::HeadStrides::head})
      add([=](AttentionCase &, AttentionParams &p) { (p.*strides).*stride = 8; });
  add([](AttentionCase &, AttentionParams &p) { p.scale = 1; });
  add([](AttentionCase &other, AttentionParams &) { other.type = ElementType::F16; });
  add([](AttentionCase &other, AttentionParams &) { other.isGradient = false; });
}

} // namespace
} // namespace dtc::rt
