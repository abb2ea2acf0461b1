// Tests programs for GPUs: on the emulated one, if the user asks for it, and without any.
#include "test/unit/dtrun/DtrunRunner.h"

namespace dtc::rt {
namespace {

using test::hasMpirun;
using test::linesOf;
using test::Result;

class DtrunOnGpu : public test::DtrunTest {
protected:
  // The loss is the first of the weights w, summed over ranks. Then w becomes 2 w + 1.
  void writeProgram(const std::string &name, uint32_t ranks) const {
    test::SampleIndices at;
    test::ProgramBuilder builder = test::sampleProgram(ranks, {}, &at);
    builder.manifest.device = "simt";
    builder.segments = {{format::SegmentKind::simt, test::readBytes(DTC_TEST_KERNELS)}};
    builder.manifest.kernels.clear();
    uint32_t scale = builder.kernel("scale", {512, 512}, 128),
             add = builder.kernel("add", {4, 4}, 1);
    builder.manifest.kernels[scale]->num_scalars = 1;
    builder.manifest.kernels[add]->threads = 64;
    builder.instructions().clear();
    builder.add(test::zero(at.loss));
    addLaunch(builder, add, {at.embed, at.loss}, 1, {});
    builder.add(test::record(0));
    builder.add(test::wait(0), 1);
    builder.add(test::collective(format::CollectiveKind::all_reduce, builder.group({0}), at.loss,
                                 at.loss, 1),
                1);
    builder.add(test::record(1), 1);
    addLaunch(builder, scale, {at.embed, at.embed}, 128, {1});
    builder.add(test::wait(1));
    ASSERT_TRUE(test::writeBytes(path(name), builder.file()).ok());
  }

  // Returns the losses in the lines of a run.
  static std::vector<double> lossesOf(const std::string &output) {
    std::vector<double> losses;
    const std::string key = "\"loss\":";
    for (size_t at = output.find(key); at != std::string::npos; at = output.find(key, at + 1))
      losses.push_back(std::strtod(output.c_str() + at + key.size(), nullptr));
    return losses;
  }

private:
  static void addLaunch(test::ProgramBuilder &builder, uint32_t kernel,
                        std::vector<uint32_t> buffers, uint64_t range,
                        const std::vector<int64_t> &scalars) {
    format::LaunchT launch;
    launch.kernel = kernel;
    launch.buffers = std::move(buffers);
    launch.range = range;
    for (int64_t scalar : scalars)
      launch.scalars.push_back(test::rankScalar(scalar));
    builder.add(std::move(launch));
  }
};

// An emulated GPU is never used in place of a real one, and a missing real one is named.
TEST_F(DtrunOnGpu, SaysWhatAProgramForAGpuLacks) {
  test::ProgramBuilder builder = test::sampleProgram(1, {1, 2, 3});
  builder.manifest.device = "simt";
  builder.segments[0].kind = format::SegmentKind::simt;
  ASSERT_TRUE(test::writeBytes(path("simt.dte"), builder.file()).ok());
  builder.manifest.device = "cuda";
  builder.manifest.gpu_arch = "sm_90";
  builder.segments[0].kind = format::SegmentKind::ptx;
  ASSERT_TRUE(test::writeBytes(path("cuda.dte"), builder.file()).ok());
  Result result = run("simt.dte --data synthetic");
  EXPECT_EQ(result.exitCode, 1) << result.output;
  EXPECT_EQ(
      result.output.rfind("dtrun: simt.dte is compiled for device 'simt', an emulated GPU; set "
                          "DTC_EMULATED_GPU=1",
                          0),
      0u)
      << result.output;
  EXPECT_EQ(linesOf(result.output), 1u) << result.output;
  result = shell("DTC_EMULATED_GPU=1 $DTRUN simt.dte --data synthetic");
  EXPECT_EQ(result.exitCode, 1) << result.output;
  EXPECT_NE(result.output.find("code of 3 bytes is no whole ELF file"), std::string::npos)
      << result.output;
  result = shell("DTC_EMULATED_GPU=1 $DTRUN cuda.dte --data synthetic");
  EXPECT_EQ(result.exitCode, 1) << result.output;
  EXPECT_EQ(linesOf(result.output), 1u) << result.output;
  EXPECT_EQ(result.output.rfind("dtrun: ", 0), 0u) << result.output;
}

// The first step is recorded, and the others replay it.
TEST_F(DtrunOnGpu, TrainsOnTheEmulatedOne) {
  for (uint32_t ranks : {1u, 2u}) {
    if (ranks > 1 && !hasMpirun())
      GTEST_SKIP() << "mpirun is not here";
    writeProgram("simt.dte", ranks);
    for (const char *seed : {"1", "2"}) {
      std::string arguments = " simt.dte --data synthetic --steps 4 --format json";
      if (ranks > 1)
        arguments = " -n 2" + arguments;
      Result result = shell(std::string("DTC_EMULATED_GPU=1 DTC_EMULATED_SEED=") + seed +
                            " $DTRUN" + arguments);
      ASSERT_EQ(result.exitCode, 0) << result.output;
      std::vector<double> losses = lossesOf(result.output);
      ASSERT_EQ(losses.size(), 4u) << result.output;
      for (size_t i = 1; i < losses.size(); ++i)
        EXPECT_NEAR(losses[i], 2 * losses[i - 1] + ranks, 1e-4) << result.output;
      EXPECT_EQ(result.output.find("through the memory of their hosts") != std::string::npos,
                ranks > 1)
          << result.output;
    }
  }
}

} // namespace
} // namespace dtc::rt
