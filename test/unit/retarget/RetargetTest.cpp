// Runs device IR through passes/simt and the emulator: checks its results, and that faults are
// found with their source lines.
#include "test/unit/retarget/DeviceProgram.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace dtc::simt;
using namespace dtc::simt::test;

namespace {

const std::string header = R"(
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)
declare float @llvm.nvvm.ex2.approx.ftz.f32(float)
)";

void expectPart(const std::string &message, const std::string &part) {
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

// y[i] = 2^x[i] for i < n.
const std::string exponentials = header + R"(
define ptx_kernel void @exponentials(ptr %y, ptr %x, i64 %n) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %start = mul i32 %block, %size
  %index = add i32 %start, %tid
  %i = zext i32 %index to i64
  %inside = icmp ult i64 %i, %n
  br i1 %inside, label %work, label %done
work:
  %from = getelementptr float, ptr %x, i64 %i
  %value = load float, ptr %from, align 4
  %power = call float @llvm.nvvm.ex2.approx.ftz.f32(float %value)
  %to = getelementptr float, ptr %y, i64 %i
  store float %power, ptr %to, align 4
  br label %done
done:
  ret void
}
)";

TEST(Retarget, RunsAPointwiseKernel) {
  DeviceProgram program(exponentials);
  for (int64_t n : {1, 31, 32, 33, 1000}) {
    std::vector<float> x(static_cast<size_t>(n));
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>(i % 20) - 10;
    float *from = newBuffer(program.memory, x),
          *to = newBuffer(program.memory, x, /*written=*/false);
    for (uint64_t seed = 0; seed < 5; ++seed) {
      EXPECT_EQ(program.run("exponentials", {8}, {128}, {&to, &from, &n}, seed), "");
      for (size_t i = 0; i < x.size(); ++i)
        EXPECT_EQ(to[i], std::exp2(x[i]));
    }
    int64_t tooMany = n + 1;
    expectPart(program.run("exponentials", {8}, {128}, {&to, &from, &tooMany}),
               "'exponentials': reads 4 bytes at 0x");
  }
}

// y[block] is the sum of 128 numbers of a block, by shuffles and shared memory.
std::string blockSum(const std::string &barrier) {
  return header + R"(
@parts = internal addrspace(3) global [4 x float] undef, align 4
define ptx_kernel void @blockSum(ptr %y, ptr %x) !dbg !4 {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %start = shl i32 %block, 7
  %index = add i32 %start, %tid
  %from = getelementptr float, ptr %x, i32 %index
  %v = load float, ptr %from, align 4, !dbg !7
  %s0 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v, i32 16, i32 31)
  %a0 = fadd float %v, %s0
  %s1 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %a0, i32 8, i32 31)
  %a1 = fadd float %a0, %s1
  %s2 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %a1, i32 4, i32 31)
  %a2 = fadd float %a1, %s2
  %s3 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %a2, i32 2, i32 31)
  %a3 = fadd float %a2, %s3
  %s4 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %a3, i32 1, i32 31)
  %a4 = fadd float %a3, %s4
  %lane = and i32 %tid, 31
  %first = icmp eq i32 %lane, 0
  br i1 %first, label %put, label %sync
put:
  %warp = lshr i32 %tid, 5
  %slot = getelementptr float, ptr addrspace(3) @parts, i32 %warp
  store float %a4, ptr addrspace(3) %slot, align 4, !dbg !8
  br label %sync
sync:
  )" + barrier +
         R"(
  %zero = icmp eq i32 %tid, 0
  br i1 %zero, label %end, label %done
end:
  %p0 = load float, ptr addrspace(3) @parts, align 4, !dbg !9
  %g1 = getelementptr float, ptr addrspace(3) @parts, i32 1
  %p1 = load float, ptr addrspace(3) %g1, align 4, !dbg !9
  %g2 = getelementptr float, ptr addrspace(3) @parts, i32 2
  %p2 = load float, ptr addrspace(3) %g2, align 4, !dbg !9
  %g3 = getelementptr float, ptr addrspace(3) @parts, i32 3
  %p3 = load float, ptr addrspace(3) %g3, align 4, !dbg !9
  %q0 = fadd float %p0, %p1
  %q1 = fadd float %p2, %p3
  %sum = fadd float %q0, %q1
  %to = getelementptr float, ptr %y, i32 %block
  store float %sum, ptr %to, align 4, !dbg !10
  br label %done
done:
  ret void
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "kernels/Sum.cu", directory: "/src")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !5)
!4 = distinct !DISubprogram(name: "blockSum", scope: !1, file: !1, line: 1, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!5 = !{}
!7 = !DILocation(line: 11, scope: !4)
!8 = !DILocation(line: 12, scope: !4)
!9 = !DILocation(line: 13, scope: !4)
!10 = !DILocation(line: 14, scope: !4)
)";
}

