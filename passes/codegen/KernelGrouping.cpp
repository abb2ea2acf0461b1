// Decides which ops of a block share a kernel.
#include "passes/codegen/KernelGrouping.h"

#include "dialects/graph/Chunks.h"
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/HostMemory.h"
#include "dialects/graph/LossChunks.h"
#include "dialects/graph/RecomputeOps.h"
#include "dialects/graph/ShapeOps.h"
#include "passes/codegen/FusionGraph.h"
#include "passes/codegen/KernelBuilder.h"
#include "passes/codegen/UnfinishedSums.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace dtc;

namespace {

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

bool isConstant(Operation *op) { return op->hasTrait<OpTrait::ConstantLike>(); }

// True if the op makes a value that is sent for reduction as a gradient, or moves it there.
bool isSentAsGradient(Operation *op) {
  return llvm::any_of(op->getUsers(), [](Operation *user) {
    auto communication = user->getAttrOfType<graph::CommunicationAttr>(graph::kCommunicationAttr);
    return communication
               ? communication.getRole() == graph::CollectiveRole::Gradient
               : isa<graph::PadOp, graph::SliceOp, graph::ConcatOp>(user) && isSentAsGradient(user);
  });
}

// True for a rounding that a gradient reduction reads: it runs together with the reduction, beside
// the backward pass.
bool staysAlone(Operation *op) { return isa<graph::CastOp>(op) && isSentAsGradient(op); }

class Grouping {
public:
  Grouping(Block &block, ArrayRef<graph::OpSet> apart, const GroupingLimits &limits)
      : limits(limits), apart(apart), ops(collect(block)), unfinished(findUnfinished(block)),
        graph(ops.size()) {}

  std::vector<KernelGroup> run() {
    addEdges();
    findRunAgain();
    joinProducers();
    joinSiblings();
    joinScalars();
    std::vector<KernelGroup> groups;
    for (const std::vector<unsigned> &members : graph.order()) {
      KernelGroup group;
      for (unsigned node : members)
        group.ops.push_back(ops[node]);
      group.isKernel = isKernelOp(group.ops.front());
      groups.push_back(std::move(group));
    }
    return groups;
  }

private:
  static std::vector<Operation *> collect(Block &block) {
    std::vector<Operation *> ops;
    for (Operation &op : block.without_terminator())
      ops.push_back(&op);
    return ops;
  }

  void addEdges() {
    for (auto [node, op] : llvm::enumerate(ops))
      index[op] = node;
    Operation *lastEffect = nullptr;
    for (Operation *op : ops) {
      for (Value operand : op->getOperands())
        if (Operation *maker = operand.getDefiningOp(); maker && index.contains(maker))
          graph.addEdge(index[maker], index[op]);
      if (isMemoryEffectFree(op))
        continue;
      if (lastEffect)
        graph.addEdge(index[lastEffect], index[op]);
      lastEffect = op;
    }
  }

  void findRunAgain() {
    auto func = dyn_cast<graph::FuncOp>(ops.empty() ? nullptr : ops.front()->getParentOp());
    if (!func)
      return;
    ofLoss = graph::getProducers(graph::getResultsWith(func, graph::kAccumulatedAttr));
    for (Operation *op : ops)
      if (isa<graph::AgainOp>(op) || llvm::any_of(op->getOperands(), [&](Value operand) {
            return runAgain.contains(operand.getDefiningOp());
          }))
        runAgain.insert(op);
  }

  // True if two pointwise ops have the same iteration space; constants fit any.
  bool sameSpace(Operation *a, Operation *b) const {
    if (!isPointwise(a) || !isPointwise(b))
      return false;
    if (isConstant(a) || isConstant(b))
      return true;
    return shapeOf(a->getResult(0)) == shapeOf(b->getResult(0));
  }
  static bool isPointwise(Operation *op) { return isa<graph::PointwiseOpInterface>(op); }

  // Returns an op that has the group's iteration space: any op that is not a constant.
  Operation *spaceOf(unsigned node) const {
    for (unsigned member : graph.members(node))
      if (!isConstant(ops[member]))
        return ops[member];
    return ops[node];
  }

  // Counts the tensors of the whole space that the two groups together read and return.
  unsigned countStreams(unsigned a, unsigned b) const {
    Operation *spaceOp = isConstant(spaceOf(a)) ? spaceOf(b) : spaceOf(a);
    ArrayRef<int64_t> space = shapeOf(spaceOp->getResult(0));
    llvm::SmallDenseSet<Value> streams;
    auto isInside = [&](Operation *op) {
      auto found = index.find(op);
      return found != index.end() &&
             (graph.sameGroup(found->second, a) || graph.sameGroup(found->second, b));
    };
    auto visit = [&](unsigned group) {
      for (unsigned member : graph.members(group)) {
        for (Value operand : ops[member]->getOperands())
          if ((!operand.getDefiningOp() || !isInside(operand.getDefiningOp())) &&
              shapeOf(operand) == space)
            streams.insert(operand);
        for (Value result : ops[member]->getResults())
          if (!llvm::all_of(result.getUsers(), isInside))
            streams.insert(result);
      }
    };
    visit(a);
    visit(b);
    return streams.size();
  }

  // Returns the index of the first set apart that has the group, or their number.
  size_t setOf(unsigned node) const {
    auto *found =
        llvm::find_if(apart, [&](const graph::OpSet &set) { return set.contains(spaceOf(node)); });
    return static_cast<size_t>(found - apart.begin());
  }

