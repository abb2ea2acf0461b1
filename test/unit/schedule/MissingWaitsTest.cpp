// Transfers on streams of their own: dtc-verify-exec accepts what dtc-overlap-transfers makes, and refuses
// the same program with any of its waits or records gone, or with another number of slots.
#include "passes/schedule/Ordering.h"
#include "passes/schedule/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace dtc::test {
namespace {

// The middle one of three stages: x comes in, y goes out, the gradient of y comes back, that of x goes
// on. It keeps two micro-batches.
constexpr const char *kStage = R"(
exec.program @stage_1 mesh ["pp"] sizes [3] ranks [1] micro_batches 4 {
  %x = exec.buffer "x" activation f32 64 bytes slots 3
  %h = exec.buffer "h" activation f32 64 bytes
  %y = exec.buffer "y" activation f32 64 bytes slots 2
  %dy = exec.buffer "dy" activation f32 64 bytes slots 2
  %dx = exec.buffer "dx" activation f32 64 bytes slots 2
  %g = exec.buffer "g" gradient f32 64 bytes carried
  exec.task @receive_forward per_micro_batch {
    exec.receive %x over <"0 to 1", 2, [0, 1]> shift 1 "x" pipeline {exec.channel = 0 : i64}
  }
  exec.task @forward per_micro_batch {
    exec.copy %x to %h sizes [16] from [1] at <0> into [1] at <0>
    exec.copy %h to %y sizes [16] from [1] at <0> into [1] at <0>
  }
  exec.task @send_forward per_micro_batch {
    exec.send %y over <"1 to 2", 2, [1, 2]> shift 1 "y" pipeline {exec.channel = 1 : i64}
  }
  exec.task @receive_backward per_micro_batch {
    exec.receive %dy over <"2 to 1", 2, [2, 1]> shift 1 "dy" pipeline {exec.channel = 2 : i64}
  }
  exec.task @backward per_micro_batch {
    exec.copy %dy to %g sizes [16] from [1] at <0> into [1] at <0> accumulate starts_sum
    exec.gemm %x, %h transposed to %dx sizes [4, 4, 4] strides [4, 4, 4]
  }
  exec.task @send_backward per_micro_batch {
    exec.send %dx over <"1 to 0", 2, [1, 0]> shift 1 "dx" pipeline {exec.channel = 3 : i64}
  }
  exec.task @update {
    exec.zero %g
  }
  exec.entry train order [@receive_forward 0, @forward 0, @send_forward 0, @receive_forward 1, @forward 1, @send_forward 1,
    @receive_backward 0, @backward 0, @send_backward 0, @receive_forward 2, @forward 2, @send_forward 2,
    @receive_backward 1, @backward 1, @send_backward 1, @receive_forward 3, @forward 3, @send_forward 3,
    @receive_backward 2, @backward 2, @send_backward 2, @receive_backward 3, @backward 3, @send_backward 3, @update]
  exec.entry evaluate order [@receive_forward 0, @forward 0, @send_forward 0, @receive_forward 1, @forward 1, @send_forward 1,
    @receive_forward 2, @forward 2, @send_forward 2, @receive_forward 3, @forward 3, @send_forward 3]
}
)";

class MissingWaits : public testing::Test {
protected:
  void SetUp() override {
    context.loadDialect<exec::ExecDialect, graph::GraphDialect>();
    module = parseSourceString<ModuleOp>(kStage, ParserConfig(&context));
    ASSERT_TRUE(module);
    PassManager passes(&context);
    passes.nest<exec::ProgramOp>().addPass(createOverlapTransfers());
    passes.nest<exec::ProgramOp>().addPass(createPlanMemory());
    ASSERT_TRUE(succeeded(passes.run(*module)));
  }

