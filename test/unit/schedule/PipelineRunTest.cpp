// Trains a pipeline of two stages, with one forward and one backward in turn, and expects the bits
// of the same model in one program.
#include "compiler/build/emit/Inspect.h"
#include "runtime/base/Fill.h"
#include "runtime/exec/Binding.h"
#include "runtime/format/Verify.h"
#include "test/unit/exec/RankRunner.h"
#include "test/unit/schedule/TwoStages.h"

#include <map>
#include <mutex>

using namespace mlir;

namespace dtc::test {
namespace {

constexpr int kSteps = 3;

struct Trained {
  std::vector<float> losses;
  float evaluated = 0;
  std::map<std::string, std::vector<float>> parameters;
};

class PipelineRun : public testing::Test {
protected:
  PipelineRun() { context.loadDialect<exec::ExecDialect, graph::GraphDialect>(); }

  // Returns the samples of a step for the rank at coordinate `part` of dp. The same sample has the
  // same values for any dp.
  static std::vector<float> valuesOf(int64_t part, int64_t dp, int step, float phase) {
    std::vector<float> values;
    for (int64_t m = 0; m < TwoStages::microBatches; ++m)
      for (int64_t s = 0; s < TwoStages::microBatch; ++s)
        for (int64_t i = 0; i < TwoStages::width; ++i) {
          int64_t sample = (step * TwoStages::microBatches + m) * TwoStages::microBatch * dp +
                           part * TwoStages::microBatch + s;
          values.push_back(std::sin(static_cast<float>(sample * 31 + i * 7) + phase));
        }
    return values;
  }

  static Trained train(const std::vector<uint8_t> &file, int ranks, int64_t dp) {
    Trained trained;
    std::mutex lock;
    std::vector<uint32_t> mesh{static_cast<uint32_t>(dp)};
    if (ranks != dp)
      mesh.insert(mesh.begin(), 2);
    runRanks(ranks, file, [&](int, rt::Executor &executor, rt::Device &device) {
      const format::Program &program = executor.program();
      for (const format::Tensor *tensor : *program.parameters()) {
        std::vector<float> local(256);
        ASSERT_TRUE(
            rt::initialiseTensor(rt::tensorSpec(*tensor), 7, mesh, executor.coordinates(), local)
                .ok());
        put(executor, device, tensor->buffer(), local);
      }
      auto run = [&](format::EntryKind entry, int step) {
        int64_t part = executor.coordinates().back();
        for (auto [name, phase] : {std::pair("x", 0.0f), std::pair("targets", 1.0f)})
          if (executor.findInput(name)) {
            std::vector<float> values = valuesOf(part, dp, step, phase);
            ASSERT_TRUE(executor.writeInput(name, std::as_bytes(std::span(values))).ok());
          }
        ASSERT_TRUE(executor.setScalars({static_cast<uint64_t>(step) + 1, kSteps, 1e-3f, 3}).ok());
        rt::StepResult result;
        rt::Status status = executor.run(entry, result);
        ASSERT_TRUE(status.ok()) << status.message();
        std::lock_guard hold(lock);
        if (!result.hasLoss || part != 0)
          return;
        if (entry == format::EntryKind::train)
          trained.losses.push_back(result.loss);
        else
          trained.evaluated = result.loss;
      };
      for (int step = 0; step < kSteps; ++step)
        run(format::EntryKind::train, step);
      run(format::EntryKind::evaluate, 0);
      std::lock_guard hold(lock);
      for (const format::Tensor *tensor : *program.parameters()) {
        std::vector<float> values = get(executor, device, tensor->buffer());
        auto [known, isNew] = trained.parameters.try_emplace(tensor->name()->str(), values);
        EXPECT_EQ(known->second, values) << "ranks differ in " << known->first;
      }
    });
    return trained;
  }

  MLIRContext context;
};

TEST_F(PipelineRun, TrainsToTheBitsOfOneProgram) {
  for (auto [dp, overlaps] :
       {std::pair<int64_t, bool>{1, false}, {1, true}, {2, false}, {2, true}}) {
    SCOPED_TRACE(testing::Message() << "dp " << dp << " overlaps " << overlaps);
    TwoStages model(context, dp);
    std::vector<uint8_t> whole = model.oneProgram(), stages = model.pipeline(overlaps);
    ASSERT_FALSE(whole.empty() || stages.empty());
    Trained wanted = train(whole, static_cast<int>(dp), dp);
    Trained found = train(stages, static_cast<int>(2 * dp), dp);
    EXPECT_EQ(found.losses.size(), static_cast<size_t>(kSteps));
    EXPECT_EQ(found.losses, wanted.losses);
    EXPECT_EQ(found.evaluated, wanted.evaluated);
    EXPECT_EQ(found.parameters.size(), 3u);
    EXPECT_EQ(found.parameters, wanted.parameters);
    EXPECT_LT(wanted.losses.back(), wanted.losses.front());
  }
}

// Inspect prints programs, their ranks, groups, and bytes sent: four micro-batches of 256 bytes in
// either direction.
TEST_F(PipelineRun, IsShownByInspect) {
  std::vector<uint8_t> file = TwoStages(context, 2).pipeline();
  auto shown = [&](const InspectOptions &options) {
    std::string text;
    llvm::raw_string_ostream out(text);
    EXPECT_TRUE(inspectExecutable(file, "two.dte", options, out).ok());
    return text;
  };
  std::string text = shown({});
  for (const char *wanted :
       {"group        ends, 2 lists of 2: 0 2, 1 3\n", "program 0    stage_0 on ranks 0 to 1\n",
        "program 1    stage_1 on ranks 2 to 3\n",
        "  ends     send           pipeline        4           1024\n"})
    EXPECT_NE(text.find(wanted), std::string::npos) << wanted << text;
  InspectOptions options;
  options.rank = 2;
  EXPECT_NE(shown(options).find("receive pipeline over ends count 64 shift 1 'y' buffer=y"),
            std::string::npos)
      << shown(options);
  options.json = true;
  EXPECT_NE(shown(options).find("\"name\": \"stage_1\""), std::string::npos);
}

TEST_F(PipelineRun, SharesWhatProgramsHaveInCommon) {
  std::vector<uint8_t> file = TwoStages(context, 2).pipeline();
  const format::Manifest *manifest = nullptr;
  ASSERT_TRUE(format::verifyExecutable(file, "two.dte", manifest).ok());
  EXPECT_EQ(manifest->programs()->size(), 2u);
  EXPECT_EQ(manifest->segments()->size(), 1u);
  EXPECT_EQ(manifest->kernels()->size(), 1u);
  ASSERT_EQ(manifest->groups()->size(), 2u); // dp, and the ends
  std::vector<uint32_t> classes(manifest->rank_program()->begin(), manifest->rank_program()->end());
  EXPECT_EQ(classes, (std::vector<uint32_t>{0, 0, 1, 1}));
  const format::Program &first = *manifest->programs()->Get(0);
  EXPECT_EQ(first.name()->str(), "stage_0");
  uint32_t slots = 0;
  for (const format::Buffer *buffer : *first.buffers())
    slots = std::max(slots, buffer->slots());
  EXPECT_EQ(slots, 2u);
  EXPECT_EQ(first.inputs()->size(), 1u);
  EXPECT_EQ(first.outputs()->size(), 0u);
}

} // namespace
} // namespace dtc::test
