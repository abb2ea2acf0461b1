// Tests the ranges that a profiler sees.
#include "runtime/format/Instructions.h"
#include "test/unit/fakecuda/CudaTestSupport.h"

#include "runtime/cuda/Nvtx.h"
#include "runtime/format/Operands.h"

#include <cstdlib>
#include <dlfcn.h>

namespace dtc::rt {
namespace {

using test::CudaRank;
using test::launchOf;
using test::ProgramBuilder;

// Returns a program of two sums that may be one launch, then one that may not.
std::vector<uint8_t> threeSums() {
  ProgramBuilder builder(test::simtProgram({{"dp", 1}}));
  uint32_t add = builder.kernel("add", {16, 16}, 4);
  builder.manifest.kernels[add]->threads = 64;
  builder.manifest.kernels[add]->num_results = 1;
  builder.manifest.kernels[add]->merged = "add_merged";
  uint32_t a = builder.buffer("a", 4), b = builder.buffer("b", 4), c = builder.buffer("c", 4),
           d = builder.buffer("d", 4);
  builder.add(launchOf(add, {a, b}, 4));
  builder.add(launchOf(add, {c, d}, 4));
  builder.add(launchOf(add, {b, d}, 4));
  return builder.file();
}

// Returns the tool's notes of each of two steps.
std::vector<std::string> notesOf(bool graphs) {
  void *tool = dlopen(DTC_TEST_NVTX, RTLD_LAZY | RTLD_NOLOAD);
  auto take = tool ? reinterpret_cast<void (*)(std::string &)>(dlsym(tool, "takeNotes")) : nullptr;
  std::vector<std::string> notes;
  auto fake = makeFakeCuda({});
  auto worlds = makeLoopbackWorld(1);
  CudaOptions options{.graphs = graphs};
  options.nameOf = [](const format::Instruction &instruction) {
    return "a " + std::string(format::opName(instruction.op_type()));
  };
  Status status =
      test::onCuda(*fake, threeSums(), *worlds[0], {}, options, [&](const CudaRank &at) -> Status {
        StepResult result;
        for (int step = 0; step < 2; ++step) {
          DTC_RETURN_IF_ERROR(at.executor.runStep(result));
          notes.emplace_back();
          if (take)
            take(notes.back());
        }
        return {};
      });
  EXPECT_TRUE(status.ok()) << status.message();
  return notes;
}

TEST(Nvtx, HasARangeForEachOrderAndWhatItSays) {
  EXPECT_EQ(Nvtx::find(), nullptr); // No profiler asks for NVTX here.
  ASSERT_EQ(::setenv("NVTX_INJECTION64_PATH", DTC_TEST_NVTX, 1), 0);
  ASSERT_NE(Nvtx::find(), nullptr);
  EXPECT_EQ(
      notesOf(/*graphs=*/true),
      (std::vector<std::string>{"train(record()a launch and 1 like it()a launch())", "train()"}));
  std::string apart = "train(record()a launch()a launch()a launch())";
  EXPECT_EQ(notesOf(/*graphs=*/false), (std::vector<std::string>{apart, apart}));
  ASSERT_EQ(::unsetenv("NVTX_INJECTION64_PATH"), 0);
}

} // namespace
} // namespace dtc::rt
