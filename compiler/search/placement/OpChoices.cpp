// The splits that an op may have.
#include "compiler/search/placement/OpChoices.h"

#include "compiler/search/placement/AxisGroups.h"
#include "dialects/graph/EightBitOps.h"
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/ExchangeOps.h"
#include "dialects/graph/RoundAttribute.h"
#include "dialects/graph/Slices.h"

using namespace mlir;

namespace dtc {

OpChoices::OpChoices(const PlacementProblem &problem, const DimRoles &roles, const HeadOps &heads,
                     const TextbookPattern &textbook)
    : mesh(problem.mesh), pattern(problem.pattern), splitsWeights(problem.splitsWeights()),
      foldsExperts(problem.foldsExperts), planned(problem.planned),
      tensorAxes(mesh.axesOf(AxisRole::Tensor)), roles(roles), heads(heads), textbook(textbook) {
  if (isPlanned())
    for (const auto &[function, ops] : planned->functions)
      for (const OpSplits::Op &op : ops)
        plannedOps[function][op.name].choices.push_back(op.choices);
}

bool OpChoices::isPlanned() const { return planned && ranksOf(tensorAxes, mesh) > 1; }

LogicalResult OpChoices::checkAllPlanned(graph::FuncOp func) const {
  if (!isPlanned())
    return success();
  auto it = plannedOps.find(func.getSymName().str());
  if (it == plannedOps.end())
    return success();
  for (const auto &[name, ops] : it->second)
    if (ops.asked < ops.choices.size())
      return func.emitOpError("has ")
             << ops.asked << " ops '" << name << "', the plan's op_splits have "
             << ops.choices.size() << "; plan this model again with 'dtc plan'";
  return success();
}

static bool addsGradients(Operation *op) {
  auto func = cast<graph::FuncOp>(op->getParentOp());
  return isa<graph::AddOp>(op) && func.getSymName() == graph::kMicrobatchFunction &&
         !graph::getProducers(graph::getResultsWith(func, graph::kAccumulatedAttr)).contains(op);
}

static bool isExchanging(Operation *op) {
  return isa<graph::ExchangeOp, graph::RoundRowsOp, graph::RoundCountsOp, graph::PlaceBlocksOp,
             graph::SortRowsOp, graph::UnsortRowsOp>(op) ||
         op->hasAttr(graph::kLaterRoundAttr);
}

bool isInPlans(Operation *op, const graph::OpRule &rule) {
  return !rule.loops.empty() &&
         !isa<graph::CastOp, graph::ScaleOp, graph::AmaxOp, graph::QuantiseOp,
              graph::QuantiseGradientOp>(op) &&
         !isExchanging(op) && !addsGradients(op);
}

// On an axis where every value has one placement.
int OpChoices::follow(unsigned axis, Operation *op, const graph::OpRule &rule,
                      PlacementOn placementOn) const {
  return followOperands(op, rule, {mesh.sizes[axis]}, {},
                        [&](Value operand) { return placementOn(operand, axis); });
}

// Sums over parts of a sequence are finished as parts of it: gradients of keys and values.
int OpChoices::followSequence(unsigned axis, Operation *op, const graph::OpRule &rule,
                              PlacementOn placementOn) const {
  int choice = follow(axis, op, rule, placementOn);
  SmallVector<uint8_t, 8> bits = roles.ofLoops(op, rule);
  bool hasSamples = llvm::any_of(bits, [](uint8_t loop) { return (loop & ScalesWithBatch) != 0; });
  if (choice >= 0 || !hasSamples)
    return choice;
  for (auto [loop, role] : llvm::enumerate(bits))
    if (role == ScalesWithSequence && canSplitLoop(rule, static_cast<int>(loop), mesh.sizes[axis]))
      return static_cast<int>(loop);
  return choice;
}

std::vector<OpSplit> OpChoices::choicesOn(ArrayRef<unsigned> axes, Operation *op,
                                          const graph::OpRule &rule,
                                          PlacementOn placementOn) const {
  int64_t ranks = ranksOf(axes, mesh);
  std::vector<OpSplit> splits;
  auto add = [&](int choice) {
    splits.emplace_back(mesh.numAxes(), split::kNone);
    for (unsigned axis : axes)
      splits.back()[axis] = choice;
  };
  bool isTensor = llvm::equal(axes, tensorAxes);
  bool isFolded = this->isFolded(axes, op, rule);
  if (mesh.roles[axes.front()] == AxisRole::Pipeline) { // ranks have other layers, all of each
    add(split::kNone);
    return splits;
  }
  bool isExpert = mesh.roles[axes.front()] == AxisRole::Expert,
       isContext = mesh.roles[axes.front()] == AxisRole::Context;
  auto exchange = dyn_cast<graph::ExchangeOp>(op);
  if (ranks > 1 && (isExpert || isContext) && exchange) {
    add(static_cast<int>(exchange.getTo())); // its loops are the dims
    return splits;
  }
  if (ranks > 1 && isContext) {
    add(followSequence(axes.front(), op, rule, placementOn));
    return splits;
  }
  if (ranks == 1 || isExpert || mesh.roles[axes.front()] == AxisRole::Data) {
    add(ranks == 1 ? split::kNone : follow(axes.front(), op, rule, placementOn));
    return splits;
  }
  add(split::kNone);
  SmallVector<unsigned, 8> loops;
  for (unsigned loop : loopsOn(axes, op, rule)) {
    add(static_cast<int>(loop));
    if (rule.loops[loop].size < ranks || !canSplit(rule, splits.back(), mesh.sizes))
      splits.pop_back();
    else
      loops.push_back(loop);
  }
  if (isFolded) { // no token goes to an expert twice
    splits.erase(splits.begin());
    return splits;
  }
  if (rule.jointlyLinear)
    add(split::kPartial);
  if (isTensor && axes.size() > 1)
    addHeadChoices(op, rule, splits);
  if (isTensor && splits.size() > 1 && !mayRepeat(op, rule, loops))
    splits.erase(splits.begin());
  return splits;
}

// Returns whether all ranks of tensor parallelism may run a whole op that could be split along
// `loops`.
bool OpChoices::mayRepeat(Operation *op, const graph::OpRule &rule,
                          ArrayRef<unsigned> loops) const {
  if (pattern == TensorPattern::SplitWeights)
    return !rule.multiplies();
  return textbook.mayRepeat(op, rule, loops);
}

static bool isOfTokens(uint8_t bits) {
  return (bits & ScalesWithSequence) && !(bits & ScalesWithExperts);
}

// Returns true if the op works on tokens of experts that are folded over the axes.
bool OpChoices::isFolded(ArrayRef<unsigned> axes, Operation *op, const graph::OpRule &rule) const {
  SmallVector<uint8_t, 8> bits = roles.ofLoops(op, rule);
  return foldsExperts && llvm::equal(axes, tensorAxes) && llvm::any_of(bits, isOfTokens) &&
         llvm::any_of(bits, [](uint8_t each) { return (each & ScalesWithExperts) != 0; });
}

// Queries of attention are context parallelism's to split.
static bool isOfQueries(const graph::OpRule &rule, unsigned loop) {
  return rule.kind == graph::OpKind::Attention && rule.productLoops[loop] == graph::ProductLoop::M;
}

// Loops that are the axes' to split.
SmallVector<unsigned, 8> OpChoices::loopsOn(ArrayRef<unsigned> axes, Operation *op,
                                            const graph::OpRule &rule) const {
  SmallVector<unsigned, 8> loops;
  SmallVector<uint8_t, 8> bits = roles.ofLoops(op, rule);
  bool isFolded = this->isFolded(axes, op, rule);
  for (unsigned loop = 0; loop < rule.loops.size(); ++loop) {
    // A loop over a sequence whose tokens went through experts has the bit of samples, too.
    bool isOfExperts = bits[loop] & (ScalesWithExperts | ScalesWithCapacity);
    bool isTheirs = bits[loop] != ScalesWithBatch && !isOfExperts &&
                    !roles.isMerged(op, rule, loop) && !isOfQueries(rule, loop);
    if (isFolded)
      isTheirs = isOfTokens(bits[loop]);
    bool isRuled = !isFolded && llvm::equal(axes, tensorAxes);
    if (isTheirs && (!isRuled || textbook.maySplit(op, rule, loop)))
      loops.push_back(loop);
  }
  return loops;
}

// The outer axis splits heads, and the inner one something else: another loop, sums, or nothing.
void OpChoices::addHeadChoices(Operation *op, const graph::OpRule &rule,
                               std::vector<OpSplit> &splits) const {
  unsigned outer = tensorAxes.front(), inner = tensorAxes.back();
  bool repeats = !splitsWeights || !heads.splitsGroups() || !rule.multiplies();
  auto add = [&](int outerChoice, int innerChoice) {
    OpSplit split(mesh.numAxes(), split::kNone);
    split[outer] = outerChoice;
    split[inner] = innerChoice;
    auto fits = [&](unsigned axis) {
      return split[axis] < 0 || rule.loops[split[axis]].size >= mesh.sizes[axis];
    };
    if (fits(outer) && fits(inner) && canSplit(rule, split, mesh.sizes))
      splits.push_back(std::move(split));
  };
  for (unsigned head : heads.loopsOf(op)) {
    int loop = static_cast<int>(head);
    if (repeats)
      add(loop, split::kNone);
    for (unsigned other : loopsOn(tensorAxes, op, rule))
      if (other != head)
        add(loop, static_cast<int>(other));
    if (rule.jointlyLinear)
      add(loop, split::kPartial);
  }
  // Sums of ranks that ran the same product together.
  if (rule.jointlyLinear && (!splitsWeights || !heads.splitsGroups()))
    add(split::kPartial, split::kNone);
}

// Returns what the plan says of the next op of this name in its function.
FailureOr<OpSplit> OpChoices::plannedChoice(Operation *op) {
  auto func = cast<graph::FuncOp>(op->getParentOp());
  StringRef name = op->getName().stripDialect();
  PlannedOps &ops = plannedOps[func.getSymName().str()][name.str()];
  size_t next = ops.asked++;
  if (next < ops.choices.size()) {
    ArrayRef<int> choices = ops.choices[next];
    if (choices.size() != 1 && choices.size() != tensorAxes.size())
      return op->emitOpError("is split over ")
             << choices.size() << " axes of tensor parallelism by the plan's op_splits, and there "
             << (tensorAxes.size() == 1 ? "is " : "are ") << tensorAxes.size()
             << "; plan this model again with 'dtc plan'";
    OpSplit split(mesh.numAxes(), split::kNone);
    for (auto [index, axis] : llvm::enumerate(tensorAxes))
      split[axis] = choices.size() == 1 ? choices.front() : choices[index];
    return split;
  }
  return op->emitOpError("is number ")
         << next + 1 << " of the ops '" << name << "' in '@" << func.getSymName()
         << "', of which the plan's op_splits have " << ops.choices.size()
         << "; plan this model again with 'dtc plan'";
}

FailureOr<std::vector<OpSplit>> OpChoices::of(Operation *op, const graph::OpRule &rule,
                                              PlacementOn placementOn) {
  if (op->hasAttr(kSplitsAttr)) { // decided already
    FailureOr<OpSplit> given = readSplit(op, rule, mesh);
    return failed(given) ? FailureOr<std::vector<OpSplit>>(failure())
                         : std::vector<OpSplit>{*given};
  }
  std::vector<OpSplit> splits{OpSplit(mesh.numAxes(), split::kNone)};
  for (ArrayRef<unsigned> axes : axesTogether(mesh)) {
    std::vector<OpSplit> choices;
    if (isPlanned() && llvm::equal(axes, tensorAxes)) {
      FailureOr<OpSplit> choice = plannedOrFollowed(op, rule, placementOn);
      if (failed(choice))
        return failure();
      choices = {*choice};
    } else {
      choices = choicesOn(axes, op, rule, placementOn);
      if (choices.empty())
        return op->emitOpError("has no tokens for each of ")
               << ranksOf(axes, mesh) << " ranks that experts are folded over";
    }
    std::vector<OpSplit> longer;
    for (const OpSplit &split : splits)
      for (const OpSplit &choice : choices) {
        auto isTaken = [&](unsigned axis) {
          return mesh.roles[axis] != AxisRole::Expert && choice[axis] >= 0 &&
                 llvm::any_of(llvm::enumerate(split), [&](auto taken) {
                   return mesh.roles[taken.index()] != AxisRole::Context &&
                          taken.value() == choice[axis];
                 });
        };
        if (!isPlanned() && llvm::any_of(axes, isTaken))
          continue;
        longer.push_back(split);
        for (unsigned axis : axes)
          longer.back()[axis] = choice[axis];
      }
    splits = std::move(longer);
  }
  return splits;
}

FailureOr<OpSplit> OpChoices::plannedOrFollowed(Operation *op, const graph::OpRule &rule,
                                                PlacementOn placementOn) {
  if (isInPlans(op, rule))
    return plannedChoice(op);
  OpSplit split(mesh.numAxes(), split::kNone);
  for (unsigned axis : tensorAxes)
    split[axis] = follow(axis, op, rule, placementOn);
  return split;
}

} // namespace dtc
