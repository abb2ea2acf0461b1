// Tests tensors of attention that are parts of one tensor: the gaps of one may hold another.
#include "runtime/format/Verify.h"
#include "test/unit/format/Sample.h"

#include <gtest/gtest.h>

namespace dtc::format {
namespace {

using test::ProgramBuilder;

constexpr uint64_t kTokens = 4, kColumns = 8, kRow = 3 * kColumns + 2;

// Gradients of one head as columns [0, 8), [8, 16) and [16, 24) of rows of 26 elements.
struct Parts {
  ProgramBuilder builder{{{"dp", 1}}};
  uint32_t dq, dk, dv;

  Parts() {
    uint32_t x = builder.buffer("x", kTokens * kColumns), lse = builder.buffer("lse", kTokens);
    uint32_t scratch = builder.buffer("scratch", kTokens);
    uint64_t elements = (kTokens - 1) * kRow + kColumns;
    dq = builder.buffer("dq", elements + 2 * kColumns);
    dk = builder.buffer("dk", elements), dv = builder.buffer("dv", elements);
    moveTo(dk, kColumns), moveTo(dv, 2 * kColumns);
    for (uint32_t buffer : {x, lse})
      builder.add(test::zero(buffer));
    AttentionGradT grad;
    grad.forward = std::make_unique<AttentionT>();
    AttentionT &forward = *grad.forward;
    forward.q = forward.k = forward.v = forward.out = x;
    forward.lse = lse;
    forward.batch = forward.heads = forward.kv_heads = 1;
    forward.queries = forward.keys = kTokens;
    forward.head_dim = kColumns;
    forward.scale = 0.5f;
    grad.dout = x;
    grad.dq = dq, grad.dk = dk, grad.dv = dv;
    grad.scratch = scratch;
    grad.dq_row = grad.dk_row = grad.dv_row = kRow;
    builder.add(std::move(grad));
  }

  // Moves a buffer by this number of elements behind the first one of dq.
  void moveTo(uint32_t buffer, uint64_t elements) {
    auto &buffers = builder.program().buffers;
    buffers[buffer]->offset = buffers[dq]->offset + elements * sizeof(float);
  }
  AttentionGradT &grad() { return *builder.instructions().back()->op.AsAttentionGrad(); }

  std::string whatIsWrong() {
    std::vector<uint8_t> file = builder.file();
    const Manifest *manifest = nullptr;
    return verifyExecutable(file, "m.dte", manifest).message();
  }
};

TEST(RowParts, MayLieInEachOthersGaps) { EXPECT_EQ(Parts().whatIsWrong(), ""); }

TEST(RowParts, MayNotShareElements) {
  for (uint64_t first : {uint64_t(0), kColumns - 1, kRow - kColumns + 1}) {
    Parts parts;
    parts.moveTo(parts.dk, first);
    EXPECT_NE(parts.whatIsWrong().find("share memory"), std::string::npos) << first;
  }
  Parts parts; // rows of one tensor without gaps, and rows of another length
  parts.grad().dv_row = 0;
  EXPECT_NE(parts.whatIsWrong().find("share memory"), std::string::npos) << parts.whatIsWrong();
  parts.grad().dv_row = kRow - 1;
  EXPECT_NE(parts.whatIsWrong().find("share memory"), std::string::npos);
}

// The gap behind dv has two elements, and the next row's dq does not fit into it.
TEST(RowParts, StepOverRowsOnce) {
  Parts parts;
  parts.moveTo(parts.dv, kRow + 2 * kColumns);
  EXPECT_NE(parts.whatIsWrong().find("share memory"), std::string::npos);
}

} // namespace
} // namespace dtc::format
