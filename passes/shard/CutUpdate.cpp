// Cuts '@update' into one function per pipeline stage.
#include "passes/shard/CutUpdate.h"

#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/TransferOps.h"
#include "passes/shard/SumMoves.h"

#include "mlir/IR/IRMapping.h"

#include <algorithm>
#include <iterator>

using namespace mlir;

namespace dtc {
namespace {

using StageSet = std::set<int64_t>;

bool isScalar(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == 0;
}

bool contains(const StageSet &all, const StageSet &some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

StageSet intersect(const StageSet &a, const StageSet &b) {
  StageSet both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
  return both;
}

// True if a block only adds to its carried values.
bool carriesSums(graph::RepeatOp repeat) {
  auto block = SymbolTable::lookupNearestSymbolFrom<graph::FuncOp>(repeat, repeat.getBlockAttr());
  Operation *end = block.getBody().front().getTerminator();
  for (unsigned index = 0; index < repeat->getNumResults(); ++index) {
    Value value = block.getArgument(index);
    while (value.hasOneUse() && isa<graph::AddOp>(*value.getUsers().begin()))
      value = (*value.getUsers().begin())->getResult(0);
    if (!value.hasOneUse() || *value.getUsers().begin() != end || end->getOperand(index) != value)
      return false;
  }
  return true;
}

} // namespace

std::set<int64_t> UpdateCut::all() const {
  StageSet stages;
  for (int64_t stage = 0; stage < numStages; ++stage)
    stages.insert(stage);
  return stages;
}

StageSet UpdateCut::ownersOf(StringRef symbol) const {
  auto state = symbols.lookup<graph::StateOp>(symbol);
  if (state && !state.getParameter())
    return all();
  return owners.ofParameter(state ? *state.getParameter() : symbol);
}

const StageSet &UpdateCut::stagesOf(Value value) const {
  static const StageSet none;
  if (auto found = completed.find(value); found != completed.end())
    return found->second;
  const Known &entry = known.find(value)->second;
  return entry.isSum ? none : entry.stages;
}

void UpdateCut::complete(Value value) {
  if (!completed.contains(value))
    completed[value] = isScalar(value) ? all() : known.find(value)->second.stages;
}

// True if the value is a sum over all stages, or is made of one.
bool UpdateCut::isOfAllStages(Value value) const {
  const Known &entry = known.find(value)->second;
  return entry.isOfAll || (entry.isSum && isScalar(value) && completed.contains(value));
}

// True if the op's result is a sum over stages if its operands are; for a repeat, if its carried
// values are.
bool UpdateCut::addsUp(Operation &op) const {
  if (auto repeat = dyn_cast<graph::RepeatOp>(op))
    return repeat.getNumCarried() > 0 &&
           repeat.getNumCarried() == static_cast<int64_t>(repeat->getNumResults()) &&
           carriesSums(repeat);
  return isa<graph::AddOp>(op) || movesSum(&op);
}

// Returns the operands that are terms of a sum: for a repeat its carried values, to which it adds
// the others.
static ValueRange termsOf(Operation &op) {
  auto repeat = dyn_cast<graph::RepeatOp>(op);
  ValueRange operands = op.getOperands();
  return repeat ? operands.take_front(static_cast<size_t>(repeat.getNumCarried())) : operands;
}

UpdateCut::Known UpdateCut::know(Operation &op) {
  if (auto get = dyn_cast<graph::GetOp>(op))
    return {ownersOf(get.getSymbol())};
  bool mayAdd = addsUp(op);
  ValueRange terms = mayAdd ? termsOf(op) : ValueRange(op.getOperands()).take_front(0);
  SmallVector<Value> needed(op.getOperands().drop_front(terms.size()));
  bool hasSum = llvm::any_of(terms, [&](Value term) { return stagesOf(term).empty(); });
  if (!hasSum)
    llvm::append_range(needed, terms);
  for (Value value : needed)
    if (stagesOf(value).empty())
      complete(value);
  bool onlyScalars = llvm::all_of(needed, isScalar);
  // Hands the operands out to all stages if one of them follows a sum over all stages, so that all
  // stages know the result, such as the norm divided by weights. If an operand follows from the
  // tensors of one stage, the result stays on that stage, such as the ratio by which LARS scales a
  // tensor.
  auto isOfAStage = [&](Value value) {
    return !contains(stagesOf(value), all()) && known.find(value)->second.isOfTensors;
  };
  if (onlyScalars && llvm::any_of(needed, [&](Value value) { return isOfAllStages(value); }) &&
      llvm::none_of(needed, isOfAStage))
    for (Value value : needed)
      if (!contains(stagesOf(value), all()))
        complete(value);
  // Keeps tensors where they are and hands scalars out to the stages that need them.
  auto common = [&](bool scalarsToo) {
    StageSet stages = all();
    for (Value value : needed)
      if (scalarsToo || !isScalar(value))
        stages = intersect(stages, stagesOf(value));
    return stages;
  };
  StageSet stages = common(/*scalarsToo=*/true);
  bool addsOthers = mayAdd && !hasSum && stages.empty();
  if (hasSum || addsOthers) {
    Known sum{{}, /*isSum=*/true};
    for (Value term : terms) {
      const Known &entry = known.find(term)->second;
      if (entry.isSum)
        sum.stages.insert(entry.stages.begin(), entry.stages.end());
      else if (!entry.stages.empty())
        sum.stages.insert(*entry.stages.begin());
    }
    if (isa<graph::RepeatOp>(op)) {
      StageSet adding = all();
      for (Value value : op.getOperands().drop_front(terms.size()))
        adding = intersect(adding, stagesOf(value));
      if (adding.empty())
        return {};
      sum.stages.insert(*adding.begin());
    }
    return sum;
  }
  StageSet ofTensors = common(/*scalarsToo=*/false);
  for (Value value : needed)
    if (isScalar(value) && (onlyScalars ? stages.empty() : !contains(stagesOf(value), ofTensors)))
      complete(value);
  return {common(/*scalarsToo=*/true)};
}

LogicalResult UpdateCut::run() {
  for (BlockArgument argument : whole.getArguments()) {
    DictionaryAttr attrs = whole.getArgAttrDict(argument.getArgNumber());
    if (auto parameter = attrs.getAs<FlatSymbolRefAttr>(graph::kGradientOfAttr)) {
      const StageSet &stages = owners.ofParameter(parameter.getValue());
      known[argument] = {stages, stages.size() > 1};
      known[argument].isOfTensors = true;
    } else {
      known[argument] = {
          {owners.ofSum(attrs.getAs<StringAttr>(graph::kAccumulatedAttr).getValue())}};
    }
  }
  Block &body = whole.getBody().front();
  for (Operation &op : body.without_terminator()) {
    if (auto set = dyn_cast<graph::SetOp>(op)) {
      if (!contains(stagesOf(set.getValue()), ownersOf(set.getSymbol())))
        complete(set.getValue());
      continue;
    }
    Known entry = know(op);
    if (entry.stages.empty())
      return op.emitOpError("reads tensors of different stages of the pipeline, of which none has "
                            "all; only sums and scalars go from stage to stage in '@update'");
    entry.isOfAll =
        llvm::any_of(op.getOperands(), [&](Value value) { return isOfAllStages(value); });
    entry.isOfTensors = isa<graph::GetOp>(op) || llvm::any_of(op.getOperands(), [&](Value value) {
                          return !isScalar(value) || known.find(value)->second.isOfTensors;
                        });
    for (Value result : op.getResults())
      known[result] = entry;
  }
  for (Value value : body.getTerminator()->getOperands())
    if (stagesOf(value).empty())
      complete(value);
  return success();
}

// Writes the function of one stage.
class UpdateCut::StageBuilder {
public:
  StageBuilder(const UpdateCut &cut, OpBuilder &builder, int64_t stage)
      : cut(cut), stage(stage), from(cut.whole),
        func(graph::FuncOp::create(builder, from.getLoc(), from.getSymName(),
                                   FunctionType::get(from.getContext(), {}, {}))),
        inside(from.getContext()) {
    if (func.getBody().empty())
      func.getBody().emplaceBlock();
    inside.setInsertionPointToEnd(&func.getBody().front());
  }

