// Tests state of several types, with and without a parameter: the values that @update keeps from
// step to step must equal those computed here, on one rank and split over two.
#include "compiler/build/emit/Emit.h"
#include "compiler/search/planner/Passes.h"
#include "passes/codegen/KernelLibrary.h"
#include "passes/codegen/Passes.h"
#include "passes/schedule/Passes.h"
#include "passes/shard/Passes.h"
#include "runtime/base/Fill.h"
#include "runtime/exec/Binding.h"
#include "test/unit/exec/RankRunner.h"
#include "tools/dtrun/Parameters.h"

#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <bit>
#include <cstring>

using namespace mlir;

namespace dtc::test {
namespace {

constexpr int64_t kRows = 6, kColumns = 4, kSamples = 4; // samples of all ranks
constexpr int kSteps = 3;

// The gradient alone moves a weight. The rest is state.
std::string modelText(int64_t dp) {
  std::string batch = std::to_string(kSamples / dp), all = std::to_string(kSamples);
  return "module attributes {graph.zero = 1 : i64} {\n"
         "shard.grid @mesh(shape = " +
         std::to_string(dp) +
         "x1) {graph.axis_names = [\"dp\", \"tp\"], graph.axis_roles = [\"data\", \"tensor\"]}\n" +
         R"(
  graph.parameter @w : tensor<6x4xf32> init normal(0.0, 0.5)
  graph.state @w.low of @w : tensor<6x4xbf16> init constant(3.0)
  graph.state @w.before of @w : tensor<6x4xf32> init normal(1.0, 2.0)
  graph.state @steps : tensor<i64>
  graph.state @calls : tensor<i32> init constant(7.0)
  graph.state @mean : tensor<4xf32> init ones
  graph.state @scale : tensor<f32> init constant(65536.0)
  graph.func @microbatch(%x: tensor<)" +
         all + R"(x6xf32> {graph.input = "x"}, %dy: tensor<)" + all +
         R"(x4xf32> {graph.input = "dy"})
      -> (tensor<6x4xf32> {graph.gradient_of = @w}) {
    %g = graph.linear_weight_grad %x, %dy : (tensor<)" +
         all + "x6xf32>, tensor<" + all + R"(x4xf32>) -> tensor<6x4xf32>
    graph.return %g : tensor<6x4xf32>
  }
  graph.func @update(%g: tensor<6x4xf32> {graph.gradient_of = @w}) {
    %w = graph.get @w : tensor<6x4xf32>
    graph.set @w.before, %w : tensor<6x4xf32>
    %move = graph.scale %g by -0.125 : tensor<6x4xf32>
    %new = graph.add %w, %move : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
    graph.set @w, %new : tensor<6x4xf32>
    %low = graph.cast %new : tensor<6x4xf32> to tensor<6x4xbf16>
    graph.set @w.low, %low : tensor<6x4xbf16>

    %one = graph.constant 1.0 : tensor<f32>
    %steps = graph.get @steps : tensor<i64>
    %steps_f = graph.cast %steps : tensor<i64> to tensor<f32>
    %steps_1 = graph.add %steps_f, %one : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %steps_n = graph.cast %steps_1 : tensor<f32> to tensor<i64>
    graph.set @steps, %steps_n : tensor<i64>
    %calls = graph.get @calls : tensor<i32>
    %calls_f = graph.cast %calls : tensor<i32> to tensor<f32>
    %calls_1 = graph.add %calls_f, %one : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %calls_n = graph.cast %calls_1 : tensor<f32> to tensor<i32>
    graph.set @calls, %calls_n : tensor<i32>

    %mean = graph.get @mean : tensor<4xf32>
    %sum = graph.reduce sum %g dims [0] scale 0.25 : tensor<6x4xf32> -> tensor<4xf32>
    %kept = graph.scale %mean by 0.5 : tensor<4xf32>
    %mean_n = graph.add %kept, %sum : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.set @mean, %mean_n : tensor<4xf32>
    %scale = graph.get @scale : tensor<f32>
    %scale_n = graph.scale %scale by 0.5 : tensor<f32>
    graph.set @scale, %scale_n : tensor<f32>
    graph.return
  }
})";
}

float xAt(int step, int64_t sample, int64_t row) {
  return static_cast<float>((step * 5 + sample * 3 + row) % 7 - 3);
}
float dyAt(int step, int64_t sample, int64_t column) {
  return static_cast<float>((step + sample * 2 + column * 5) % 5 - 2);
}

class StateRun : public testing::Test {
protected:
  StateRun() { context.loadDialect<graph::GraphDialect, shard::ShardDialect>(); }

  std::vector<uint8_t> compile(int64_t dp) {
    OwningOpRef<ModuleOp> module =
        parseSourceString<ModuleOp>(modelText(dp), ParserConfig(&context));
    EXPECT_TRUE(module);
    if (!module)
      return {};
    PassManager passes(&context);
    passes.addPass(createPlace());
    passes.addPass(createPartition());
    passes.addPass(createInlineBlocks());
    passes.addPass(createCanonicalizerPass());
    passes.addPass(createCSEPass());
    passes.addPass(createFormKernels());
    buildSchedulePipeline(passes);
    EXPECT_TRUE(succeeded(passes.run(*module)));
    FailureOr<KernelLibrary> kernels = lowerKernels(*module);
    EXPECT_TRUE(succeeded(kernels));
    auto programs = llvm::to_vector(module->getOps<exec::ProgramOp>());
    Result<std::vector<uint8_t>> file =
        emitExecutable(programs, ProgramCode::ofCpu(kernels->bytes), EmitInfo());
    EXPECT_TRUE(file.ok()) << (file ? "" : file.error().text());
    return file ? *file : std::vector<uint8_t>();
  }