  // True if the groups may run together: both belong to the same chunk and phase of a pipeline, to
  // the same chunk of the loss, and to the same side, host or device. A recomputed op must not join
  // a group that the loss depends on, or it would run in the forward pass, with all that it depends
  // on.
  bool runTogether(unsigned a, unsigned b) const {
    auto anyIn = [&](const graph::OpSet &set) {
      auto isIn = [&](unsigned member) { return set.contains(ops[member]); };
      return llvm::any_of(graph.members(a), isIn) || llvm::any_of(graph.members(b), isIn);
    };
    // Chunks of the loss that met in a kernel would all keep what it reads.
    Operation *first = spaceOf(a), *second = spaceOf(b);
    if (!isConstant(first) && !isConstant(second) &&
        first->getAttr(graph::kLossChunkAttr) != second->getAttr(graph::kLossChunkAttr))
      return false;
    return graph::getChunkLabel(ops[a]) == graph::getChunkLabel(ops[b]) &&
           ops[a]->hasAttr(graph::kHostAttr) == ops[b]->hasAttr(graph::kHostAttr) &&
           !(anyIn(runAgain) && anyIn(ofLoss));
  }

  // True if all results that other groups read are partial sums over the same axes, or all are
  // whole. A reader of a kernel's results knows only what the kernel reads and which results are
  // partial, not which depends on which.
  bool finishEqually(unsigned a, unsigned b) const {
    std::optional<int64_t> all;
    for (unsigned group : {a, b})
      for (unsigned member : graph.members(group))
        for (Value result : ops[member]->getResults()) {
          bool isRead = llvm::any_of(result.getUsers(), [&](Operation *user) {
            auto found = index.find(user);
            return found == index.end() ||
                   (!graph.sameGroup(found->second, a) && !graph.sameGroup(found->second, b));
          });
          if (isRead && all.value_or(unfinished.lookup(result)) != unfinished.lookup(result))
            return false;
          if (isRead)
            all = unfinished.lookup(result);
        }
    return true;
  }

  bool tryJoin(unsigned a, unsigned b) {
    if (graph.sameGroup(a, b))
      return true;
    if (!sameSpace(spaceOf(a), spaceOf(b)) || setOf(a) != setOf(b) || !runTogether(a, b) ||
        staysAlone(spaceOf(a)) || staysAlone(spaceOf(b)))
      return false;
    bool isScalar = shapeOf(spaceOf(a)->getResult(0)).empty();
    // Ignores scalars, which cost only their load.
    size_t numOps = graph.members(a).size() + graph.members(b).size();
    if (numOps > (isScalar ? limits.maxScalarOps : limits.maxOps) ||
        (!isScalar && countStreams(a, b) > limits.maxStreams))
      return false;
    return (unfinished.empty() || finishEqually(a, b)) && graph.merge(a, b);
  }

  // Joins pointwise ops to the makers of their operands. Saves a write and a read of the value
  // between them.
  void joinProducers() {
    for (Operation *op : ops)
      for (Value operand : op->getOperands())
        if (Operation *maker = operand.getDefiningOp(); maker && index.contains(maker))
          tryJoin(index[maker], index[op]);
  }

  // Joins pointwise ops that read the same tensor, to read it once. Only joins near ops: a tensor
  // that a kernel reads early has to stay in memory until then.
  void joinSiblings() {
    for (Operation *op : ops) {
      if (!isPointwise(op))
        continue;
      for (Value operand : op->getOperands()) {
        if (shapeOf(operand).empty())
          continue;
        for (Operation *other : operand.getUsers())
          if (auto found = index.find(other);
              found != index.end() && isNear(index[op], found->second) &&
              readsInFull(op, operand) && readsInFull(other, operand))
            tryJoin(index[op], found->second);
      }
    }
  }
  bool isNear(unsigned a, unsigned b) const {
    return std::max(a, b) - std::min(a, b) <= limits.siblingDistance;
  }
  static bool readsInFull(Operation *op, Value operand) {
    return isPointwise(op) && shapeOf(operand) == shapeOf(op->getResult(0));
  }

  // Joins kernels of scalars, which cost their launch alone. A scalar in a kernel of tensors, such
  // as a constant, does not make it a kernel of scalars.
  void joinScalars() {
    std::optional<unsigned> last;
    for (auto [node, op] : llvm::enumerate(ops)) {
      Operation *space = spaceOf(node);
      if (!isPointwise(op) || isConstant(space) || !shapeOf(space->getResult(0)).empty())
        continue;
      if (last)
        tryJoin(*last, node);
      last = node;
    }
  }

  GroupingLimits limits;
  ArrayRef<graph::OpSet> apart;
  std::vector<Operation *> ops;
  llvm::DenseMap<Value, int64_t> unfinished; // the result of findUnfinished
  graph::OpSet ofLoss, runAgain;
  FusionGraph graph;
  llvm::DenseMap<Operation *, unsigned> index;
};

} // namespace

bool dtc::isKernelOp(Operation *op) {
  return isa<graph::PointwiseOpInterface, KernelOpInterface>(op);
}

void dtc::splitConstants(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    llvm::SmallSetVector<Operation *, 4> users(op.user_begin(), op.user_end());
    if (!isConstant(&op) || !isKernelOp(&op) || users.size() == 1)
      continue;
    for (Operation *user : users) {
      Operation *copy = OpBuilder(user).clone(op);
      op.getResult(0).replaceUsesWithIf(copy->getResult(0),
                                        [&](OpOperand &use) { return use.getOwner() == user; });
    }
    if (op.use_empty())
      op.erase();
  }
}

std::vector<KernelGroup> dtc::groupKernels(Block &block, ArrayRef<graph::OpSet> apart,
                                           const GroupingLimits &limits) {
  return Grouping(block, apart, limits).run();
}
