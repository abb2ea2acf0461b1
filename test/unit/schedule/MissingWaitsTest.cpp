// Transfers on streams of their own: dtc-verify-exec accepts what dtc-overlap-transfers makes, and refuses
// the same program with any of its waits or records gone, or with another number of slots.
#include "passes/schedule/Ordering.h"
#include "passes/schedule/Passes.h"
#include "passes/schedule/RunConflicts.h"
#include "passes/schedule/RunPeriod.h"

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
constexpr const char *kBody = R"(
  %x = exec.buffer "x" activation f32 64 bytes slots 3
  %h = exec.buffer "h" activation f32 64 bytes
  %k = exec.buffer "k" activation f32 64 bytes
  %y = exec.buffer "y" activation f32 64 bytes slots 2
  %dy = exec.buffer "dy" activation f32 64 bytes slots 2
  %dx = exec.buffer "dx" activation f32 64 bytes slots 2
  %g = exec.buffer "g" gradient f32 64 bytes carried
  exec.task @receive_forward per_micro_batch {
    exec.receive %x over <"0 to 1", 2, [0, 1]> shift 1 "x" pipeline {exec.channel = 0 : i64}
  }
  exec.task @forward per_micro_batch {
    exec.copy %x to %h sizes [16] from [1] at <0> into [1] at <0>
    exec.copy %x to %k sizes [16] from [1] at <0> into [1] at <0>
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
    exec.copy %k to %dx sizes [16] from [1] at <0> into [1] at <0>
    exec.gemm %x, %h transposed to %dx sizes [4, 4, 4] strides [4, 4, 4]
  }
  exec.task @send_backward per_micro_batch {
    exec.send %dx over <"1 to 0", 2, [1, 0]> shift 1 "dx" pipeline {exec.channel = 3 : i64}
  }
  exec.task @update {
    exec.zero %g
  }
)";

using Runs = std::vector<std::pair<std::string, int>>;

void addRuns(Runs &runs, const std::string &pass, int microBatch) {
  for (const std::string &task : {"receive_" + pass, pass, "send_" + pass})
    runs.emplace_back(task, microBatch);
}

// Two forwards ahead of backwards.
Runs trainOrder(int microBatches) {
  Runs runs;
  for (int i = 0; i < microBatches + 2; ++i) {
    if (i >= 2)
      addRuns(runs, "backward", i - 2);
    if (i < microBatches)
      addRuns(runs, "forward", i);
  }
  return runs;
}

std::string entryText(const std::string &kind, const Runs &runs, const std::string &end) {
  std::string text = "  exec.entry " + kind + " order [";
  for (const auto &[task, microBatch] : runs)
    text += (&task == &runs.front().first ? "@" : ", @") + task + " " + std::to_string(microBatch);
  return text + end + "]\n";
}

std::string stageText(int microBatches, const Runs &train) {
  Runs evaluate;
  for (int i = 0; i < microBatches; ++i)
    addRuns(evaluate, "forward", i);
  return "exec.program @stage_1 mesh [\"pp\"] sizes [3] ranks [1] micro_batches " +
         std::to_string(microBatches) + " {" + kBody + entryText("train", train, ", @update") +
         entryText("evaluate", evaluate, "") + "}\n";
}

// With a few micro-batches, and with so many that most of them are skipped.
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

// Without its receive a micro-batch waits for nothing, or finds what another one has left in the slot.
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

// The streams wait for each other as they should, but the order brings in the next micro-batch too soon.
TEST_P(MissingWaits, AnOrderThatTakesASlotTooSoonIsFound) {
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

INSTANTIATE_TEST_SUITE_P(OfMicroBatches, MissingWaits, testing::Values(4, 40));

// What checkRuns says of the program, or nothing.
std::string check(exec::ProgramOp program, bool followsAll) {
  std::string said;
  ScopedDiagnosticHandler handler(program->getContext(),
                                  [&](Diagnostic &diagnostic) { said += diagnostic.str(); });
  bool isGood = succeeded(checkRuns(program, RunOrder(program), followsAll));
  EXPECT_EQ(isGood, said.empty());
  return said;
}

// Micro-batches that are skipped are those of which following them says the same: in orders with two runs anywhere in each
// other's place, and with any wait for another slot.
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
  // Memory and waits are those of the right order.
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
  // What only the last run of a task does is looked at in that run, which is not skipped: what it sends may be on its way.
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
  EXPECT_FALSE(findRunPeriod(runs, 1)); // no stretch is over most of them
  EXPECT_FALSE(findRunPeriod({}, 1));
}

} // namespace
} // namespace dtc::test