  MLIRContext context;
};

template <typename T>
std::vector<T> stateOf(rt::Executor &executor, rt::Device &device, const std::string &name) {
  for (const format::Tensor *tensor : *executor.program().optimizer_state())
    if (tensor->name()->str() == name) {
      const format::Buffer &buffer = *executor.program().buffers()->Get(tensor->buffer());
      EXPECT_EQ(format::bytesOf(tensor->dtype()), sizeof(T)) << name;
      std::vector<T> values(buffer.bytes() / sizeof(T));
      EXPECT_TRUE(
          device.copyOut(values.data(), executor.address(tensor->buffer()), buffer.bytes()).ok());
      return values;
    }
  ADD_FAILURE() << "no state '" << name << "'";
  return {};
}

TEST_F(StateRun, KeepsWhatUpdateSets) {
  for (int64_t dp : {1, 2}) {
    SCOPED_TRACE(dp);
    std::vector<uint8_t> file = compile(dp);
    ASSERT_FALSE(file.empty());
    std::unique_ptr<rt::Executable> executable;
    ASSERT_TRUE(rt::Executable::fromBytes(file, "state", executable).ok());
    runRanks(static_cast<int>(dp), file, [&](int rank, rt::Executor &executor, rt::Device &device) {
      rt::Status filled =
          rt::fillParameters(*executable, executor, device, /*seed=*/7, "", /*threads=*/1);
      ASSERT_TRUE(filled.ok()) << filled.message();
      // A rank has its rows of the state of @w.
      int64_t rows = kRows / dp, firstRow = rank * rows, samples = kSamples / dp;
      const format::Tensor *tensor = executor.program().parameters()->Get(0);
      std::vector<float> w = get(executor, device, tensor->buffer()), before(w.size());
      EXPECT_EQ(stateOf<uint16_t>(executor, device, "w.low"),
                std::vector<uint16_t>(static_cast<size_t>(rows * kColumns), 0x4040)); // 3
      rt::TensorSpec random = rt::tensorSpec(*executor.program().optimizer_state()->Get(1));
      std::vector<float> drawn(static_cast<size_t>(rows * kColumns));
      ASSERT_TRUE(rt::initialiseTensor(random, 7, rt::meshSizes(executable->manifest()),
                                       executor.coordinates(), drawn)
                      .ok());
      EXPECT_EQ(stateOf<float>(executor, device, "w.before"), drawn);
      EXPECT_GT(*std::max_element(drawn.begin(), drawn.end()), 1.5f) << "mean 1, deviation 2";
      EXPECT_EQ(stateOf<int64_t>(executor, device, "steps"), std::vector<int64_t>{0});
      EXPECT_EQ(stateOf<int32_t>(executor, device, "calls"), std::vector<int32_t>{7});
      std::vector<float> mean(4, 1.0f);
      EXPECT_EQ(stateOf<float>(executor, device, "mean"), mean);

      float scale = 65536;
      for (int step = 0; step < kSteps; ++step) {
        std::vector<float> x, dy;
        for (int64_t s = rank * samples; s < (rank + 1) * samples; ++s) {
          for (int64_t i = 0; i < kRows; ++i)
            x.push_back(xAt(step, s, i));
          for (int64_t j = 0; j < kColumns; ++j)
            dy.push_back(dyAt(step, s, j));
        }
        ASSERT_TRUE(executor.writeInput("x", std::as_bytes(std::span(x))).ok());
        ASSERT_TRUE(executor.writeInput("dy", std::as_bytes(std::span(dy))).ok());
        test::step(executor);
        // All numbers except w are small multiples of powers of two, so sums are exact.
        std::vector<float> sums(kColumns, 0.0f);
        before = w;
        for (int64_t i = 0; i < kRows; ++i)
          for (int64_t j = 0; j < kColumns; ++j) {
            float gradient = 0;
            for (int64_t s = 0; s < kSamples; ++s)
              gradient += xAt(step, s, i) * dyAt(step, s, j);
            sums[static_cast<size_t>(j)] += gradient;
            w[static_cast<size_t>(i * kColumns + j)] += -0.125f * gradient;
          }
        for (size_t j = 0; j < mean.size(); ++j)
          mean[j] = 0.5f * mean[j] + 0.25f * sums[j];
        scale /= 2;
      }
      EXPECT_EQ(get(executor, device, tensor->buffer()), w);
      auto ofRank = [&](const std::vector<float> &all) {
        auto first = all.begin() + firstRow * kColumns;
        return std::vector<float>(first, first + rows * kColumns);
      };
      EXPECT_EQ(stateOf<float>(executor, device, "w.before"), ofRank(before));
      std::vector<uint16_t> low = stateOf<uint16_t>(executor, device, "w.low");
      std::vector<float> wanted = ofRank(w);
      ASSERT_EQ(low.size(), wanted.size());
      for (size_t i = 0; i < low.size(); ++i) // within half of the last of 8 bits
        EXPECT_NEAR(std::bit_cast<float>(uint32_t(low[i]) << 16), wanted[i],
                    std::abs(wanted[i]) * 0x1p-8f);
      EXPECT_EQ(stateOf<int64_t>(executor, device, "steps"), std::vector<int64_t>{kSteps});
      EXPECT_EQ(stateOf<int32_t>(executor, device, "calls"), std::vector<int32_t>{7 + kSteps});
      EXPECT_EQ(stateOf<float>(executor, device, "mean"), mean);
      EXPECT_EQ(stateOf<float>(executor, device, "scale"), std::vector<float>{scale});
    });
  }
}

} // namespace
} // namespace dtc::test