TEST(Retarget, RunsABlockReductionAndFindsItsMissingBarrier) {
  DeviceProgram right(blockSum("call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)")),
      wrong(blockSum(""));
  ASSERT_EQ(right.failure, "");
  ASSERT_EQ(wrong.failure, "");
  EXPECT_GE(right.module->find("blockSum")->sharedBytes, 16u);
  std::vector<float> x(512);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(i);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    float *from = newBuffer(right.memory, x),
          *to = newBuffer(right.memory, std::vector<float>(4), false);
    EXPECT_EQ(right.run("blockSum", {4}, {128}, {&to, &from}, seed), "");
    for (uint32_t block = 0; block < 4; ++block)
      EXPECT_EQ(to[block], static_cast<float>(128 * (128 * block) + 127 * 64));
    from = newBuffer(wrong.memory, x), to = newBuffer(wrong.memory, std::vector<float>(4), false);
    std::string message = wrong.run("blockSum", {1}, {128}, {&to, &from}, seed);
    expectPart(message, "Sum.cu:1");
    expectPart(message, "of shared memory");
  }
}

// Parameters by value, dynamic shared memory, .reqntid.
const std::string parameters = header + R"(
%Shape = type { i32, i32, [4 x float] }
@dynamic = external addrspace(3) global [0 x float], align 16
@table = addrspace(1) global [4 x i32] [i32 3, i32 5, i32 7, i32 9], align 4
define ptx_kernel void @parameters(ptr byval(%Shape) align 4 %shape, ptr %y) "nvvm.reqntid"="4,1,1" {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %field = getelementptr %Shape, ptr %shape, i32 0, i32 2, i32 %tid
  %value = load float, ptr %field, align 4
  %slot = getelementptr float, ptr addrspace(3) @dynamic, i32 %tid
  store float %value, ptr addrspace(3) %slot, align 4
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %other = sub i32 3, %tid
  %back = getelementptr float, ptr addrspace(3) @dynamic, i32 %other
  %got = load float, ptr addrspace(3) %back, align 4
  %entry = getelementptr i32, ptr addrspace(1) @table, i32 %tid
  %number = load i32, ptr addrspace(1) %entry, align 4
  %factor = sitofp i32 %number to float
  %result = fmul float %got, %factor
  %to = getelementptr float, ptr %y, i32 %tid
  store float %result, ptr %to, align 4
  ret void
}
)";

TEST(Retarget, PassesParametersAndSharedMemory) {
  DeviceProgram program(parameters);
  ASSERT_EQ(program.failure, "");
  const Kernel *kernel = program.module->find("parameters");
  EXPECT_EQ(kernel->parameterBytes, (std::vector<uint32_t>{24, 8}));
  EXPECT_EQ(kernel->requiredThreads, 4u);
  struct {
    int32_t a = 1, b = 2;
    float values[4] = {1, 2, 3, 4};
  } shape;
  float *y = newBuffer(program.memory, std::vector<float>(4), false);
  EXPECT_EQ(program.run("parameters", {1}, {4}, {&shape, &y}, 0, 16), "");
  EXPECT_EQ(std::vector<float>(y, y + 4), (std::vector<float>{12, 15, 14, 9}));
  expectPart(program.run("parameters", {1}, {4}, {&shape, &y}, 0, 12),
             "of shared memory, of which the block has 12 bytes");
  expectPart(program.run("parameters", {1}, {8}, {&shape, &y}, 0, 32),
             "was compiled for 4 threads a block");
  void *table = nullptr;
  uint64_t bytes = 0;
  EXPECT_TRUE(program.module->findGlobal("table", table, bytes).ok());
  EXPECT_EQ(bytes, 16u);
}

// Inline PTX: order of operands, tied results, numbers.
const std::string inlinePtx = header + R"(
define ptx_kernel void @assembly(ptr %y, float %a, float %b) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %pair = call i32 asm "cvt.rn.bf16x2.f32 $0, $2, $1;", "=r,f,f"(float %a, float %b)
  %tanh = call float asm "tanh.approx.f32 $0, $1;", "=f,f"(float %a)
  %bits = bitcast float %tanh to i32
  call void asm sideeffect "", "~{memory}"()
  call void asm sideeffect "cp.async.wait_group $0;", "n,~{memory}"(i32 0)
  store i32 %pair, ptr %y, align 4
  %second = getelementptr i32, ptr %y, i32 1
  store i32 %bits, ptr %second, align 4
  %third = getelementptr bfloat, ptr %y, i32 4
  %rounded = fptrunc float %b to bfloat
  %twice = fadd bfloat %rounded, %rounded
  store bfloat %twice, ptr %third, align 2
  %fourth = getelementptr half, ptr %y, i32 5
  %half = fptrunc float %b to half
  store half %half, ptr %fourth, align 2
  ret void
}
)";

