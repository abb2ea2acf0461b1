// Tests transfers on streams of their own: dtc-verify-exec accepts the result of
// dtc-overlap-transfers, and refuses the same program without any of its waits or records, or with
// another number of slots.
#include "passes/schedule/Ordering.h"
#include "passes/schedule/Passes.h"
#include "test/unit/schedule/MiddleStage.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace dtc::test {
namespace {

// The cases have a few micro-batches, or so many that most of them are skipped.
class MissingWaits : public testing::TestWithParam<int> {
protected:
  void SetUp() override {
    context.loadDialect<exec::ExecDialect, graph::GraphDialect>();
    std::string text = stageText(GetParam(), trainOrder(GetParam()));
    module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
    ASSERT_TRUE(module);
    PassManager passes(&context);
    passes.nest<exec::ProgramOp>().addPass(createOverlapTransfers());
    passes.nest<exec::ProgramOp>().addPass(createPlanMemory());
    ASSERT_TRUE(succeeded(passes.run(*module)));
  }

  // Returns the message of dtc-verify-exec about a copy that `change` changed, or "".
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

TEST_P(MissingWaits, NothingIsWrongWithoutAChange) {
  EXPECT_EQ(verify([](ModuleOp) {}), "");
  EXPECT_EQ(all<exec::WaitOp>(*module).size(), 9u);
}

TEST_P(MissingWaits, EachIsFound) {
  for (size_t i = 0; i < all<exec::WaitOp>(*module).size(); ++i) {
    SCOPED_TRACE(i);
    std::string said = verify([&](ModuleOp copy) { all<exec::WaitOp>(copy)[i].erase(); });
    EXPECT_NE(said.find("at the same time as an instruction of another stream"), std::string::npos)
        << said;
  }
}

TEST_P(MissingWaits, EachMissingRecordIsFound) {
  for (size_t i = 0; i < all<exec::RecordOp>(*module).size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_NE(verify([&](ModuleOp copy) { all<exec::RecordOp>(copy)[i].erase(); }), "");
  }
}

// Returns true if the wait is for an earlier instruction of its own micro-batch, and false if it is
// for the last user of the slot.
bool isOfOneMicroBatch(exec::WaitOp wait) {
  bool found = false;
  wait->getParentOfType<exec::ProgramOp>().walk([&](exec::RecordOp record) {
    found |=
        record.getEvent() == wait.getEvent() && record.getSlots() > 1 && comesBefore(record, wait);
  });
  return found;
}

// A wait for the first slot's event is for an earlier micro-batch. (A wait for the last user of the
// slot is then for a later micro-batch than needed, which is too long, but not wrong.)
TEST_P(MissingWaits, EachWaitForAnotherSlotIsFound) {
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

TEST_P(MissingWaits, FewerSlotsThanTheOrderKeepsAreFound) {
  for (StringRef name : {"x", "h", "k"}) {
    std::string said = verify([&](ModuleOp copy) {
      for (exec::BufferOp buffer : all<exec::BufferOp>(copy))
        if (buffer.getName() == name)
          buffer.setSlots(1);
    });
    EXPECT_NE(said.find("in which the order keeps two micro-batches at once"), std::string::npos)
        << said;
  }
}

// A micro-batch without its receive waits for nothing, or finds the data of another one in the
// slot.
TEST_P(MissingWaits, AMissingRunIsFound) {
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

// The streams wait for each other correctly, but the order brings in the next micro-batch too soon.
TEST_P(MissingWaits, AnOrderThatTakesASlotTooSoonIsFound) {
  std::string said = verify([](ModuleOp copy) {
    exec::EntryOp entry = all<exec::EntryOp>(copy).front();
    SmallVector<Attribute> tasks(entry.getTasks().getValue());
    SmallVector<int64_t> microBatches(entry.getMicroBatches());
    // Both are runs of receive_forward and forward before the first backward, with 2 in place of 1.
    for (size_t i = 0; i < tasks.size(); ++i)
      if (microBatches[i] == 0 && i > 6)
        microBatches[i] = 2;
      else if (microBatches[i] == 2)
        microBatches[i] = 0;
    entry.setMicroBatches(microBatches);
  });
  EXPECT_NE(said, "");
}

INSTANTIATE_TEST_SUITE_P(OfMicroBatches, MissingWaits, testing::Values(4, 40));

} // namespace
} // namespace dtc::test
