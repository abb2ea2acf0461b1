#include "bench/planner/Sources.h"

#include <gtest/gtest.h>

using namespace dtc::published;

namespace {

std::vector<Row> rowsOf(const std::string &lines) {
  auto rows = parseRows("source,model,gpu,seq_len,notes\n" + lines, "table.csv");
  EXPECT_TRUE(rows.ok());
  return rows.ok() ? *rows : std::vector<Row>();
}

} // namespace

// FNV-1a of "a,b,c,d,e,".
TEST(Row, HashesItsCells) {
  EXPECT_EQ(rowsOf("a,b,c,d,e\n").at(0).hash, 0x9f74137c2bb2d868u);
  EXPECT_NE(rowsOf("a,b,c,d,f\n").at(0).hash, rowsOf("a,b,c,d,e\n").at(0).hash);
  EXPECT_EQ(rowsOf("x,b,c,d,e\n\"a\",b,c,d,e\n").at(1).hash, rowsOf("a,b,c,d,e\n").at(0).hash);
}

TEST(IsForRelease, HoldsForOneRowInFive) {
  std::string lines;
  for (int i = 0; i < 5000; ++i)
    lines += "source " + std::to_string(i % 7) + ",m,H100,2048,note " + std::to_string(i) + "\n";
  int kept = 0, both = 0, fitted = 0;
  for (const Row &row : rowsOf(lines)) {
    kept += isForRelease(row);
    fitted += isFitted(row);
    both += isForRelease(row) && isFitted(row);
  }
  EXPECT_GT(kept, 900);
  EXPECT_LT(kept, 1100);
  EXPECT_NEAR(both, kept * fitted / 5000.0, 60); // both halves, whichever a row is in
}

TEST(StackOf, TellsTpusFromGpus) {
  EXPECT_EQ(stackOf(rowsOf("MaxText TPU v5e,MaxText default 64B,TPU v5e,2048,JAX MaxText\n")[0]),
            "maxtext-tpu");
  EXPECT_EQ(stackOf(rowsOf("JAX-Toolbox MaxText README,GPT,H100,2048,MaxText\n")[0]), "maxtext");
}

// Tests whether gradients are added up in f32 beside those of a micro-batch, or in f16.
TEST(StackOf, TellsTheOptimizersOfDeepSpeed) {
  EXPECT_EQ(stackOf(rowsOf("BLOOM prequel,GPT,A100,2048,BF16_Optimizer (ZeRO-1-like)\n")[0]),
            "bigscience-bf16");
  EXPECT_EQ(stackOf(rowsOf("BLOOM prequel,GPT,A100,2048,fp16; ZeRO-1\n")[0]), "bigscience");
}
