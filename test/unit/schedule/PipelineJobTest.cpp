// Runs the pipeline of two stages as jobs of dtrun. Ranks hold different tensors and read different
// inputs, and only some know the loss, but all results are those of one program.
#include "test/unit/dtrun/DtrunRunner.h"
#include "test/unit/schedule/TwoStages.h"

#include <cmath>
#include <regex>

using namespace mlir;

namespace dtc::test {
namespace {

class PipelineJob : public DtrunTest {
protected:
  void SetUp() override {
    DtrunTest::SetUp();
    context.loadDialect<exec::ExecDialect, graph::GraphDialect>();
    for (int64_t dp : {1, 2}) {
      TwoStages model(context, dp);
      ASSERT_TRUE(writeBytes(path("whole" + std::to_string(dp)), model.oneProgram()).ok());
      ASSERT_TRUE(writeBytes(path("stages" + std::to_string(dp)), model.pipeline()).ok());
    }
    writeArray("x.npy", 0);
    writeArray("t.npy", 1);
  }

  // Writes 80 samples of 16 numbers.
  void writeArray(const std::string &name, float phase) const {
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (80, 16)}\n";
    std::ofstream file(path(name), std::ios::binary);
    file << std::string("\x93NUMPY\x01\x00", 8) << static_cast<char>(header.size()) << '\0'
         << header;
    for (int i = 0; i < 80 * 16; ++i) {
      float value = std::sin(static_cast<float>(i * 13) + phase);
      file.write(reinterpret_cast<const char *>(&value), sizeof(value));
    }
  }

  // Returns the losses in JSON lines, as "loss":1.25 and so on.
  static std::vector<std::string> losses(const std::string &output) {
    std::vector<std::string> found;
    std::regex wanted("\"(step|loss|eval_loss)\":[^,}]*");
    for (std::sregex_iterator i(output.begin(), output.end(), wanted), end; i != end; ++i)
      found.push_back(i->str());
    return found;
  }

  static constexpr const char *kData = " --data x=x.npy,targets=t.npy";
  MLIRContext context;
};

TEST_F(PipelineJob, TrainsEvaluatesAndSavesLikeOneProgram) {
  if (!hasMpirun())
    GTEST_SKIP() << "no mpirun";
  for (int dp : {1, 2}) {
    SCOPED_TRACE(dp);
    std::string n = std::to_string(dp), twice = std::to_string(2 * dp);
    auto both = [&](const std::string &options, const std::string &dump) {
      std::string common = kData + options;
      Result whole = run("whole" + n + " -n " + n + common + " --dump-params whole" + dump);
      Result stages = run("stages" + n + " -n " + twice + common + " --dump-params stages" + dump);
      EXPECT_EQ(whole.exitCode, 0) << whole.output;
      EXPECT_EQ(stages.exitCode, 0) << stages.output;
      EXPECT_EQ(losses(stages.output), losses(whole.output)) << stages.output;
      EXPECT_EQ(readBytes(path("stages" + dump)), readBytes(path("whole" + dump)));
      EXPECT_FALSE(readBytes(path("whole" + dump)).empty());
      return losses(whole.output).size();
    };
    // Expects step and loss of each step, and step and loss of two evaluations.
    EXPECT_EQ(
        both(" --steps 4 --format json --eval-data x=x.npy,targets=t.npy --eval-every 2", ".first"),
        12u);
    EXPECT_EQ(both(" --steps 2 --format json --init whole.first --seed 5", ".second"), 4u);
  }
}

TEST_F(PipelineJob, EndsOnAllRanksWhereTheLossDiverges) {
  if (!hasMpirun())
    GTEST_SKIP() << "no mpirun";
  Result result = run("stages1 -n 2 --steps 9 --lr 1e30" + std::string(kData));
  EXPECT_EQ(result.exitCode, 4) << result.output;
  EXPECT_NE(result.output.find("training diverged; lower --lr"), std::string::npos)
      << result.output;
}

TEST_F(PipelineJob, WantsDataForTheInputsOfAllRanks) {
  if (!hasMpirun())
    GTEST_SKIP() << "no mpirun";
  Result one = run("stages1 -n 2 --steps 1 --data x=x.npy");
  EXPECT_EQ(one.exitCode, 1);
  EXPECT_NE(one.output.find("--data names no file for input 'targets'; the model reads 'x' (f32 "
                            "[16]) and 'targets' (f32 [16])"),
            std::string::npos)
      << one.output;
  Result other = run("stages1 -n 2 --steps 1 --data x=x.npy,targets=t.npy,z=x.npy");
  EXPECT_NE(other.output.find("--data names 'z', which is no input"), std::string::npos)
      << other.output;
}

TEST_F(PipelineJob, WantsAsManySamplesOfAllInputs) {
  if (!hasMpirun())
    GTEST_SKIP() << "no mpirun";
  shell("{ head -c 6 x.npy; printf '\\x01\\x00\\x3c\\x00'; printf \"{'descr': '<f4', "
        "'fortran_order': False, 'shape': (48, 16)}\\n\"; head -c 3072 /dev/zero; } > short.npy");
  Result result = run("stages1 -n 2 --steps 1 --data x=short.npy,targets=t.npy");
  EXPECT_EQ(result.exitCode, 1) << result.output;
  EXPECT_NE(result.output.find("number of samples of --data"), std::string::npos) << result.output;
}

} // namespace
} // namespace dtc::test
