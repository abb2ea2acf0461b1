// Tests the seconds of single instructions of an executable, which depend on the sizes and the type
// that they name.
#include "compiler/show/timeline/InstructionCost.h"
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/price/cost/OpCost.h"

#include <gtest/gtest.h>

using namespace dtc;

namespace {

// Returns the seconds of `op`, which reads and writes one buffer, on a GPU of a DGX H100.
template <typename OpT> double secondsOn(OpT op) {
  format::ManifestT manifest;
  auto program = std::make_unique<format::ProgramT>();
  program->buffers.push_back(std::make_unique<format::BufferT>());
  auto task = std::make_unique<format::TaskT>();
  auto instruction = std::make_unique<format::InstructionT>();
  instruction->op.Set(std::move(op));
  task->instructions.push_back(std::move(instruction));
  program->tasks.push_back(std::move(task));
  manifest.programs.push_back(std::move(program));
  manifest.rank_program = {0};
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(format::Manifest::Pack(builder, &manifest));
  const auto *packed = flatbuffers::GetRoot<format::Manifest>(builder.GetBufferPointer());
  Result<Topology> topology = loadTopology("dgx-h100", 1, 1);
  const format::Program &only = *packed->programs()->Get(0);
  return costOn(*packed, *topology)(0, *only.tasks()->Get(0)->instructions()->Get(0)).seconds;
}

DeviceKind gpu() { return loadTopology("dgx-h100", 1, 1)->device; }

} // namespace

// Tensor cores compute products of 16 bits, 15 times as fast as f32 on this GPU.
TEST(InstructionCost, TakesProductsByTheirType) {
  format::GemmT gemm;
  gemm.m = 8192, gemm.n = 3072, gemm.k = 768;
  for (auto [type, asType] : {std::pair(format::DType::f32, ComputeType::F32),
                              std::pair(format::DType::bf16, ComputeType::BF16),
                              std::pair(format::DType::f16, ComputeType::F16)}) {
    gemm.dtype = type;
    EXPECT_DOUBLE_EQ(secondsOn(gemm),
                     secondsOf(productWork(8192, 3072, 768, 1, asType), gpu(), Launch::Replayed));
  }
}

// A grouped product costs what one product for each group does, each with the mean of the rows.
TEST(InstructionCost, TakesGroupsAsABatch) {
  format::GroupedGemmT grouped;
  grouped.groups = 8, grouped.samples = 2, grouped.rows = 8192, grouped.k = 768, grouped.n = 3072;
  grouped.dtype = grouped.result_dtype = format::DType::bf16;
  auto seconds = [](int64_t m, int64_t n, int64_t k) {
    return secondsOf(productWork(m, n, k, 8, ComputeType::BF16), gpu(), Launch::Replayed);
  };
  EXPECT_DOUBLE_EQ(secondsOn(grouped), seconds(1024, 3072, 768));
  grouped.sums_rows = true;
  EXPECT_DOUBLE_EQ(secondsOn(grouped), seconds(768, 3072, 1024));
}

// An epilogue costs the traffic of its operands, such as the input of a GELU.
TEST(InstructionCost, CountsWhatEpiloguesMove) {
  format::GemmT gemm;
  gemm.m = 8192, gemm.n = 3072, gemm.k = gemm.lda = 768;
  gemm.ldb = gemm.ldc = 3072;
  gemm.dtype = gemm.result_dtype = format::DType::bf16;
  double plain = secondsOn(gemm);
  gemm.epilogue = format::Epilogue::gelu_aux_bias;
  gemm.bias = gemm.aux = 0;
  OpWork more;
  more.bytes = 2.0 * (8192 * 3072 + 3072);
  EXPECT_NEAR(secondsOn(gemm), plain + explainOp(more, gpu()).memorySeconds, 1e-12);
  gemm.epilogue = format::Epilogue::bias;
  gemm.aux = format::noBuffer;
  EXPECT_LT(secondsOn(gemm), plain + 1e-7);
}

TEST(InstructionCost, TakesAttentionByItsType) {
  format::AttentionT attention;
  attention.batch = 8, attention.queries = attention.keys = 1024;
  attention.heads = attention.kv_heads = 12, attention.head_dim = 64;
  double inF32 = secondsOn(attention);
  // A window of 1/32 of the keys leaves 1 - (31/32)^2 of the pairs.
  format::AttentionT near = attention;
  attention.causal = near.causal = true, near.window = 32;
  EXPECT_NEAR(secondsOn(near) / secondsOn(attention), 0.0615, 0.03);
  attention.causal = false;
  attention.dtype = format::DType::bf16;
  EXPECT_LT(secondsOn(attention), inF32 / 5);
  format::AttentionGradT backward;
  backward.forward = std::make_unique<format::AttentionT>(attention);
  double inBf16 = secondsOn(backward);
  backward.forward->dtype = format::DType::f32;
  EXPECT_LT(inBf16, secondsOn(backward) / 5);
}