  graph::FuncOp run() {
    addArguments();
    for (Operation &op : from.getBody().front().without_terminator()) {
      if (auto set = dyn_cast<graph::SetOp>(op)) {
        if (cut.ownersOf(set.getSymbol()).count(stage))
          inside.clone(op, full);
        continue;
      }
      const Known &entry = cut.known.find(op.getResult(0))->second;
      if (entry.isSum)
        addOwn(op);
      else if (entry.stages.count(stage))
        clone(op, entry.stages);
      for (Value result : op.getResults())
        finish(result);
    }
    addResults();
    return func;
  }

private:
  void addArguments() {
    Block &body = func.getBody().front();
    SmallVector<DictionaryAttr> attrs;
    for (BlockArgument argument : from.getArguments()) {
      const Known &entry = cut.known.find(argument)->second;
      if (!entry.stages.count(stage))
        continue;
      Value own = body.addArgument(argument.getType(), argument.getLoc());
      (entry.isSum ? part : full).map(argument, own);
      attrs.push_back(from.getArgAttrDict(argument.getArgNumber()));
    }
    for (BlockArgument argument : from.getArguments())
      finish(argument);
    func.setFunctionType(FunctionType::get(func.getContext(), body.getArgumentTypes(), {}));
    for (auto [index, dict] : llvm::enumerate(attrs))
      func.setArgAttrs(index, dict);
  }

