// Tests the choice of algorithms for matrix products: the fastest is taken, by all ranks the same,
// and reused at the next start.
#include "runtime/fakecuda/FakeCudaOptions.h"
#include "test/unit/fakecuda/CudaTestSupport.h"

#include "runtime/cuda/TuningFile.h"
#include "test/unit/data/TempFolder.h"

#include <filesystem>
#include <fstream>

namespace dtc::rt {
namespace {

using test::CudaRank;
using test::ProgramBuilder;

// Numbers of the fake's algorithms.
constexpr uint64_t kSlow = 1, kFastOnEven = 2, kFastOnOdd = 3;
using Products = std::map<uint64_t, uint64_t>;

format::GemmT square(uint32_t a, uint32_t b, uint32_t c, uint64_t n) {
  format::GemmT op;
  op.a = a;
  op.b = b;
  op.c = c;
  op.m = op.n = op.k = op.lda = op.ldb = op.ldc = n;
  return op;
}

// The products y = x x and z += x y of 4 x 4 matrices, and one of 2 x 2.
struct ThreeProducts {
  explicit ThreeProducts(uint32_t ranks) : builder(test::simtProgram({{"dp", ranks}})) {
    x = builder.buffer("x", 16);
    y = builder.buffer("y", 16);
    z = builder.buffer("z", 16);
    builder.add(square(x, x, y, 4));
    format::GemmT adding = square(x, y, z, 4);
    adding.beta = 1;
    builder.add(adding);
    builder.add(square(x, x, builder.buffer("w", 4), 2));
    file = builder.file();
  }
  ProgramBuilder builder;
  uint32_t x = 0, y = 0, z = 0;
  std::vector<uint8_t> file;
};

struct Start {
  Status status;
  Products tuned, stepped; // of the rank's own GPU
  std::vector<std::string> notices;
};

Start start(FakeCuda &fake, const ThreeProducts &program, const TuningOptions &tuning) {
  Start result;
  auto worlds = makeLoopbackWorld(1);
  CudaOptions options;
  options.tuning = tuning;
  options.notice = [&](const std::string &words) { result.notices.push_back(words); };
  result.status = test::onCuda(fake, program.file, *worlds[0], {}, options, [&](CudaRank at) {
    result.tuned = fake.products(0);
    // Measurements leave the buffers unchanged.
    for (uint32_t buffer : {program.x, program.y, program.z})
      EXPECT_EQ(at.get(buffer), std::vector<float>(16));
    at.put(program.x, {1, 0, 0, 2, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
    at.put(program.z, std::vector<float>(16, 5));
    StepResult step;
    DTC_RETURN_IF_ERROR(at.executor.runStep(step));
    EXPECT_EQ(at.get(program.z),
              (std::vector<float>{6, 5, 5, 11, 5, 6, 5, 5, 5, 5, 6, 5, 5, 5, 5, 6}));
    result.stepped = fake.products(0);
    for (const auto &[algorithm, count] : result.tuned)
      result.stepped[algorithm] -= count;
    std::erase_if(result.stepped, [](const auto &each) { return each.second == 0; });
    return Status();
  });
  EXPECT_TRUE(result.status.ok()) << result.status.message();
  return result;
}

Start start(const ThreeProducts &program, const TuningOptions &tuning,
            const FakeCudaOptions &machine = {}) {
  auto fake = makeFakeCuda(machine);
  Start result = start(*fake, program, tuning);
  EXPECT_EQ(fake->leaks(), "");
  return result;
}

class GemmTuning : public TempFolder {};

std::string contents(const std::string &path) {
  std::vector<uint8_t> bytes = test::readBytes(path);
  return {bytes.begin(), bytes.end()};
}

void replace(const std::string &path, const std::string &text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

TEST_F(GemmTuning, TakesTheFastestAlgorithm) {
  ThreeProducts program(1);
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Start result = start(program, {.seconds = 60}, {.seed = seed});
    EXPECT_GT(result.tuned[kSlow], 2u) << seed;
    EXPECT_EQ(result.stepped, (Products{{kFastOnEven, 3}})) << seed;
  }
}

// The second run of the task reads other addresses, and its sum starts in the first: another
// alignment and another beta.
TEST_F(GemmTuning, MeasuresProductsOfAllRuns) {
  ProgramBuilder builder = test::simtProgram({{"dp", 1}});
  builder.manifest.num_micro_batches = 2;
  uint32_t part = builder.buffer("part", 4), sum = builder.buffer("sum", 4);
  builder.program().buffers[part]->micro_batch_stride = 16;
  builder.program().arena_bytes += 16;
  format::GemmT adding = square(part, part, sum, 2);
  adding.beta = 1;
  builder.add(adding);
  builder.instructions().back()->starts_sum = true;
  builder.program().entries[0]->order = {format::Run(0, 0), format::Run(0, 1)};
  auto fake = makeFakeCuda({});
  auto worlds = makeLoopbackWorld(1);
  CudaOptions options;
  options.tuning.seconds = 60;
  Status status = test::onCuda(*fake, builder.file(), *worlds[0], {}, options, [&](CudaRank at) {
    Products tuned = fake->products(0);
    StepResult step;
    DTC_RETURN_IF_ERROR(at.executor.runStep(step));
    EXPECT_EQ(fake->products(0)[kFastOnEven] - tuned[kFastOnEven], 2u);
    return Status();
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(GemmTuning, MeasuresNothingWhereItIsOff) {
  ThreeProducts program(1);
  Start result = start(program, {.seconds = 0, .files = {folder + "/x.tuning"}});
  EXPECT_TRUE(result.tuned.empty());
  EXPECT_EQ(result.stepped, (Products{{kSlow, 3}}));
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(GemmTuning, TakesTheFirstWhereTimeIsOver) {
  Start result = start(ThreeProducts(1), {.seconds = 1e-9});
  // Each call is timed once, although that takes more than the limit.
  EXPECT_EQ(result.tuned, (Products{{kSlow, 6}}));
  EXPECT_EQ(result.stepped, (Products{{kSlow, 3}}));
}

TEST_F(GemmTuning, KnowsItsChoicesAtTheNextStart) {
  ThreeProducts program(1);
  std::string kept = folder + "/gpt2.dte.tuning.emulated";
  TuningOptions tuning{.seconds = 60, .program = "12ab", .files = {folder + "/gpt2.dte.tuning"}};
  (void)start(program, tuning);
  std::string first = contents(kept);
  ASSERT_NE(first, "");
  Start second = start(program, tuning);
  EXPECT_EQ(second.tuned, (Products{{kFastOnEven, 3}})); // each once, to check that it runs
  EXPECT_EQ(second.stepped, (Products{{kFastOnEven, 3}}));
  EXPECT_EQ(contents(kept), first);
}

// If the file is invalid in any way, products are measured, and the file is valid afterwards.
TEST_F(GemmTuning, MeasuresAnewWhereTheFileDoesNotHold) {
  ThreeProducts program(1);
  std::string kept = folder + "/gpt2.dte.tuning.emulated";
  TuningOptions tuning{.seconds = 60, .program = "12ab", .files = {folder + "/gpt2.dte.tuning"}};
  (void)start(program, tuning);
  std::string right = contents(kept);
  TuningKey key{.program = "12ab",
                .device = "emulated",
                .capability = 100,
                .driver = 13000,
                .blasLt = 130000};
  TuningChoices choices;
  ASSERT_TRUE(readChoices(right, key, choices));
  auto withAll = [&](uint64_t algorithm) {
    TuningChoices others = choices;
    for (auto &[product, choice] : others)
      choice.data[0] = algorithm;
    return writeChoices(key, others);
  };
  auto withKey = [&](auto change) {
    TuningKey other = key;
    change(other);
    return writeChoices(other, choices);
  };
  const std::string wrong[] = {
      "",
      right.substr(0, right.size() / 2),
      std::string(5 << 20, '\n'),
      withAll(4), // offered, but does not run
      withAll(5), // runs, but is not offered, as it adds up in 16 bits
      withAll(9), // none
      withKey([](TuningKey &of) { of.program = "12ac"; }),
      withKey([](TuningKey &of) { of.device = "other"; }),
      withKey([](TuningKey &of) { of.capability = 90; }),
      withKey([](TuningKey &of) { of.driver = 12080; }),
      withKey([](TuningKey &of) { of.blasLt = 130001; }),
      writeChoices(key, {}),
  };
  for (const std::string &text : wrong) {
    replace(kept, text);
    Start result = start(program, tuning);
    EXPECT_GT(result.tuned[kSlow], 2u) << text.substr(0, 300);
    EXPECT_EQ(result.stepped, (Products{{kFastOnEven, 3}}));
    EXPECT_EQ(contents(kept), right);
  }
}

TEST_F(GemmTuning, KeepsItsChoicesElsewhereWhereItMayNotWriteOrSaysSo) {
  ThreeProducts program(1);
  TuningOptions tuning{.seconds = 60,
                       .files = {folder + "/none/gpt2.dte.tuning", folder + "/12ab.tuning"}};
  EXPECT_EQ(start(program, tuning).notices, std::vector<std::string>());
  EXPECT_TRUE(std::filesystem::exists(folder + "/12ab.tuning.emulated"));
  EXPECT_EQ(start(program, tuning).tuned, (Products{{kFastOnEven, 3}}));
  tuning.files.pop_back();
  Start unkept = start(program, tuning);
  ASSERT_EQ(unkept.notices.size(), 1u);
  EXPECT_EQ(unkept.notices[0].find("the choices of algorithms are not kept for the next run: "), 0u)
      << unkept.notices[0];
}

// The fastest algorithm on the second rank's GPU is another one.
TEST_F(GemmTuning, ChoosesForAllRanksAlike) {
  ThreeProducts program(2);
  for (bool off : {false, true}) { // on the second rank
    auto fake = makeFakeCuda({.gpus = 2});
    auto worlds = makeLoopbackWorld(2);
    std::vector<std::thread> ranks;
    for (size_t rank = 0; rank < 2; ++rank)
      ranks.emplace_back([&, rank] {
        CudaOptions options;
        options.tuning.seconds = off && rank == 1 ? 0 : 60;
        Status status =
            test::onCuda(*fake, program.file, *worlds[rank], {}, options, [](CudaRank at) {
              StepResult step;
              return at.executor.runStep(step);
            });
        EXPECT_TRUE(status.ok()) << status.message();
      });
    for (std::thread &rank : ranks)
      rank.join();
    EXPECT_EQ(fake->products(1), (Products{{off ? kSlow : kFastOnEven, 3}}));
    EXPECT_EQ(fake->products(0)[kFastOnOdd] > 0, !off);
    EXPECT_EQ(fake->leaks(), "");
  }
}

// Makes each call fail in turn: the start goes on without the failed step, or names it in an error;
// nothing is leaked.
TEST_F(GemmTuning, EndsWellWhateverFails) {
  ThreeProducts program(1);
  uint64_t calls = 0;
  for (uint64_t failing = 0; failing <= calls; failing += failing < 40 ? 1 : 7) {
    auto fake = makeFakeCuda({.failingCall = failing});
    auto worlds = makeLoopbackWorld(1);
    CudaOptions options;
    options.tuning.seconds = 60;
    uint64_t atStart = 0;
    Status status = test::onCuda(*fake, program.file, *worlds[0], {}, options, [&](CudaRank at) {
      atStart = fake->numCalls();
      StepResult step;
      return at.executor.runStep(step);
    });
    if (failing == 0) {
      calls = atStart;
      EXPECT_TRUE(status.ok()) << status.message();
    }
    EXPECT_TRUE(status.ok() || status.message().find("cu") != std::string::npos)
        << failing << ": " << status.message();
    EXPECT_EQ(fake->leaks(), "") << failing;
  }
  EXPECT_GT(calls, 100u);
}

TEST_F(GemmTuning, ChoosesByTheLowestRankThatHasAProduct) {
  const std::vector<std::vector<uint64_t>> products = {{5, 9}, {}, {2, 5, 7}, {9}};
  const std::vector<std::vector<uint64_t>> wanted = {{5, 9}, {}, {2, 7}, {}};
  auto worlds = makeLoopbackWorld(4);
  std::vector<TuningChoices> choices(4);
  std::vector<std::thread> ranks;
  for (size_t rank = 0; rank < 4; ++rank)
    ranks.emplace_back([&, rank] {
      std::vector<uint64_t> asked;
      auto choose = [&](const std::vector<uint64_t> &ours, TuningChoices &of) {
        asked = ours;
        for (uint64_t product : ours)
          of[product] = {{product, rank, 0, 0, 0, 0, 0, 100 * product}};
        return Status();
      };
      Status status = agreeOnChoices(*worlds[rank], products[rank], choose, choices[rank]);
      EXPECT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(asked, wanted[rank]) << rank;
    });
  for (std::thread &rank : ranks)
    rank.join();
  TuningChoices all;
  for (auto [product, rank] : {std::pair(2, 2), {5, 0}, {7, 2}, {9, 0}}) {
    auto number = static_cast<uint64_t>(product);
    all[number] = {{number, static_cast<uint64_t>(rank), 0, 0, 0, 0, 0, 100 * number}};
  }
  for (const TuningChoices &each : choices)
    EXPECT_EQ(each, all);
}

TEST(TuningFile, ReadsWhatItWroteAndNothingElse) {
  TuningKey key{.program = "12ab",
                .device = "NVIDIA H200",
                .capability = 90,
                .driver = 12080,
                .blasLt = 120804};
  TuningChoices choices{{1, {{1, 2, 3, 4, 5, 6, 7, ~uint64_t(0)}}}, {~uint64_t(0), {{9}}}};
  std::string text = writeChoices(key, choices);
  TuningChoices read;
  ASSERT_TRUE(readChoices(text, key, read));
  EXPECT_EQ(read, choices);
  for (size_t i = 0; i < text.size(); ++i) {
    std::string wrong = text;
    wrong[i] ^= 1;
    EXPECT_FALSE(readChoices(wrong, key, read)) << i;
    EXPECT_TRUE(read.empty());
    EXPECT_FALSE(readChoices(std::string_view(text).substr(0, i), key, read)) << i;
  }
  EXPECT_EQ(tuningFile("a/gpt2.dte.tuning", "NVIDIA H200/x"), "a/gpt2.dte.tuning.NVIDIA-H200-x");
}

} // namespace
} // namespace dtc::rt
