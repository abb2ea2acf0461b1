// Tests where micro-batches repeat themselves, and that skipping them gives the same result as
// following them.
#include "passes/schedule/RunPeriod.h"
#include "passes/schedule/Passes.h"
#include "passes/schedule/RunConflicts.h"
#include "test/unit/schedule/MiddleStage.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace dtc::test {
namespace {

// Returns the message of checkRuns about the program, or nothing.
std::string check(exec::ProgramOp program, bool followsAll) {
  std::string said;
  ScopedDiagnosticHandler handler(program->getContext(),
                                  [&](Diagnostic &diagnostic) { said += diagnostic.str(); });
  bool isGood = succeeded(checkRuns(program, RunOrder(program), followsAll));
  EXPECT_EQ(isGood, said.empty());
  return said;
}

// Skipping micro-batches gives the same result as following them: in orders in which any two runs
// are exchanged, and with any wait for another slot.
TEST(SkippedRuns, SayWhatFollowingThemSays) {
  constexpr int microBatches = 30;
  MLIRContext context;
  context.loadDialect<exec::ExecDialect, graph::GraphDialect>();
  auto build = [&](const Runs &runs) {
    auto module =
        parseSourceString<ModuleOp>(stageText(microBatches, runs), ParserConfig(&context));
    PassManager passes(&context);
    passes.nest<exec::ProgramOp>().addPass(createOverlapTransfers());
    passes.nest<exec::ProgramOp>().addPass(createPlanMemory());
    EXPECT_TRUE(module && succeeded(passes.run(*module)));
    return module;
  };
  auto programOf = [](ModuleOp module) { return *module.getOps<exec::ProgramOp>().begin(); };
  const Runs order = trainOrder(microBatches);
  OwningOpRef<ModuleOp> good = build(order);
  std::optional<RunPeriod> period =
      findRunPeriod(RunOrder(programOf(*good)).getEntries().front(), /*multiple=*/6);
  ASSERT_TRUE(period);
  EXPECT_EQ(period->shift, 6);
  EXPECT_EQ(period->length, 36u);
  EXPECT_GT(period->end - period->begin, order.size() * 3 / 4);
  int wrong = 0, tried = 0;
  auto compare = [&](ModuleOp module) {
    std::string all = check(programOf(module), /*followsAll=*/true);
    EXPECT_EQ(check(programOf(module), /*followsAll=*/false), all);
    wrong += !all.empty();
    ++tried;
  };
  compare(*good);
  EXPECT_EQ(wrong, 0);
  // Memory and waits are those of the correct order.
  for (size_t at = 0; at + 1 < order.size(); ++at)
    for (size_t with : {at + 1, at + 3, at + 40}) {
      if (with >= order.size())
        continue;
      OwningOpRef<ModuleOp> copy(good->clone());
      exec::EntryOp entry = *programOf(*copy).getBody().getOps<exec::EntryOp>().begin();
      SmallVector<Attribute> tasks(entry.getTasks().getValue());
      SmallVector<int64_t> of(entry.getMicroBatches());
      std::swap(tasks[at], tasks[with]);
      std::swap(of[at], of[with]);
      entry.setTasksAttr(ArrayAttr::get(&context, tasks));
      entry.setMicroBatches(of);
      compare(*copy);
    }
  std::vector<exec::WaitOp> waits;
  good->walk([&](exec::WaitOp wait) { waits.push_back(wait); });
  for (size_t i = 0; i < waits.size(); ++i)
    for (int64_t slots : {1, 2, 3, 5}) {
      OwningOpRef<ModuleOp> copy(good->clone());
      size_t index = 0;
      copy->walk([&](exec::WaitOp wait) {
        if (index++ == i)
          wait.setSlots(slots);
      });
      compare(*copy);
    }
  EXPECT_GT(wrong, tried / 10);
  EXPECT_LT(wrong, tried * 9 / 10);
  // Instructions of a task's last run only are checked in that run, which is not skipped: its sends
  // may be in progress.
  OwningOpRef<ModuleOp> copy(good->clone());
  exec::ZeroOp zero;
  Value sent;
  exec::TaskOp backward;
  copy->walk([&](exec::ZeroOp op) { zero = op; });
  copy->walk([&](exec::BufferOp op) { sent = op.getName() == "y" ? op.getResult() : sent; });
  copy->walk([&](exec::TaskOp op) { backward = op.getSymName() == "backward" ? op : backward; });
  auto last = cast<exec::ZeroOp>(zero->clone());
  backward.getBody().front().push_back(last);
  last->setOperand(0, sent);
  last.setLast(true);
  wrong = 0;
  compare(*copy);
  EXPECT_EQ(wrong, 1);
}

TEST(RunPeriod, IsOfTheMiddle) {
  MLIRContext context;
  context.loadDialect<exec::ExecDialect, graph::GraphDialect>();
  auto module = parseSourceString<ModuleOp>(R"(
exec.program @p mesh ["pp"] sizes [1] micro_batches 20 {
  exec.task @a per_micro_batch {
  }
  exec.task @b per_micro_batch {
  }
})",
                                            ParserConfig(&context));
  auto tasks = llvm::to_vector(
      (*module->getOps<exec::ProgramOp>().begin()).getBody().getOps<exec::TaskOp>());
  std::vector<RunOrder::Run> runs{{tasks[0], 0}};
  for (int i = 1; i < 20; ++i) {
    runs.push_back({tasks[0], i});
    runs.push_back({tasks[1], i - 1});
  }
  runs.push_back({tasks[1], 19}); // a0 a1 b0 a2 b1 ... a19 b18 b19
  for (int64_t multiple : {1, 2, 3}) {
    std::optional<RunPeriod> period = findRunPeriod(runs, multiple);
    ASSERT_TRUE(period) << multiple;
    EXPECT_EQ(period->shift, multiple);
    EXPECT_EQ(period->length, static_cast<size_t>(2 * multiple));
    EXPECT_EQ(period->begin, 3u); // behind b0, which is a first run
    EXPECT_EQ(period->end, 37u);  // before a19
  }
  EXPECT_FALSE(findRunPeriod(runs, 32));
  std::swap(runs[19], runs[20]);
  EXPECT_FALSE(findRunPeriod(runs, 1)); // no stretch covers most of them
  EXPECT_FALSE(findRunPeriod({}, 1));
}

} // namespace
} // namespace dtc::test