TEST(Retarget, TakesInlinePtxApart) {
  DeviceProgram program(inlinePtx);
  uint32_t *y = newBuffer(program.memory, std::vector<uint32_t>(3), false);
  float a = 1, b = 2;
  EXPECT_EQ(program.run("assembly", {1}, {1}, {&y, &a, &b}), "");
  EXPECT_EQ(y[0], 0x40003f80u);
  float tanh;
  std::memcpy(&tanh, y + 1, 4);
  EXPECT_NEAR(tanh, std::tanh(1.0f), 0x1p-11);
  EXPECT_EQ(y[2], 0x40004080u);
}

TEST(Retarget, NamesWhatTheEmulatorLacks) {
  EXPECT_EQ(
      DeviceProgram(header + R"(
declare void @llvm.nvvm.cp.async.bulk.commit.group()
define ptx_kernel void @bulk() {
  call void @llvm.nvvm.cp.async.bulk.commit.group()
  ret void
})")
          .failure,
      "'bulk' uses 'llvm.nvvm.cp.async.bulk.commit.group', which the emulated GPU does not have");
  EXPECT_EQ(DeviceProgram(header + R"(
declare float @__nv_erff(float)
define ptx_kernel void @error(ptr %x) {
  %v = call float @__nv_erff(float 1.0)
  store float %v, ptr %x
  ret void
})")
                .failure,
            "'error' uses '__nv_erff', which the emulated GPU does not have");
  expectPart(DeviceProgram(header + R"(
define ptx_kernel void @several(ptr %x) {
  %v = call i32 asm "{ .reg .pred p; setp.ne.u32 p, 0, 0; selp.u32 $0, 1, 0, p; }", "=r"()
  store i32 %v, ptr %x
  ret void
})")
                 .failure,
             "the emulator takes one instruction, without predicates");
}

// A loop that never ends, with memory accesses in it and without.
TEST(Retarget, EndsLoopsThatDoNot) {
  for (std::string body : {"%v = load volatile i32, ptr %x, align 4\n  %end = icmp eq i32 %v, 1",
                           "%v = call i32 @next(i32 %at)\n  %end = icmp eq i32 %v, 1"}) {
    DeviceProgram program(header + R"(
define internal i32 @next(i32 %at) noinline {
  %odd = or i32 %at, 2
  ret i32 %odd
}
define ptx_kernel void @spin(ptr %x) {
entry:
  br label %loop
loop:
  %at = phi i32 [ 4, %entry ], [ %v, %loop ]
  )" + body + R"(
  br i1 %end, label %done, label %loop
done:
  store i32 %at, ptr %x, align 4
  ret void
})");
    ASSERT_EQ(program.failure, "");
    uint32_t *x = newBuffer(program.memory, std::vector<uint32_t>(1));
    expectPart(program.run("spin", {1}, {32}, {&x}), "does not end within 10000000 steps");
  }
}

// Tiles of 2 bytes are accessed as 16 bytes, which PTX accepts but a GPU does not.
TEST(Retarget, FindsSharedMemoryThatIsAlignedTooLittle) {
  auto program = [](const std::string &align) {
    return DeviceProgram(header + R"(
@tile = internal addrspace(3) global [256 x i16] undef, align )" +
                         align + R"(
define ptx_kernel void @fill() {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %at = getelementptr <8 x i16>, ptr addrspace(3) @tile, i32 %tid
  store volatile <8 x i16> zeroinitializer, ptr addrspace(3) %at, align 16
  ret void
})")
        .run("fill", {1}, {32}, {});
  };
  EXPECT_EQ(program("16"), "");
  expectPart(program("2"), "which is not a multiple of 16");
}

TEST(Retarget, CountsWhatCoalesces) {
  DeviceProgram program(exponentials);
  std::vector<float> x(1024);
  float *from = newBuffer(program.memory, x), *to = newBuffer(program.memory, x, false);
  int64_t n = 1024;
  Counters counters;
  EXPECT_EQ(program.run("exponentials", {8}, {128}, {&to, &from, &n}, 3, 0, &counters), "");
  EXPECT_EQ(counters.total.globalRequests, 64u);
  EXPECT_EQ(counters.total.sectorsPerRequest(), 4.0);
  EXPECT_EQ(counters.total.sectorRatio(), 1.0);
}

} // namespace
