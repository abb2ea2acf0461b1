// Computes the loss of a micro-batch in chunks of its tokens (pass dtc-chunk-loss).
#include "dialects/graph/LossChunks.h"
#include "passes/shard/Passes.h"
#include "passes/shard/TokenChunks.h"
#include "passes/shard/WideOps.h"

namespace dtc {
#define GEN_PASS_DEF_CHUNKLOSS
#include "passes/shard/Passes.h.inc"

using namespace mlir;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

struct ChunkLoss : impl::ChunkLossBase<ChunkLoss> {
  void runOnOperation() override {
    auto attr = getOperation()->getAttrOfType<IntegerAttr>(graph::kLossChunksAttr);
    if (!attr || attr.getInt() == 1)
      return;
    auto microbatch = getOperation().lookupSymbol<graph::FuncOp>(graph::kMicrobatchFunction);
    if (!microbatch) {
      getOperation().emitError("dtc-chunk-loss needs '@microbatch'; run dtc-partition first");
      return signalPassFailure();
    }
    Value logits = nextLogits(microbatch);
    if (!logits) {
      microbatch.emitError("the model has no cross entropy whose tokens can be cut into chunks; "
                           "plan with --fix loss_chunks=1");
      return signalPassFailure();
    }
    for (; logits; logits = nextLogits(microbatch))
      if (failed(chunk(logits, attr.getInt())))
        return signalPassFailure();
  }

  // Returns the logits of the first cross entropy that is not in chunks yet; null if there is none.
  static Value nextLogits(graph::FuncOp microbatch) {
    for (Operation &op : microbatch.getBody().front()) {
      auto interface = dyn_cast<graph::RuleOpInterface>(op);
      if (!interface || op.hasAttr(graph::kLossChunkAttr))
        continue;
      graph::OpRule rule = interface.getRule();
      if (rule.kind == graph::OpKind::Loss && !rule.isGradient)
        return op.getOperand(0);
    }
    return {};
  }

  LogicalResult chunk(Value logits, int64_t chunks) {
    WideOps around(logits);
    TokenChunks cut(around.ops);
    std::string why;
    // Chunks of samples lie one after another in memory, those of a sequence only for one sample.
    for (int64_t dim = 0; dim + 1 < typeOf(logits).getRank(); ++dim) {
      std::string reason = cut.follow(logits, dim, chunks);
      if (reason.empty()) {
        cut.replace(graph::kLossChunkAttr);
        numOps += static_cast<unsigned>(around.ops.size());
        return success();
      }
      why += (why.empty() ? "" : ", ") + reason;
    }
    return emitError(logits.getLoc())
           << "the loss of a micro-batch can't be cut into " << chunks << " chunks: " << why
           << "; plan with another loss_chunks, 1 for none";
  }
};

} // namespace
} // namespace dtc