  // What dtc-verify-exec says of a copy that `change` changed; empty where nothing.
  std::string verify(llvm::function_ref<void(ModuleOp)> change) {
    OwningOpRef<ModuleOp> copy(module->clone());
    change(*copy);
    std::string said;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
        said += diagnostic.str();
    });
    PassManager passes(&context);
    passes.nest<exec::ProgramOp>().addPass(createVerifyExec());
    bool isGood = succeeded(passes.run(*copy));
    EXPECT_EQ(isGood, said.empty());
    return said;
  }

  template <typename Op> static std::vector<Op> all(ModuleOp of) {
    std::vector<Op> found;
    of.walk([&](Op op) { found.push_back(op); });
    return found;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(MissingWaits, NothingIsWrongWithoutAChange) {
  EXPECT_EQ(verify([](ModuleOp) {}), "");
  EXPECT_EQ(all<exec::WaitOp>(*module).size(), 9u);
}

TEST_F(MissingWaits, EachIsFound) {
  for (size_t i = 0; i < all<exec::WaitOp>(*module).size(); ++i) {
    SCOPED_TRACE(i);
    std::string said = verify([&](ModuleOp copy) { all<exec::WaitOp>(copy)[i].erase(); });
    EXPECT_NE(said.find("at the same time as an instruction of another stream"), std::string::npos)
        << said;
  }
}

TEST_F(MissingWaits, EachMissingRecordIsFound) {
  for (size_t i = 0; i < all<exec::RecordOp>(*module).size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_NE(verify([&](ModuleOp copy) { all<exec::RecordOp>(copy)[i].erase(); }), "");
  }
}

// Whether the wait is for what its own micro-batch does before; else it is for who had the slot.
bool isOfOneMicroBatch(exec::WaitOp wait) {
  bool found = false;
  wait->getParentOfType<exec::ProgramOp>().walk([&](exec::RecordOp record) {
    found |=
        record.getEvent() == wait.getEvent() && record.getSlots() > 1 && comesBefore(record, wait);
  });
  return found;
}

// A wait for the first slot's event is for an earlier micro-batch. (One for who had the slot is then for
// a later one than it needs, which is too long, but not wrong.)
TEST_F(MissingWaits, EachWaitForAnotherSlotIsFound) {
  size_t tried = 0;
  for (size_t i = 0; i < all<exec::WaitOp>(*module).size(); ++i) {
    SCOPED_TRACE(i);
    if (!isOfOneMicroBatch(all<exec::WaitOp>(*module)[i]))
      continue;
    ++tried;
    EXPECT_NE(verify([&](ModuleOp copy) { all<exec::WaitOp>(copy)[i].setSlots(1); }), "");
  }
  EXPECT_EQ(tried, 4u);
}

TEST_F(MissingWaits, FewerSlotsThanTheOrderKeepsAreFound) {
  for (StringRef name : {"x", "h"}) {
    std::string said = verify([&](ModuleOp copy) {
      for (exec::BufferOp buffer : all<exec::BufferOp>(copy))
        if (buffer.getName() == name)
          buffer.setSlots(1);
    });
    EXPECT_NE(said.find("in which the order keeps two micro-batches at once"), std::string::npos)
        << said;
  }
}

// Without its receive a micro-batch waits for nothing, or finds what another one has left in the slot.
TEST_F(MissingWaits, AMissingRunIsFound) {
  for (auto [missing, message] : {std::pair(1, "which nothing before it records"),
                                  std::pair(3, "reads 'x', which holds 'x' of micro-batch 0")}) {
    std::string said = verify([missing = missing](ModuleOp copy) {
      exec::EntryOp entry = all<exec::EntryOp>(copy).front();
      SmallVector<Attribute> tasks;
      SmallVector<int64_t> microBatches;
      for (auto [task, microBatch] :
           llvm::zip(entry.getTasks().getAsRange<FlatSymbolRefAttr>(), entry.getMicroBatches()))
        if (task.getValue() != "receive_forward" || microBatch != missing) {
          tasks.push_back(task);
          microBatches.push_back(microBatch);
        }
      entry.setTasksAttr(ArrayAttr::get(copy.getContext(), tasks));
      entry.setMicroBatches(microBatches);
    });
    EXPECT_NE(said.find(message), std::string::npos) << said;
  }
}

// The streams wait for each other as they should, but the order brings in the next micro-batch too soon.
TEST_F(MissingWaits, AnOrderThatTakesASlotTooSoonIsFound) {
  std::string said = verify([](ModuleOp copy) {
    exec::EntryOp entry = all<exec::EntryOp>(copy).front();
    SmallVector<Attribute> tasks(entry.getTasks().getValue());
    SmallVector<int64_t> microBatches(entry.getMicroBatches());
    // Both are runs of receive_forward and forward before the first backward: of 2 in place of 1's.
    for (size_t i = 0; i < tasks.size(); ++i)
      if (microBatches[i] == 0 && i > 6)
        microBatches[i] = 2;
      else if (microBatches[i] == 2)
        microBatches[i] = 0;
    entry.setMicroBatches(microBatches);
  });
  EXPECT_NE(said, "");
}

} // namespace
} // namespace dtc::test
