// Checks that what is read was written for that use, in order.
#include "test/unit/verify/ExecText.h"
#include "test/unit/verify/SmallPrograms.h"

namespace dtc {
namespace {

using test::Broken;
using test::bufferOf;
using test::kDataParallel;

class MemoryRule : public testing::TestWithParam<Broken> {};

TEST_P(MemoryRule, IsNamedWithItsLocationWhereItIsBroken) { test::expectFault(GetParam()); }

const std::string kForward =
    "exec.gemm %x, %w to %y sizes [4, 4, 4] strides [4, 4, 4] loc(\"h.0\")";
const std::string kLossSum =
    "exec.gemm %y, %y to %sum sizes [1, 1, 16] strides [16, 1, 1] beta 1.0 starts_sum";
const std::string kGradient =
    "exec.gemm %x transposed, %y to %g sizes [4, 4, 4] strides [4, 4, 4] beta 1.0 starts_sum";

const Broken kBroken[] = {
    {"WrittenBefore",
     kDataParallel,
     {{"[@forward 0, @backward 0, @forward 1, @backward 1, @forward 2",
       "[@backward 0, @forward 0, @forward 1, @backward 1, @forward 2"}},
     "rank 0, task 'backward', micro-batch 0, instruction 0, gemm: reads bytes 320 to 384 of the "
     "arena, part of 'y' (buffer 4), which nothing has written in this step"},
    {"StartsItsSum",
     kDataParallel,
     {{"strides [4, 4, 4] beta 1.0 starts_sum", "strides [4, 4, 4] beta 1.0"}},
     "rank 0, task 'backward', micro-batch 0, instruction 0, gemm: reads bytes 448 to 512 of the "
     "arena, part of 'grad w' (buffer 6), which nothing has written in this step"},
    {"NotOverwritten",
     kDataParallel,
     {{kGradient, "exec.zero %t loc(\"mask\")\n" + kGradient}},
     "rank 0, task 'backward', micro-batch 0, instruction 1, gemm: reads bytes 320 to 384 of the "
     "arena, part of 'y' (buffer 4), which something else has overwritten while it was in use; it "
     "was written by task 'backward', micro-batch 0, instruction 0, zero (mask)",
     [](format::ManifestT &m) { bufferOf(m, "t").offset = bufferOf(m, "y").offset; }},
    {"ReadsAfterWrites",
     kDataParallel,
     {{kGradient, kGradient + " stream 1"}},
     "rank 0, task 'backward', micro-batch 0, instruction 0, gemm: reads 'y' (buffer 4) on stream "
     "1, which waits for no event after stream 0 has written it; it was written by task 'forward', "
     "micro-batch 0, instruction 0, gemm (h.0)"},
    {"WritesAfterReads",
     kDataParallel,
     {{kLossSum, "exec.record 0\nexec.wait 0 stream 1\n" + kLossSum + " stream 1"}},
     "rank 0, task 'forward', micro-batch 1, instruction 0, gemm (h.0): writes 'y' (buffer 4) on "
     "stream 0, while stream 1 may still read bytes 320 to 384 of the arena"},
    {"WritesAfterWrites",
     kDataParallel,
     {{kForward, "exec.zero %y stream 1\n" + kForward}},
     "rank 0, task 'forward', micro-batch 0, instruction 1, gemm (h.0): writes 'y' (buffer 4) on "
     "stream 0, while stream 1 may still write bytes 320 to 384 of the arena"},
    {"OfItsMicroBatch",
     kDataParallel,
     {{"[@forward 0, @backward 0, @forward 1, @backward 1, @forward 2",
       "[@forward 0, @forward 1, @backward 0, @backward 1, @forward 2"}},
     "rank 0, task 'backward', micro-batch 0, instruction 0, gemm: reads 'y' (buffer 4), which "
     "holds what belongs to micro-batch 1; it was written by task 'forward', micro-batch 1, "
     "instruction 0, gemm (h.0)"},
    // Two micro-batches are in progress, and there is one slot.
    {"SlotsEnough",
     kDataParallel,
     {{"\"y\" activation f32 64 bytes", "\"y\" activation f32 64 bytes slots 2"},
      {"[@forward 0, @backward 0, @forward 1, @backward 1, @forward 2, @backward 2",
       "[@forward 0, @forward 1, @forward 2, @backward 0, @backward 1, @backward 2"}},
     "rank 0, task 'backward', micro-batch 0, instruction 0, gemm: reads 'y' (buffer 4), which "
     "holds what belongs to micro-batch 2"},
    {"SlotsApart",
     kDataParallel,
     {{"\"y\" activation f32 64 bytes", "\"y\" activation f32 64 bytes slots 3"},
      {"[@forward 0, @backward 0, @forward 1, @backward 1, @forward 2, @backward 2",
       "[@forward 0, @forward 1, @forward 2, @backward 0, @backward 1, @backward 2"}},
     "rank 0, task 'backward', micro-batch 0, instruction 0, gemm: reads bytes 352 to 384 of the "
     "arena, part of 'y' (buffer 4), which something else has overwritten while it was in use",
     [](format::ManifestT &m) { bufferOf(m, "y").slot_stride = 32; }},
    {"KeptForTheNextStep",
     kDataParallel,
     {{"beta 1.0 loc(\"h.0.w\")", "beta 1.0 loc(\"h.0.w\")\nexec.zero %t loc(\"mask\")"}},
     "rank 0, task 'update', micro-batch 0, instruction 1, zero (mask): overwrites bytes 0 to 64 "
     "of "
     "the arena, part of 'w', which the next step wants",
     [](format::ManifestT &m) { bufferOf(m, "t").offset = bufferOf(m, "w").offset; },
     /*isRefusedByLoader=*/true},
    {"OfAllMicroBatches",
     kDataParallel,
     {{"exec.copy %sum to %loss sizes [1]", "exec.copy %y to %loss sizes [1]"}},
     "rank 0, task 'report', micro-batch 0, instruction 1, copy: reads 'y' (buffer 4) for "
     "all of 3 micro-batches, where only that of micro-batch 2 is left"},
};

INSTANTIATE_TEST_SUITE_P(Verify, MemoryRule, testing::ValuesIn(kBroken),
                         [](const auto &info) { return std::string(info.param.name); });

// Each layer writes a buffer of its own, and each micro-batch the part of the input that it has
// read.
TEST(MemoryRule, FollowsLayersAndWhatMovesOnWithMicroBatches) {
  const char *layers = R"(
exec.program @step mesh ["dp"] sizes [1] {
  %a = exec.buffer "a" temporary f32 64 bytes
  %b = exec.buffer "b" temporary f32 64 bytes
  %all = exec.per_layer [%a, %b] "a x2"
  %c = exec.buffer "c" temporary f32 64 bytes
  exec.task @step {
    exec.repeat 2 {
      exec.zero %all
    }
    exec.copy %b to %c sizes [16] from [1] at <0> into [1] at <0>
  }
  exec.entry train order [@step]
}
)";
  EXPECT_EQ(test::textOf(verifyPrograms(*test::manifestOf(layers)).fault), "");
  std::string parts = test::changed(kDataParallel, {{kGradient, kGradient + "\nexec.zero %x"}});
  EXPECT_EQ(test::textOf(verifyPrograms(*test::manifestOf(parts)).fault), "");
}

// A buffer of a repeat has a storage for each layer.
TEST(MemoryRule, IsNamedWhereALayerHasNoStorage) {
  const char *text = R"(
exec.program @step mesh ["dp"] sizes [1] {
  %a = exec.buffer "a" temporary f32 64 bytes
  %b = exec.buffer "b" temporary f32 64 bytes
  %all = exec.per_layer [%a, %b] "a x2"
  exec.task @step {
    exec.repeat 2 {
      exec.zero %all loc("h")
    }
  }
  exec.entry train order [@step]
}
)";
  EXPECT_EQ(test::textOf(verifyPrograms(*test::manifestOf(text)).fault), "");
  test::Packed packed = test::manifestOf(
      text, [](format::ManifestT &m) { bufferOf(m, "a x2").layer_storages.pop_back(); });
  EXPECT_EQ(test::textOf(verifyPrograms(*packed).fault),
            "rank 0, task 'step', micro-batch 0, instruction 0 in layer 1, zero (h): uses 'a x2' "
            "(buffer 0), which says of no storage that it is this layer's");
}

} // namespace
} // namespace dtc