  // Returns this stage's contribution to a value; null if it has none.
  Value ownOf(Value value) {
    const Known &entry = cut.known.find(value)->second;
    if (entry.isSum)
      return part.lookupOrNull(value);
    return *entry.stages.begin() == stage ? full.lookupOrNull(value) : Value();
  }

  Value zero(Value like) {
    return graph::ConstantOp::create(inside, like.getLoc(), like.getType(),
                                     inside.getF64FloatAttr(0));
  }

  // Returns a value as `stages`, which include this one, know it: their own, or the one that was
  // handed out to all.
  Value lookup(Value value, const StageSet &stages) {
    Value own = beforeHandedOut.lookupOrNull(value);
    return own && contains(cut.known.find(value)->second.stages, stages) ? own : full.lookup(value);
  }

  void clone(Operation &op, const StageSet &stages) {
    Operation *copy = inside.clone(op, full);
    for (OpOperand &operand : op.getOpOperands())
      copy->setOperand(operand.getOperandNumber(), lookup(operand.get(), stages));
  }

  // Adds this stage's contribution to a sum.
  void addOwn(Operation &op) {
    if (isa<graph::RepeatOp>(op))
      return repeatOwn(op);
    SmallVector<Value> parts;
    for (Value term : op.getOperands())
      if (Value own = ownOf(term))
        parts.push_back(own);
    if (parts.size() < op.getNumOperands() && isa<graph::AddOp>(op)) {
      if (!parts.empty())
        part.map(op.getResult(0), parts.front());
      return;
    }
    if (parts.empty())
      return;
    Operation *copy = inside.clone(op);
    copy->setOperands(parts);
    part.map(op.getResult(0), copy->getResult(0));
  }

  void repeatOwn(Operation &op) {
    ValueRange carried = termsOf(op);
    StageSet adding = cut.all();
    for (Value value : op.getOperands().drop_front(carried.size()))
      adding = intersect(adding, cut.stagesOf(value));
    bool adds = *adding.begin() == stage;
    SmallVector<Value> operands;
    for (Value value : carried) {
      Value own = ownOf(value);
      operands.push_back(own || !adds ? own : zero(value));
    }
    if (adds) {
      for (Value value : op.getOperands().drop_front(carried.size()))
        operands.push_back(full.lookup(value));
      Operation *copy = inside.clone(op);
      copy->setOperands(operands);
      operands.assign(copy->getResults().begin(), copy->getResults().end());
    }
    for (auto [result, own] : llvm::zip(op.getResults(), operands))
      if (own)
        part.map(result, own);
  }

  // Combines the contributions of the stages to a value.
  void finish(Value value) {
    auto found = cut.completed.find(value);
    if (found == cut.completed.end() || !found->second.count(stage))
      return;
    SmallVector<int64_t> stages(found->second.begin(), found->second.end());
    Value own = ownOf(value);
    if (own && !cut.known.find(value)->second.isSum)
      beforeHandedOut.map(value, own);
    auto role = isScalar(value) ? graph::CollectiveRole::Control : graph::CollectiveRole::Gradient;
    full.map(value, graph::StageReduceOp::create(
                        inside, value.getLoc(), value.getType(), graph::ReduceKind::Sum,
                        own ? own : zero(value), stages,
                        graph::CommunicationAttr::get(value.getContext(), role, false, 0))
                        .getResult());
  }

  void addResults() {
    Operation *end = from.getBody().front().getTerminator();
    SmallVector<Value> results;
    SmallVector<DictionaryAttr> attrs;
    for (auto [index, value] : llvm::enumerate(end->getOperands()))
      if (cut.stagesOf(value).count(stage)) {
        results.push_back(full.lookup(value));
        attrs.push_back(from.getResultAttrDict(static_cast<unsigned>(index)));
      }
    graph::ReturnOp::create(inside, end->getLoc(), results);
    func.setFunctionType(FunctionType::get(func.getContext(),
                                           func.getBody().front().getArgumentTypes(),
                                           ValueRange(results).getTypes()));
    for (auto [index, dict] : llvm::enumerate(attrs))
      func.setResultAttrs(index, dict);
  }

  const UpdateCut &cut;
  int64_t stage;
  graph::FuncOp from, func;
  OpBuilder inside;
  IRMapping full, part; // values that the stage knows, and its contributions to sums
  IRMapping beforeHandedOut;
};

graph::FuncOp UpdateCut::build(OpBuilder &builder, int64_t stage) const {
  return StageBuilder(*this, builder, stage).run();
}

} // namespace dtc
