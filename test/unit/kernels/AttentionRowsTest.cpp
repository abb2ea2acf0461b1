// Tests attention of tensors with gaps between their tokens, as parts of one tensor have.
#include "kernels/cpu/NarrowAttention.h"
#include "test/unit/kernels/AttentionReference.h"
#include "test/unit/kernels/NarrowTestSupport.h"

namespace dtc::cpu {
namespace {

using namespace test;

// The q, k and v of a problem as columns of one tensor of `tokens` rows, with some unused columns,
// and the same for the gradients.
template <typename T> struct Joined {
  static constexpr int64_t kGap = 3;
  AttentionSizes s;
  int64_t ofQueries, ofKeys, ofValues, row;
  std::vector<T> all;

  Joined(const AttentionSizes &sizes, T fill)
      : s(sizes), ofQueries(s.heads * s.headDim), ofKeys(s.kvHeads * s.headDim),
        ofValues(s.kvHeads * s.valueColumns()), row(ofQueries + ofKeys + ofValues + kGap),
        all(static_cast<size_t>(std::max(s.batch * std::max(s.queries, s.keys), int64_t(1)) * row),
            fill) {}

  T *q() { return all.data(); }
  T *k() { return all.data() + ofQueries; }
  T *v() { return all.data() + ofQueries + ofKeys; }
  void fill(T *part, const std::vector<T> &dense, int64_t columns) const {
    for (size_t i = 0; i < dense.size(); ++i)
      part[static_cast<int64_t>(i) / columns * row + static_cast<int64_t>(i) % columns] = dense[i];
  }
  void fill(const std::vector<T> &ofQ, const std::vector<T> &ofK, const std::vector<T> &ofV) {
    fill(q(), ofQ, ofQueries), fill(k(), ofK, ofKeys), fill(v(), ofV, ofValues);
  }
};

void setRows(AttentionArgs &args, int64_t row) { args.qRow = args.kRow = args.vRow = row; }

TEST(AttentionRows, AreReadAndWrittenWhereTheyAre) {
  for (int threads : {1, 8}) {
    ThreadPool pool(threads);
    forEachIsa([&] {
      for (const AttentionSizes &sizes : edgeSizes()) {
        AttentionProblem dense(sizes, 0.2f), joined(sizes, 0.2f);
        attention(dense.args, pool);
        attentionGrad(dense.gradArgs(), pool);
        Joined<float> inputs(sizes, 1e30f), found(sizes, -9), wanted(sizes, -9);
        inputs.fill(dense.q, dense.k, dense.v);
        joined.args.q = inputs.q(), joined.args.k = inputs.k(), joined.args.v = inputs.v();
        setRows(joined.args, inputs.row);
        attention(joined.args, pool);
        EXPECT_TRUE(sameBits(joined.out, dense.out)) << describe(sizes);
        EXPECT_TRUE(sameBits(joined.lse, dense.lse)) << describe(sizes);
        AttentionGradArgs grad = joined.gradArgs();
        grad.dq = found.q(), grad.dk = found.k(), grad.dv = found.v();
        grad.dqRow = grad.dkRow = grad.dvRow = found.row;
        attentionGrad(grad, pool);
        wanted.fill(dense.dq, dense.dk, dense.dv);
        EXPECT_TRUE(sameBits(found.all, wanted.all)) << describe(sizes);
      }
    });
  }
}

TEST(AttentionRows, AreThoseOfNarrowFloatsToo) {
  ThreadPool pool(3);
  ElementType type = ElementType::BF16;
  for (const AttentionSizes &sizes : edgeSizes()) {
    AttentionProblem problem(sizes, 0.2f);
    auto q = narrowed(type, problem.q), k = narrowed(type, problem.k),
         v = narrowed(type, problem.v), dout = narrowed(type, problem.dout);
    std::vector<uint16_t> out(dout.size()), dq(q.size()), dk(k.size()), dv(v.size());
    NarrowTensors dense{type,        q.data(),  k.data(),  v.data(), out.data(),
                        dout.data(), dq.data(), dk.data(), dv.data()};
    narrowAttention(problem.args, dense, pool);
    narrowAttentionGrad(problem.args, dense, problem.scratch.data(), pool);
    std::vector<uint16_t> outOfRows(dout.size());
    Joined<uint16_t> inputs(sizes, 0x7f7f), found(sizes, 9), wanted(sizes, 9);
    inputs.fill(q, k, v);
    setRows(problem.args, inputs.row);
    NarrowTensors rows{type,      inputs.q(), inputs.k(), inputs.v(), outOfRows.data(), dout.data(),
                       found.q(), found.k(),  found.v(),  found.row,  found.row,        found.row};
    narrowAttention(problem.args, rows, pool);
    EXPECT_EQ(outOfRows, out) << describe(sizes);
    narrowAttentionGrad(problem.args, rows, problem.scratch.data(), pool);
    wanted.fill(dq, dk, dv);
    EXPECT_EQ(found.all, wanted.all) << describe(sizes);
  }
}

} // namespace
} // namespace dtc::cpu
