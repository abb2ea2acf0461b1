// Assigns the ops of a micro-batch to the chunks of a pipeline.
#include "dialects/graph/Chunks.h"

#include "dialects/graph/Slices.h"
#include "dialects/graph/TransferOps.h"

#include <map>

using namespace mlir;
using namespace dtc::graph;

std::optional<int64_t> dtc::graph::getChunk(Operation *op) {
  auto chunk = op->getAttrOfType<IntegerAttr>(kChunkAttr);
  return chunk ? std::optional(chunk.getInt()) : std::nullopt;
}

void dtc::graph::setChunk(Operation *op, int64_t chunk) {
  op->setAttr(kChunkAttr, Builder(op->getContext()).getI64IntegerAttr(chunk));
}

std::optional<ChunkLabel> dtc::graph::getChunkLabel(Operation *op) {
  std::optional<int64_t> chunk = getChunk(op);
  auto phase = op->getAttrOfType<StringAttr>(kPhaseAttr);
  if (!chunk || !phase)
    return std::nullopt;
  return ChunkLabel{*chunk, phase == "backward"};
}

void dtc::graph::setChunkLabel(Operation *op, ChunkLabel label) {
  setChunk(op, label.chunk);
  op->setAttr(kPhaseAttr,
              StringAttr::get(op->getContext(), label.isBackward ? "backward" : "forward"));
}

void dtc::graph::eraseChunkLabel(Operation *op) {
  op->removeAttr(kChunkAttr);
  op->removeAttr(kPhaseAttr);
}

namespace {

// True for ops without operands, which may be copied for each use.
bool isSource(Operation *op) { return op->getNumOperands() == 0 && !isa<ReceiveOp>(op); }

class ChunkCompleter {
public:
  explicit ChunkCompleter(FuncOp func) : body(func.getBody().front()) {
    SmallVector<Value> ends = getForwardEnds(func);
    for (auto send : body.getOps<SendOp>())
      if (std::optional<ChunkLabel> label = getChunkLabel(send); label && !label->isBackward)
        ends.push_back(send.getValue());
    forward = getProducers(ends);
    // Removes labels of ops without operands: merging passes may have moved them to other chunks.
    for (Operation &op : body.without_terminator())
      if (isSource(&op))
        eraseChunkLabel(&op);
  }

  void run() {
    for (Operation &op : body.without_terminator())
      follow(op);
    if (last < 0)
      return;
    SmallVector<Operation *> free;
    for (Operation &op : body.without_terminator())
      if (!getChunkLabel(&op))
        free.push_back(&op);
    for (Operation *op : llvm::reverse(free)) // users before their operands
      copyForUsers(*op);
  }

private:
  // Labels an op that has a labelled operand.
  void follow(Operation &op) {
    if (getChunkLabel(&op)) {
      last = std::max(last, *getChunk(&op));
      return;
    }
    bool isBackward = !forward.contains(&op);
    std::optional<int64_t> chunk = getChunk(&op);
    for (Value operand : op.getOperands()) {
      Operation *maker = operand.getDefiningOp();
      std::optional<int64_t> from = maker ? getChunk(maker) : std::nullopt;
      if (from && !getChunk(&op))
        chunk = !chunk ? *from : isBackward ? std::min(*chunk, *from) : std::max(*chunk, *from);
    }
    if (!chunk)
      return;
    setChunkLabel(&op, {*chunk, isBackward});
    last = std::max(last, *chunk);
  }

  // Returns the label of a use. Values that are returned outside of any chunk are made with the
  // loss.
  ChunkLabel labelOf(Operation *user, Operation &op) const {
    std::optional<ChunkLabel> label = getChunkLabel(user);
    return label.value_or(ChunkLabel{last, !forward.contains(&op)});
  }

  void copyForUsers(Operation &op) {
    std::map<int64_t, bool> isBackward; // keyed by chunk: no user in it is forward
    for (Operation *user : op.getUsers()) {
      ChunkLabel label = labelOf(user, op);
      auto [entry, isNew] = isBackward.try_emplace(label.chunk, label.isBackward);
      entry->second &= label.isBackward;
    }
    std::map<ChunkLabel, Operation *> copies;
    OpBuilder builder(&op);
    for (OpOperand &use : llvm::make_early_inc_range(op.getUses())) {
      ChunkLabel label = labelOf(use.getOwner(), op);
      if (!isSource(&op))
        label.isBackward = isBackward[label.chunk];
      Operation *&copy = copies[label];
      if (!copy) {
        copy = builder.clone(op);
        setChunkLabel(copy, label);
      }
      use.set(copy->getResult(cast<OpResult>(use.get()).getResultNumber()));
    }
    op.erase();
  }

  Block &body;
  OpSet forward;
  int64_t last = -1; // the last chunk
};

} // namespace

void dtc::graph::completeChunks(FuncOp microbatch) { ChunkCompleter(microbatch).run(); }
