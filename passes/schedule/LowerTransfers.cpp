// Exec lowering of transfers between the stages of a pipeline.
#include "dialects/graph/TransferOps.h"
#include "passes/schedule/ExecEmitter.h"
#include "passes/schedule/ExecLoweringInterface.h"
#include "passes/schedule/StageOrder.h"

#include "mlir/IR/MLIRContext.h"

using namespace mlir;
using namespace dtc;

namespace {
// The two ends of a transfer; the ranks of the sending stage come first in their lists.
struct Endpoints {
  exec::RanksAttr over;
  int64_t channel = 0; // a different one for each direction and each other stage
};

FailureOr<int64_t> stageOf(Operation *op, ModuleOp module, int64_t chunk) {
  auto stages = module->getAttrOfType<DenseI64ArrayAttr>(graph::kStageOfChunkAttr);
  if (!stages || chunk >= stages.size())
    return op->emitOpError() << "names chunk " << chunk << ", of which '"
                             << graph::kStageOfChunkAttr << "' says no stage";
  return stages[chunk];
}

FailureOr<Endpoints> endpointsOf(Operation *op, int64_t from, int64_t to, bool sends,
                                 ExecEmitter &emitter) {
  ModuleOp module = emitter.getModule();
  FailureOr<StageRanks> ranks = StageRanks::read(module, op);
  FailureOr<int64_t> sender = stageOf(op, module, from), receiver = stageOf(op, module, to);
  if (failed(ranks) || failed(sender) || failed(receiver))
    return failure();
  auto stage = module->getAttrOfType<IntegerAttr>(graph::kStageAttr);
  if (!stage || stage.getInt() != (sends ? *sender : *receiver) || *sender == *receiver)
    return op->emitOpError() << "goes from stage " << *sender << " to " << *receiver
                             << ", but stands in the module of "
                             << (stage ? "stage " + std::to_string(stage.getInt()) : "none");
  int64_t peer = sends ? *receiver : *sender;
  std::string name = "chunk " + std::to_string(from) + " to " + std::to_string(to);
  return Endpoints{ranks->listsOf(name, {*sender, *receiver}),
                   (peer * 2 + (from > to)) * 2 + sends};
}

// Sets the channel, for which dtc-overlap-transfers creates a stream.
void setChannel(Operation *transfer, int64_t channel) {
  transfer->setAttr("exec.channel", Builder(transfer->getContext()).getI64IntegerAttr(channel));
}

struct LowerSend : ExecLoweringInterface::ExternalModel<LowerSend, graph::SendOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto send = cast<graph::SendOp>(op);
    FailureOr<Endpoints> endpoints =
        endpointsOf(op, send.getFrom(), send.getTo(), /*sends=*/true, emitter);
    if (failed(endpoints))
      return failure();
    setChannel(exec::SendOp::create(emitter.instructions(), emitter.lookup(send.getValue()),
                                    endpoints->over, /*shift=*/1, send.getName(),
                                    exec::CollectiveRole::Pipeline),
               endpoints->channel);
    return success();
  }
};

struct LowerReceive : ExecLoweringInterface::ExternalModel<LowerReceive, graph::ReceiveOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto receive = cast<graph::ReceiveOp>(op);
    FailureOr<Endpoints> endpoints =
        endpointsOf(op, receive.getFrom(), receive.getTo(), /*sends=*/false, emitter);
    if (failed(endpoints))
      return failure();
    setChannel(exec::ReceiveOp::create(emitter.instructions(), emitter.define(receive.getValue()),
                                       endpoints->over, /*shift=*/1, receive.getName(),
                                       exec::CollectiveRole::Pipeline),
               endpoints->channel);
    return success();
  }
};

struct LowerStageReduce
    : ExecLoweringInterface::ExternalModel<LowerStageReduce, graph::StageReduceOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto reduce = cast<graph::StageReduceOp>(op);
    FailureOr<StageRanks> ranks = StageRanks::read(emitter.getModule(), op);
    if (failed(ranks))
      return failure();
    if (reduce.getStages().back() >= ranks->getNumStages())
      return op->emitOpError() << "is over stage " << reduce.getStages().back() << "; the mesh has "
                               << ranks->getNumStages();
    std::string name = "stages";
    for (int64_t stage : reduce.getStages())
      name += " " + std::to_string(stage);
    auto type = cast<RankedTensorType>(reduce.getValue().getType());
    Value src = emitter.lookup(reduce.getValue());
    exec::CollectiveOp::create(emitter.instructions(), exec::CollectiveKind::AllReduce,
                               reduce.getReduce() == graph::ReduceKind::Max ? exec::ReduceKind::Max
                                                                            : exec::ReduceKind::Sum,
                               src, emitter.define(reduce.getResult()), ArrayRef<int64_t>(),
                               type.getNumElements(), exec::getName(src),
                               *exec::symbolizeCollectiveRole(graph::stringifyCollectiveRole(
                                   reduce.getCommunication().getRole())),
                               reduce.getCommunication().getAsync(),
                               ranks->listsOf(name, reduce.getStages()));
    return success();
  }
};
} // namespace

void dtc::registerTransferLowering(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, graph::GraphDialect *) {
    graph::SendOp::attachInterface<LowerSend>(*context);
    graph::ReceiveOp::attachInterface<LowerReceive>(*context);
    graph::StageReduceOp::attachInterface<LowerStageReduce>(*context);
  });
}
