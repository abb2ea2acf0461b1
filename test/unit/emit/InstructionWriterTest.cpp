// Tests of compiler/build/emit/InstructionWriter.
#include "compiler/build/emit/InstructionWriter.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <set>

using namespace mlir;
using namespace dtc;

namespace {
// Returns the names of the fields of a kind's table, and of the tables in it.
std::set<std::string> fieldsOf(const flatbuffers::TypeTable &table) {
  std::set<std::string> names;
  for (size_t i = 0; i < table.num_elems; ++i) {
    names.insert(StringRef(table.names[i]).rtrim('_').str());
    const flatbuffers::TypeCode &code = table.type_codes[i];
    if (code.base_type == flatbuffers::ET_SEQUENCE)
      names.merge(fieldsOf(*table.type_refs[code.sequence_ref]()));
  }
  return names;
}

const flatbuffers::TypeTable &tableOf(format::Op kind) {
  const flatbuffers::TypeTable *all = format::OpTypeTable();
  return *all->type_refs[all->type_codes[static_cast<size_t>(kind)].sequence_ref]();
}

// Every attribute of an instruction is in the file, or is listed by name as not written.
TEST(InstructionWriter, HasAFieldForEveryAttribute) {
  MLIRContext context;
  context.loadDialect<exec::ExecDialect>();
  const std::set<std::string> byHand = {"launch", "gemm", "collective", "send", "receive"};
  const std::set<std::string> notInTables = {"stream", "last", "starts_sum", "operandSegmentSizes"};
  std::set<format::Op> kinds;
  for (RegisteredOperationName op : context.getRegisteredOperationsByDialect("exec")) {
    if (!op.hasInterface<exec::InstructionOpInterface>())
      continue;
    std::string mnemonic = op.stripDialect().str();
    format::Op kind = instructionKindOf(mnemonic);
    EXPECT_NE(kind, format::Op::NONE) << mnemonic;
    kinds.insert(kind);
    if (byHand.count(mnemonic) || kind == format::Op::NONE)
      continue;
    std::set<std::string> fields = fieldsOf(tableOf(kind));
    for (StringAttr name : op.getAttributeNames())
      EXPECT_TRUE(fields.count(name.str()) || notInTables.count(name.str()))
          << mnemonic << " has attribute '" << name.str() << "', its table has no such field";
  }
  EXPECT_EQ(kinds.size(), static_cast<size_t>(format::Op::MAX)) << "a kind has no exec op";
}

// The program, with a number for each buffer that it declares.
struct Written {
  explicit Written(StringRef body) {
    context.loadDialect<exec::ExecDialect>();
    // The instruction comes last. It is put into a task.
    size_t split = body.rfind("\n    exec.");
    split = split == StringRef::npos ? 0 : split;
    std::string text =
        ("exec.program @p mesh [\"dp\"] sizes [2] events 4 {\n" + body.take_front(split) +
         "\nexec.task @step {\n" + body.drop_front(split) + "\n}\n}")
            .str();
    module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
    EXPECT_TRUE(module) << text;
    if (!module)
      return;
    llvm::DenseMap<Value, uint32_t> numbers;
    module->walk([&](Operation *op) {
      if (op->getNumResults() == 1)
        numbers.insert({op->getResult(0), static_cast<uint32_t>(numbers.size())});
      if (auto instruction = dyn_cast<exec::InstructionOpInterface>(op))
        table =
            writeInstruction(instruction, {[&](Value buffer) { return numbers.lookup(buffer); },
                                           [](exec::RankScalarAttr scalar) {
                                             auto result = std::make_unique<format::RankScalarT>();
                                             result->base = scalar.getBase();
                                             return scalar.getBase() ? std::move(result) : nullptr;
                                           },
                                           [](Type type) {
                                             return type.isInteger(32) ? format::DType::i32
                                                    : type.isBF16()    ? format::DType::bf16
                                                                       : format::DType::f32;
                                           }});
    });
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  format::OpUnion table;
};

TEST(InstructionWriter, WritesNumbersFlagsAndScalars) {
  Written written(R"(
    %table = exec.buffer "wte" parameter f32 4096 bytes persistent
    %ids = exec.buffer "tokens" input i32 32 bytes
    %dout = exec.buffer "dx" temporary f32 512 bytes
    exec.embedding_grad %ids, %dout to %table rows 64 columns 16 tokens 8 first_row <7> padding 3 accumulate)");
  const format::EmbeddingGradT *op = written.table.AsEmbeddingGrad();
  ASSERT_TRUE(op);
  EXPECT_EQ(op->grad, 0u);
  EXPECT_EQ(op->ids, 1u);
  EXPECT_EQ(op->dout, 2u);
  EXPECT_EQ(op->rows, 64u);
  EXPECT_EQ(op->columns, 16u);
  EXPECT_EQ(op->tokens, 8u);
  ASSERT_TRUE(op->first_row);
  EXPECT_EQ(op->first_row->base, 7);
  EXPECT_EQ(op->padding, 3);
  EXPECT_TRUE(op->accumulate);
}

TEST(InstructionWriter, WritesTheTypeOfTheResult) {
  Written written(R"(
    %x = exec.buffer "x" temporary bf16 512 bytes
    %dy = exec.buffer "dy" temporary bf16 1024 bytes
    %n = exec.buffer "n" temporary i32 32 bytes
    %dw = exec.buffer "dw" gradient f32 2048 bytes
    exec.grouped_gemm %x, %dy by %n to %dw groups 4 samples 2 rows 32 k 8 n 16 sums_rows accumulate starts_sum)");
  const format::GroupedGemmT *op = written.table.AsGroupedGemm();
  ASSERT_TRUE(op);
  EXPECT_EQ(op->a, 0u);
  EXPECT_EQ(op->b, 1u);
  EXPECT_EQ(op->counts, 2u);
  EXPECT_EQ(op->c, 3u);
  EXPECT_EQ(op->groups, 4u);
  EXPECT_EQ(op->samples, 2u);
  EXPECT_EQ(op->rows, 32u);
  EXPECT_EQ(op->k, 8u);
  EXPECT_EQ(op->n, 16u);
  EXPECT_FALSE(op->trans_b);
  EXPECT_TRUE(op->sums_rows);
  EXPECT_TRUE(op->accumulate);
  EXPECT_EQ(op->dtype, format::DType::bf16);
  EXPECT_EQ(op->result_dtype, format::DType::f32);
}

TEST(InstructionWriter, WritesVectorsAndTheElementType) {
  Written written(R"(
    %a = exec.buffer "a" temporary i32 256 bytes
    %b = exec.buffer "b" temporary i32 256 bytes
    exec.copy %a to %b sizes [4, 8] from [-8, 1] at <24> into [8, 1] at <0>)");
  const format::StridedCopyT *op = written.table.AsStridedCopy();
  ASSERT_TRUE(op);
  EXPECT_EQ(op->dtype, format::DType::i32);
  EXPECT_EQ(op->sizes, (std::vector<uint64_t>{4, 8}));
  EXPECT_EQ(op->src_strides, (std::vector<int64_t>{-8, 1}));
  EXPECT_EQ(op->dst_strides, (std::vector<int64_t>{8, 1}));
  EXPECT_EQ(op->src_offset->base, 24);
  EXPECT_FALSE(op->dst_offset);
  EXPECT_FALSE(op->accumulate);
}

// A field that is a table has the same fields as the op. A buffer that is absent has its default.
TEST(InstructionWriter, WritesTablesInTables) {
  Written written(R"(
    %q = exec.buffer "q" temporary f32 4096 bytes
    %k = exec.buffer "k" temporary f32 4096 bytes
    %lse = exec.buffer "lse" temporary f32 256 bytes
    %d = exec.buffer "d" temporary f32 4096 bytes
    exec.attention_grad %q, %k, %k, %q, %lse, %q to %d, %k, %k scratch %lse
      batch 2 queries 4 keys 8 heads 8 kv_heads 4 head_dim 16 causal scale 0.25)");
  const format::AttentionGradT *op = written.table.AsAttentionGrad();
  ASSERT_TRUE(op && op->forward);
  EXPECT_EQ(op->dq, 3u);
  EXPECT_EQ(op->scratch, 2u);
  EXPECT_EQ(op->forward->k, 1u);
  EXPECT_EQ(op->forward->kv_heads, 4u);
  EXPECT_TRUE(op->forward->causal);
  EXPECT_EQ(op->forward->scale, 0.25f);
  EXPECT_EQ(op->forward->seed, 0xffffffffu);
}

TEST(InstructionWriter, WritesEvents) {
  EXPECT_EQ(Written("exec.record 3").table.AsRecord()->event, 3u);
  EXPECT_EQ(Written("exec.wait 2").table.AsWait()->event, 2u);
}
} // namespace
