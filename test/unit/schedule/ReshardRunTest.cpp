// Schedules the ops that reshard emits, writes them as an executable and runs it on loopback ranks:
// for any two placements of a stored tensor, every rank must end with its part by the second one.
// Both sides start from the runtime's own initial values, which find a tensor's parts by `shards`
// of the file.
#include "compiler/build/emit/Emit.h"
#include "passes/schedule/Passes.h"
#include "passes/shard/Reshard.h"
#include "runtime/base/Fill.h"
#include "runtime/exec/Binding.h"
#include "test/unit/exec/RankRunner.h"
#include "test/unit/shard/Ranks.h"

#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace dtc::test {
namespace {

class ReshardRun : public testing::Test {
protected:
  ReshardRun() { context.loadDialect<graph::GraphDialect, shard::ShardDialect>(); }

  graph::ParameterOp parameter(OpBuilder &builder, StringRef name, RankedTensorType type,
                               const Placement &placement) {
    OperationState state(builder.getUnknownLoc(), graph::ParameterOp::getOperationName());
    state.addAttribute("sym_name", builder.getStringAttr(name));
    state.addAttribute("type", TypeAttr::get(type));
    state.addAttribute("init", graph::InitKindAttr::get(&context, graph::InitKind::Normal));
    state.addAttribute("stddev", builder.getF64FloatAttr(1));
    state.addAttribute("placement", toAttr(&context, placement));
    return cast<graph::ParameterOp>(builder.create(state));
  }

  // Returns a step that sets @y, placed `to`, to @x, placed `from`.
  std::vector<uint8_t> compile(const Move &move) {
    OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
    writeMesh(*module, move.mesh);
    Location loc = module->getLoc();
    OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
    auto global = RankedTensorType::get(move.shape, builder.getF32Type());
    parameter(builder, "x", global, move.from);
    parameter(builder, "y", global, move.to);
    for (StringRef name : {"microbatch", "update"}) {
      auto function = graph::FuncOp::create(builder, loc, name, builder.getFunctionType({}, {}));
      if (function.getBody().empty())
        function.getBody().emplaceBlock();
      OpBuilder body = OpBuilder::atBlockEnd(&function.getBody().front());
      if (name == "microbatch") {
        Value x = graph::GetOp::create(body, loc, localType(global, move.from, move.mesh),
                                       FlatSymbolRefAttr::get(&context, "x"));
        auto communication = graph::CommunicationAttr::get(
            &context, graph::CollectiveRole::Activation, /*async=*/false, /*use=*/0);
        Value y = reshard(body, loc, x, global, move.from, move.to, move.mesh, communication);
        graph::SetOp::create(body, loc, FlatSymbolRefAttr::get(&context, "y"), y);
      }
      graph::ReturnOp::create(body, loc, ValueRange());
    }
    PassManager passes(&context);
    buildSchedulePipeline(passes, {});
    EXPECT_TRUE(succeeded(passes.run(*module)));
    EmitInfo info;
    info.modelName = "reshard";
    auto programs = module->getOps<exec::ProgramOp>();
    Result<std::vector<uint8_t>> file = emitExecutable(*programs.begin(), {}, info);
    EXPECT_TRUE(file.ok()) << (file ? "" : file.error().text());
    return file ? *file : std::vector<uint8_t>();
  }

  void check(const Move &move) {
    std::vector<uint8_t> file = compile(move);
    ASSERT_FALSE(file.empty());
    std::vector<uint32_t> mesh(move.mesh.sizes.begin(), move.mesh.sizes.end());
    runRanks(static_cast<int>(move.mesh.numRanks()), file,
             [&](int rank, rt::Executor &executor, rt::Device &device) {
               auto initial = [&](const format::Tensor &tensor) {
                 rt::TensorSpec spec = rt::tensorSpec(tensor);
                 spec.initKey = 1; // the same values in both
                 std::vector<float> local(rt::elementCount(spec.localShape));
                 rt::Status status =
                     rt::initialiseTensor(spec, 7, mesh, executor.coordinates(), local);
                 EXPECT_TRUE(status.ok()) << status.message();
                 return local;
               };
               const format::Tensor &x = *executor.program().parameters()->Get(0);
               const format::Tensor &y = *executor.program().parameters()->Get(1);
               put(executor, device, x.buffer(), initial(x));
               step(executor);
               EXPECT_EQ(get(executor, device, y.buffer()), initial(y)) << "rank " << rank;
             });
  }

  MLIRContext context;
};

TEST_F(ReshardRun, MovesTensorsOnRanks) {
  int moves = 0;
  for (unsigned seed = 0; moves < 60; ++seed) {
    Move move = drawMove(seed);
    // A stored tensor is not a partial sum. A few ranks are enough, and one is not.
    for (Placement *placement : {&move.from, &move.to})
      for (AxisPlacement &axis : *placement)
        if (axis.isPartial())
          axis = AxisPlacement::replicate();
    if (move.from == move.to || move.mesh.numRanks() < 2 || move.mesh.numRanks() > 8)
      continue;
    ++moves;
    SCOPED_TRACE(describe(move.shape, move.from, move.to, move.mesh));
    check(move);
    if (HasFailure())
      return;
  }
}

} // namespace
} // namespace dtc::test
