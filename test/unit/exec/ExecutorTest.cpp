// Tests single instructions on one rank: their results, and that sizes of the file reach the
// kernels.
#include "test/unit/exec/RankRunner.h"
#include "test/unit/format/Sample.h"

#include "runtime/exec/Loader.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>

namespace dtc::rt {
namespace {

using test::get;
using test::ProgramBuilder;
using test::put;

std::vector<float> iota(size_t count, float first = 1) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

// Returns the trace that the executor writes.
std::string traceOf(const Executor &executor) {
  std::string path = std::filesystem::temp_directory_path() / "dtc-trace-XXXXXX";
  close(::mkstemp(path.data()));
  AtomicFile file;
  EXPECT_TRUE(file.open(path).ok());
  EXPECT_TRUE(executor.writeTrace(file).ok());
  std::ifstream in(path);
  std::string trace((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::filesystem::remove(path);
  return trace;
}

TEST(Executor, RunsAProduct) {
  ProgramBuilder builder({});
  uint32_t a = builder.buffer("a", 6), b = builder.buffer("b", 6), c = builder.buffer("c", 4);
  format::GemmT op;
  op.a = a;
  op.b = b;
  op.c = c;
  op.m = op.n = op.ldb = op.ldc = 2;
  op.k = op.lda = 3;
  op.alpha = 2;
  op.beta = 1;
  builder.add(op);
  test::runRanks(1, builder.file(), [&](int, Executor &executor, Device &device) {
    put(executor, device, a, {1, 2, 3, 4, 5, 6});
    put(executor, device, b, {1, 2, 3, 4, 5, 6});
    put(executor, device, c, {1, 1, 1, 1});
    test::step(executor);
    EXPECT_EQ(get(executor, device, c), (std::vector<float>{45, 57, 99, 129}));
  });
}

TEST(Executor, RunsATransposedBatch) {
  ProgramBuilder builder({});
  uint32_t a = builder.buffer("a", 8), b = builder.buffer("b", 8), c = builder.buffer("c", 8);
  format::GemmT op;
  op.a = a;
  op.b = b;
  op.c = c;
  op.m = op.n = op.k = op.lda = op.ldb = op.ldc = op.batch = 2;
  op.stride_a = op.stride_b = op.stride_c = 4;
  op.trans_a = true;
  builder.add(op);
  test::runRanks(1, builder.file(), [&](int, Executor &executor, Device &device) {
    put(executor, device, a, iota(8));
    put(executor, device, b, {1, 0, 0, 1, 1, 0, 0, 1});
    test::step(executor);
    EXPECT_EQ(get(executor, device, c), (std::vector<float>{1, 3, 2, 4, 5, 7, 6, 8}));
  });
}

TEST(Executor, CopiesAndAccumulatesABox) {
  ProgramBuilder builder({});
  uint32_t src = builder.buffer("src", 6), dst = builder.buffer("dst", 6);
  format::StridedCopyT op;
  op.src = src;
  op.dst = dst;
  op.sizes = {3, 2};
  op.src_strides = {1, 3};
  op.dst_strides = {2, 1};
  builder.add(op);
  op.accumulate = true;
  builder.add(op);
  test::runRanks(1, builder.file(), [&](int, Executor &executor, Device &device) {
    put(executor, device, src, iota(6));
    test::step(executor);
    EXPECT_EQ(get(executor, device, dst), (std::vector<float>{2, 8, 4, 10, 6, 12}));
  });
}

TEST(Executor, ZeroWritesItsBufferAndNoMore) {
  ProgramBuilder builder({});
  uint32_t before = builder.buffer("before", 16), x = builder.buffer("x", 16),
           after = builder.buffer("after", 16);
  builder.add(test::zero(x));
  test::runRanks(1, builder.file(), [&](int, Executor &executor, Device &device) {
    for (uint32_t each : {before, x, after})
      put(executor, device, each, std::vector<float>(16, 3));
    test::step(executor);
    EXPECT_EQ(get(executor, device, before), std::vector<float>(16, 3));
    EXPECT_EQ(get(executor, device, x), std::vector<float>(16, 0));
    EXPECT_EQ(get(executor, device, after), std::vector<float>(16, 3));
  });
}

TEST(Executor, LooksUpRowsAndScattersGradients) {
  ProgramBuilder builder({});
  uint32_t table = builder.buffer("table", 6), out = builder.buffer("out", 6),
           grad = builder.buffer("grad", 6);
  uint32_t ids = builder.buffer("ids", 3, format::DType::i32);
  format::EmbeddingT look;
  look.table_ = table;
  look.ids = ids;
  look.out = out;
  look.rows = look.tokens = 3;
  look.columns = 2;
  look.first_row = test::rankScalar(10);
  builder.add(look);
  format::EmbeddingGradT scatter;
  scatter.grad = grad;
  scatter.ids = ids;
  scatter.dout = out;
  scatter.rows = scatter.tokens = 3;
  scatter.columns = 2;
  scatter.first_row = test::rankScalar(10);
  builder.add(scatter);
  test::runRanks(1, builder.file(), [&](int, Executor &executor, Device &device) {
    put(executor, device, table, iota(6));
    put(executor, device, grad, std::vector<float>(6, 9));
    int32_t words[] = {12, 9, 12};
    ASSERT_TRUE(device.copyIn(executor.address(ids), words, sizeof(words)).ok());
    test::step(executor);
    EXPECT_EQ(get(executor, device, out), (std::vector<float>{5, 6, 0, 0, 5, 6}));
    EXPECT_EQ(get(executor, device, grad), (std::vector<float>{0, 0, 0, 0, 10, 12}));
  });
}

TEST(Executor, AttentionOverOneKeyIsItsValue) {
  ProgramBuilder builder({});
  uint32_t q = builder.buffer("q", 4), v = builder.buffer("v", 4), out = builder.buffer("out", 4),
           lse = builder.buffer("lse", 1);
  format::AttentionT op;
  op.q = op.k = q;
  op.v = v;
  op.out = out;
  op.lse = lse;
  op.batch = op.queries = op.keys = op.heads = op.kv_heads = 1;
  op.head_dim = 4;
  op.causal = true;
  op.scale = 0.5f;
  builder.add(std::move(op));
  test::runRanks(1, builder.file(), [&](int, Executor &executor, Device &device) {
    put(executor, device, q, {1, 1, 1, 1});
    put(executor, device, v, iota(4));
    test::step(executor);
    EXPECT_EQ(get(executor, device, out), iota(4));
    EXPECT_NEAR(get(executor, device, lse)[0], 2, 1e-6);
  });
}

TEST(Executor, GivesAnyNumberOfThreadsTheSameResult) {
  std::vector<uint8_t> file = test::sampleProgram(1, test::readBytes(DTC_SAMPLE_KERNELS)).file();
  std::vector<std::vector<float>> embeddings;
  for (int threads : {1, 2, 4})
    test::runRanks(
        1, file,
        [&](int, Executor &executor, Device &device) {
          put(executor, device, 0, iota(128));
          ASSERT_TRUE(executor.setScalars({.step = 1, .baseLr = 0.125f}).ok());
          test::step(executor);
          embeddings.push_back(get(executor, device, 0));
        },
        threads);
  EXPECT_EQ(embeddings[0][0], 0.875f);
  EXPECT_EQ(embeddings[0], embeddings[1]);
  EXPECT_EQ(embeddings[0], embeddings[2]);
}

TEST(Executor, SetsInputsAndReadsOutputs) {
  test::SampleIndices at;
  ProgramBuilder builder = test::sampleProgram(1, test::readBytes(DTC_SAMPLE_KERNELS), &at);
  test::runRanks(1, builder.file(), [&](int, Executor &executor, Device &device) {
    ASSERT_TRUE(
        executor.setScalars({.step = 7, .totalSteps = 9, .baseLr = 0.5f, .seed = 1u << 31}).ok());
    EXPECT_EQ(executor.findScalar(format::ScalarRole::total_steps), nullptr);

    std::vector<int32_t> tokens(8, 1);
    std::span<const std::byte> bytes = std::as_bytes(std::span(tokens));
    EXPECT_EQ(executor.writeInput("tokens", bytes.first(28)).message(),
              "input 'tokens' was given 28 bytes, wanted 32");
    EXPECT_EQ(executor.writeInput("images", bytes).message(), "the program has no input 'images'");
    EXPECT_EQ(executor.findInput("images"), nullptr);
    ASSERT_TRUE(executor.writeInput("tokens", bytes).ok());
    put(executor, device, at.embed, std::vector<float>(128, 1));
    put(executor, device, at.head, std::vector<float>(64, 1));
    StepResult result;
    ASSERT_TRUE(executor.runStep(result).ok());
    EXPECT_TRUE(result.hasLoss && result.hasLearningRate);
    EXPECT_FALSE(result.hasGradNorm);
    EXPECT_EQ(result.learningRate, 0.5f);
    EXPECT_GT(result.loss, 0);
    EXPECT_EQ(result.loss, get(executor, device, at.loss)[0]);
    EXPECT_GE(result.seconds, result.exposedCommSeconds);
    float step = 0;
    uint64_t seed = 0;
    uint32_t stepBuffer = executor.findScalar(format::ScalarRole::step)->buffer();
    uint32_t seedBuffer = executor.findScalar(format::ScalarRole::seed)->buffer();
    ASSERT_TRUE(device.copyOut(&step, executor.address(stepBuffer), 4).ok());
    ASSERT_TRUE(device.copyOut(&seed, executor.address(seedBuffer), 8).ok());
    EXPECT_EQ(step, 7);
    EXPECT_EQ(seed, 1u << 31);
    std::vector<int32_t> written(8);
    uint32_t tokenBuffer = executor.findInput("tokens")->buffer();
    ASSERT_TRUE(device.copyOut(written.data(), executor.address(tokenBuffer), 32).ok());
    EXPECT_EQ(written, tokens);
  });
}

// An input that is written once stays for all later steps, whichever places these use.
TEST(Executor, CopiesAnInputInOnce) {
  ProgramBuilder builder({{"dp", 1}});
  builder.manifest.global_batch = builder.manifest.micro_batch = 1;
  builder.manifest.num_micro_batches = 1;
  uint32_t x = builder.buffer("x", 2), y = builder.buffer("y", 2);
  builder.input("x", x, format::DType::f32, {1, 1, 2});
  builder.add(test::copy(x, y, 2));
  test::runRanks(1, builder.file(), [&](int, Executor &executor, Device &device) {
    for (float value : {1.0f, 2.0f, 3.0f}) {
      std::vector<float> values(2, value);
      ASSERT_TRUE(executor.writeInput("x", std::as_bytes(std::span(values))).ok());
      test::step(executor);
    }
    for (int i = 0; i < 4; ++i) {
      test::step(executor);
      EXPECT_EQ(get(executor, device, y), (std::vector<float>{3, 3})) << i;
    }
  });
}

// Streams that no event joins begin when the inputs of the step are ready, and end with the step.
TEST(Executor, StepsBeginAndEndOnAllStreams) {
  constexpr uint64_t count = 1 << 20;
  ProgramBuilder builder({{"dp", 1}});
  builder.manifest.global_batch = builder.manifest.micro_batch = 1;
  builder.manifest.num_micro_batches = 1;
  builder.program().num_streams = 2;
  uint32_t x = builder.buffer("x", count), y = builder.buffer("y", count);
  builder.input("x", x, format::DType::f32, {1, 1, count});
  builder.add(test::copy(x, y, count), 1);
  test::runRanks(1, builder.file(), [&](int, Executor &executor, Device &device) {
    for (int i = 1; i <= 10; ++i) {
      std::vector<float> values(count, static_cast<float>(i));
      ASSERT_TRUE(executor.writeInput("x", std::as_bytes(std::span(values))).ok());
      test::step(executor);
      ASSERT_EQ(get(executor, device, y), values);
    }
  });
}

// The host prepares and enqueues steps ahead of the device. Each keeps its inputs and its results.
TEST(Executor, KeepsWhatEachStepThatIsUnderWayReadsAndGives) {
  test::SampleIndices at;
  ProgramBuilder builder = test::sampleProgram(1, test::readBytes(DTC_SAMPLE_KERNELS), &at);
  constexpr size_t ahead = 3;
  auto rateOf = [](size_t step) { return static_cast<float>(step) / 64; };
  test::runRanks(1, builder.file(),
                 [&](int, Executor &executor, Device &device) {
                   std::vector<float> embed(128), head(64, 1);
                   std::iota(embed.begin(), embed.end(), 1.0f);
                   auto prepare = [&](size_t step) {
                     std::vector<int32_t> tokens(8, static_cast<int32_t>(step));
                     Status status = executor.setScalars({.step = step, .baseLr = rateOf(step)});
                     return status.ok()
                                ? executor.writeInput("tokens", std::as_bytes(std::span(tokens)))
                                : status;
                   };
                   auto start = [&] {
                     put(executor, device, at.embed, embed);
                     put(executor, device, at.head, head);
                   };
                   start();
                   StepResult result;
                   std::vector<float> losses;
                   for (size_t step = 1; step <= 7; ++step) {
                     ASSERT_TRUE(prepare(step).ok());
                     ASSERT_TRUE(executor.runStep(result).ok());
                     losses.push_back(result.loss);
                   }
                   start();
                   EXPECT_EQ(executor.collect(result).message(),
                             "no step is enqueued that could be collected");
                   for (size_t step = 1; step <= 7 + ahead; ++step) {
                     if (step > ahead) {
                       if (step <= 7)
                         EXPECT_EQ(prepare(step).message(),
                                   "3 steps are enqueued; collect one before the next is prepared");
                       ASSERT_TRUE(executor.collect(result).ok());
                       EXPECT_EQ(result.loss, losses[step - ahead - 1]) << step;
                       EXPECT_EQ(result.learningRate, rateOf(step - ahead));
                     }
                     if (step > 7)
                       continue;
                     ASSERT_TRUE(prepare(step).ok());
                     ASSERT_TRUE(executor.enqueue(format::EntryKind::train).ok());
                   }
                 },
                 1, 60, {.stepsAhead = ahead});
}

// Three micro-batches use two slots, the last one first. Each is kept in its slot, the sum starts
// in the first run whatever was there, and a task that runs once runs in the last.
TEST(Executor, RunsTasksInTheOrderOfTheEntry) {
  ProgramBuilder builder({});
  builder.manifest.num_micro_batches = 3;
  format::ProgramT &program = builder.program();
  uint32_t x = builder.buffer("x", 12), sum = builder.buffer("sum", 4),
           whole = builder.buffer("whole", 4), part = builder.buffer("part", 4),
           kept = builder.buffer("kept", 4);
  program.arena_bytes += 16; // the other slot
  program.buffers[kept]->slots = 2;
  program.buffers[kept]->slot_stride = 16;
  program.buffers[part]->offset = program.buffers[x]->offset;
  program.buffers[part]->micro_batch_stride = 16;
  format::StridedCopyT add = test::copy(kept, sum, 4);
  add.accumulate = true;
  builder.add(add);
  builder.instructions().back()->starts_sum = true;
  builder.add(test::copy(sum, whole, 4));
  builder.instructions().back()->runs = format::Runs::last;
  auto backward = std::make_unique<format::TaskT>();
  backward->name = "backward";
  std::swap(backward->instructions, builder.instructions());
  program.tasks.push_back(std::move(backward));
  builder.add(test::copy(part, kept, 4));
  using format::Run;
  program.entries[0]->order = {Run(0, 2), Run(0, 1), Run(1, 2), Run(1, 1), Run(0, 0), Run(1, 0)};
  test::runRanks(1, builder.file(), [&](int, Executor &executor, Device &device) {
    put(executor, device, x, {1, 2, 3, 4, 10, 20, 30, 40, 100, 200, 300, 400});
    for (int step = 0; step < 2; ++step) {
      put(executor, device, sum, {7, 7, 7, 7});
      test::step(executor);
      EXPECT_EQ(get(executor, device, whole), (std::vector<float>{111, 222, 333, 444}));
    }
  });
}

// Layers go up through the buffers that are read and down through those that are written, each at
// its place of the scalar, between instructions that do not repeat. The trace names the layer.
TEST(Executor, RepeatsInstructionsForEachLayer) {
  ProgramBuilder builder({});
  builder.manifest.num_micro_batches = 2;
  format::ProgramT &program = builder.program();
  uint32_t x = builder.buffer("x", 12), y = builder.buffer("y", 12), sum = builder.buffer("sum", 4),
           source = builder.buffer("source", 4), target = builder.buffer("target", 2),
           total = builder.buffer("total", 4);
  program.buffers[source]->offset = program.buffers[x]->offset;
  program.buffers[source]->layer_stride = 16;
  program.buffers[target]->offset = program.buffers[y]->offset + 32;
  program.buffers[target]->layer_stride = -16;
  builder.add(test::zero(sum));
  format::StridedCopyT part = test::copy(source, target, 2);
  part.src_offset = test::rankScalar(0);
  part.src_offset->layer_stride = 1;
  part.src_offset->micro_batch_stride = 0;
  builder.add(std::move(part));
  format::StridedCopyT add = test::copy(source, sum, 4);
  add.accumulate = true;
  builder.add(add);
  builder.add(test::copy(sum, total, 4));
  program.tasks[0]->repeats = {format::Repeat(1, 3, 3)};
  program.entries[0]->order = {format::Run(0, 0), format::Run(0, 1)};
  std::string trace;
  test::runRanks(
      1, builder.file(),
      [&](int, Executor &executor, Device &device) {
        put(executor, device, x, {1, 2, 3, 4, 10, 20, 30, 40, 100, 200, 300, 400});
        put(executor, device, y, std::vector<float>(12));
        test::step(executor);
        EXPECT_EQ(get(executor, device, total), (std::vector<float>{111, 222, 333, 444}));
        EXPECT_EQ(get(executor, device, y),
                  (std::vector<float>{300, 400, 0, 0, 20, 30, 0, 0, 1, 2, 0, 0}));
        trace = traceOf(executor);
      },
      1, 60, {.trace = true});
  EXPECT_NE(trace.find("\"instruction\":2,\"layer\":2}"), std::string::npos) << trace;
  EXPECT_NE(trace.find("\"instruction\":3}"), std::string::npos) << trace;
}

TEST(Executor, EvaluatesInStep0AndReportsTheLossAlone) {
  ProgramBuilder builder = test::sampleProgram(1, test::readBytes(DTC_SAMPLE_KERNELS));
  auto entry = std::make_unique<format::EntryT>();
  entry->kind = format::EntryKind::evaluate;
  entry->order = {format::Run(0, 0)};
  builder.program().entries.push_back(std::move(entry));
  test::runRanks(1, builder.file(), [&](int, Executor &executor, Device &device) {
    ASSERT_TRUE(executor.setScalars({.step = 7, .baseLr = 0.5f}).ok());
    StepResult result;
    ASSERT_TRUE(executor.run(format::EntryKind::evaluate, result).ok());
    uint32_t step = executor.findScalar(format::ScalarRole::step)->buffer();
    EXPECT_EQ(get(executor, device, step)[0], 0);
    EXPECT_TRUE(result.hasLoss);
    EXPECT_FALSE(result.hasLearningRate);
  });
}

TEST(Executor, CountsOnlyWaitsAndCollectivesOfStream0AsExposed) {
  test::ProgramBuilder builder({{"dp", 2}});
  builder.program().num_streams = 2;
  uint32_t x = builder.buffer("x", 1 << 16), y = builder.buffer("y", 1 << 16);
  builder.add(
      test::collective(format::CollectiveKind::all_reduce, builder.group({0}), x, x, 1 << 16), 1);
  builder.add(test::copy(y, builder.buffer("z", 1 << 16), 1 << 16));
  test::runRanks(2, builder.file(), [&](int, Executor &executor, Device &) {
    StepResult result;
    ASSERT_TRUE(executor.runStep(result).ok());
    EXPECT_EQ(result.exposedCommSeconds, 0);
    EXPECT_GT(result.classSeconds[static_cast<size_t>(TimeClass::Copy)], 0);
  });
}

TEST(Executor, WritesATraceOfAllStreams) {
  std::string trace;
  test::runRanks(1, test::sampleProgram(1, test::readBytes(DTC_SAMPLE_KERNELS)).file(),
                 [&](int, Executor &executor, Device &) {
                   test::step(executor);
                   test::step(executor);
                   trace = traceOf(executor);
                 },
                 1, 60, {.trace = true});
  EXPECT_NE(
      trace.find("\"name\":\"all_reduce of gradients over dp 'loss' at sample.mlir:3:5 (block)\""),
      std::string::npos)
      << trace;
  EXPECT_NE(trace.find("\"cat\":\"gemm\""), std::string::npos);
  EXPECT_NE(trace.find("\"kind\":\"all_reduce\",\"role\":\"gradient\",\"group\":"),
            std::string::npos)
      << trace;
  EXPECT_NE(trace.find("\"args\":{\"step\":2,"), std::string::npos);
  EXPECT_EQ(trace.find("\"name\":\"record"), std::string::npos);
  EXPECT_EQ(trace.find(",\n]"), std::string::npos) << "a comma before the end is not JSON";
}

TEST(Loader, NamesAFileThatIsNotThereOrNotADte) {
  std::unique_ptr<Executable> executable;
  Status status = Executable::load("/no/such/file.dte", executable);
  EXPECT_EQ(status.statusCode(), StatusCode::NotFound);
  EXPECT_NE(status.message().find("/no/such/file.dte"), std::string::npos) << status.message();
  status = Executable::load(DTC_SAMPLE_KERNELS, executable);
  EXPECT_NE(status.message().find("not those of a .dte file"), std::string::npos)
      << status.message();
}

// The checked bytes are what runs: the file may be overwritten in place, or cut, while it is in
// use.
TEST(Loader, KeepsWhatItHasChecked) {
  std::vector<uint8_t> file = test::sampleProgram(1, test::readBytes(DTC_SAMPLE_KERNELS)).file();
  std::string path = std::filesystem::temp_directory_path() / "dtc-loaded-XXXXXX";
  close(::mkstemp(path.data()));
  ASSERT_TRUE(test::writeBytes(path, file).ok());
  std::unique_ptr<Executable> executable;
  ASSERT_TRUE(Executable::load(path, executable).ok());
  { std::fstream(path) << "something else altogether, in place"; }
  EXPECT_TRUE(std::ranges::equal(executable->bytes(), file));
  std::filesystem::resize_file(path, 0);
  EXPECT_TRUE(std::ranges::equal(executable->bytes(), file));
  std::filesystem::remove(path);
}

// A file that is not a .dte is not read into memory.
TEST(Loader, ReadsNoMoreThanTheHeaderOfAnotherFile) {
  std::string path = std::filesystem::temp_directory_path() / "dtc-huge-XXXXXX";
  close(::mkstemp(path.data()));
  std::filesystem::resize_file(path, uintmax_t(1) << 42);
  std::unique_ptr<Executable> executable;
  Status status = Executable::load(path, executable);
  std::filesystem::remove(path);
  EXPECT_NE(status.message().find("not those of a .dte file"), std::string::npos)
      << status.message();
}

} // namespace
} // namespace dtc::rt
