// Saves fewer activations of each layer for the backward pass, which recomputes the rest (pass
// dtc-recompute): first those of rounds of rows of experts, then what the plan says.
#include "dialects/graph/RecomputeOps.h"
#include "dialects/graph/ShapeOps.h"
#include "dialects/graph/Slices.h"
#include "dialects/graph/Views.h"
#include "passes/shard/Passes.h"
#include "passes/shard/Recomputation.h"

#include "mlir/IR/IRMapping.h"

#include <map>

namespace dtc {
#define GEN_PASS_DEF_RECOMPUTE
#include "passes/shard/Passes.h.inc"

using namespace mlir;

namespace {

// The connections between the calls of a forward and a backward function. Calls with equal
// connections become calls of the same two new functions.
struct Wiring {
  graph::FuncOp forward, backward;
  bool isRepeated = false;
  Recompute how = Recompute::None;
  bool isOfRounds = false;   // recomputes what selectLaterRounds says, and not what `how` does
  unsigned numCarried = 0;   // carried values of a repeat's forward pass
  std::vector<int> resultOf; // per operand of backward: the result of forward; -1: none
  // per operand of backward: the operand of forward that is the same value; -1: none
  std::vector<int> operandOf;
  std::vector<bool> isForBackward; // per result of forward: only backward reads it
  std::vector<bool> isParameter;   // per operand of forward

  auto key() const {
    return std::make_tuple(forward.getAsOpaquePointer(), backward.getAsOpaquePointer(), how,
                           resultOf, operandOf, isForBackward, isParameter);
  }

  // Returns the ending of the names of the new functions.
  StringRef name() const { return isOfRounds ? "rounds" : toString(how); }
};

// The two new functions, and the operands and results of their calls in terms of the old ones.
struct Variant {
  graph::FuncOp forward, backward;
  std::vector<unsigned> results;  // results of the old forward function that remain
  std::vector<unsigned> operands; // operands of the old backward function that remain
  // A further operand of the new backward function: an operand of forward, or one of its results
  // after `results`.
  struct Extra {
    bool isOperand;
    unsigned index;
  };
  std::vector<Extra> extra;
  unsigned numExtraResults = 0;
};

graph::FuncOp cloneFor(graph::FuncOp func, StringRef ending) {
  auto module = func->getParentOfType<ModuleOp>();
  std::string name = (func.getSymName() + "." + ending).str();
  llvm::replace(name, '+', '.');
  std::string unique = name;
  for (unsigned i = 1; module.lookupSymbol(unique); ++i)
    unique = name + "." + std::to_string(i);
  OpBuilder builder(func);
  auto copy = cast<graph::FuncOp>(builder.clone(*func));
  copy.setSymName(unique);
  return copy;
}

void setReturned(graph::FuncOp func, ValueRange results) {
  Block &body = func.getBody().front();
  body.getTerminator()->setOperands(results);
  func.setFunctionType(
      FunctionType::get(func.getContext(), body.getArgumentTypes(), results.getTypes()));
}

// Makes the two functions for a wiring.
//
// 1. Selects the results, returned by forward for backward alone, that are dropped.
// 2. Finds their inputs: values that are still passed to backward, and arguments of forward. Only
// the last carried value of a repeat is available, so each execution returns its argument for
// backward.
// 3. Copies backward, and inserts the ops that make a dropped value right before the first op that
// reads it. They read passed values through graph.again, so that they stay apart from those of the
// forward pass once everything is in one function. A parameter is read directly as long as the op
// has another operand: if it is gathered for its use, the ops of both passes get it from one
// gather.
class VariantBuilder {
public:
  explicit VariantBuilder(Wiring wiring)
      : w(std::move(wiring)), returned(w.forward.getBody().front().getTerminator()->getOperands()) {
  }

  // Builds the functions. Fails after a diagnostic if a block that must be recomputed calls
  // another.
  LogicalResult run() {
    drop();
    for (unsigned result : dropped)
      if (failed(findLeaves(returned[result])))
        return failure();
    buildForward();
    buildBackward();
    return success();
  }

  Variant take() { return std::move(variant); }

private:
  void drop();
  LogicalResult findLeaves(Value value);
  void needArgument(BlockArgument argument);
  void buildForward();
  void buildBackward();

  BlockArgument backwardArgument(unsigned index) { return w.backward.getArgument(index); }
  // Returns the passed value that has the same elements, or null.
  Value keptLike(Value value) const { return handedOver.lookup(graph::rootOf(value)); }

  // Map values of the old forward function into the new backward function.
  Value make(Value value);
  Operation *makeAgain(Operation *op);
  Operation *gatherOf(Operation *op);
  void setApart(Operation *op);
  bool isParameter(Value value);

  Wiring w;
  SmallVector<Value> returned;
  SmallVector<unsigned> dropped;                  // results of forward
  llvm::DenseMap<Value, Value> handedOver;        // keyed by root: the value that forward returns
  llvm::DenseMap<Value, unsigned> operandOfValue; // backward's operand for each of these values
  // arguments of forward: the operand of the old backward function
  llvm::DenseMap<Value, unsigned> operandOfLeaf;
  SmallVector<BlockArgument> extraLeaves; // the arguments that have none
  llvm::DenseSet<Operation *> visited;

  OpBuilder *builder = nullptr;
  IRMapping made;                     // values of the old forward function
  IRMapping copied;                   // values of the old backward function
  llvm::DenseSet<Value> apart;        // new values that have no equal in forward
  llvm::DenseMap<Value, Value> again; // keyed by new value: its graph.again
  llvm::DenseSet<Operation *> shared; // gathers of the old backward function that exist already
  Variant variant;
};

void VariantBuilder::drop() {
  llvm::SetVector<Value> kept;
  SmallVector<unsigned> candidates;
  for (auto [operand, result] : llvm::enumerate(w.resultOf)) {
    if (result < 0)
      continue;
    Value value = returned[result];
    bool mayGo = w.isForBackward[result] && value.getDefiningOp() &&
                 !(w.isRepeated && static_cast<unsigned>(result) < w.numCarried);
    if (mayGo && !llvm::is_contained(candidates, result)) {
      candidates.push_back(result);
      if (!isa<BlockArgument>(graph::rootOf(value)))
        kept.insert(graph::rootOf(value));
    }
  }
  auto isInside = [](Operation *) { return true; };
  Recomputation recomputed =
      w.isOfRounds ? selectLaterRounds(kept, isInside) : selectRecomputation(kept, w.how, isInside);
  for (unsigned result : candidates) {
    Value root = graph::rootOf(returned[result]);
    if (isa<BlockArgument>(root) || recomputed.dropped.contains(root))
      dropped.push_back(result);
  }
  for (auto [operand, result] : llvm::enumerate(w.resultOf))
    if (result >= 0 && !llvm::is_contained(dropped, result) &&
        !(w.isRepeated && static_cast<unsigned>(result) < w.numCarried)) {
      handedOver.try_emplace(graph::rootOf(returned[result]), returned[result]);
      operandOfValue.try_emplace(returned[result], operand);
    }
}

LogicalResult VariantBuilder::findLeaves(Value value) {
  if (keptLike(value))
    return success();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    needArgument(argument);
    return success();
  }
  Operation *op = value.getDefiningOp();
  if (!visited.insert(op).second)
    return success();
  if (isa<graph::BlockCallOpInterface>(op))
    return op->emitOpError("calls a block within a block that is to be computed again; run "
                           "dtc-instantiate-blocks first");
  for (Value operand : op->getOperands())
    if (failed(findLeaves(operand)))
      return failure();
  return success();
}

void VariantBuilder::needArgument(BlockArgument argument) {
  if (operandOfLeaf.contains(argument) || llvm::is_contained(extraLeaves, argument))
    return;
  unsigned number = argument.getArgNumber();
  bool isCarried = w.isRepeated && number < w.numCarried;
  if (!isCarried)
    for (auto [operand, same] : llvm::enumerate(w.operandOf))
      if (same == static_cast<int>(number) &&
          backwardArgument(operand).getType() == argument.getType()) {
        operandOfLeaf[argument] = operand;
        return;
      }
  extraLeaves.push_back(argument);
}

void VariantBuilder::buildForward() {
  variant.forward = cloneFor(w.forward, w.name());
  Operation *end = variant.forward.getBody().front().getTerminator();
  SmallVector<Value> results;
  for (auto [index, value] : llvm::enumerate(end->getOperands()))
    if (!llvm::is_contained(dropped, index)) {
      variant.results.push_back(index);
      results.push_back(value);
    }
  for (BlockArgument leaf : extraLeaves) {
    unsigned number = leaf.getArgNumber();
    if (!w.isRepeated || number >= w.numCarried) {
      variant.extra.push_back({true, number});
      continue;
    }
    variant.extra.push_back({false, static_cast<unsigned>(results.size())});
    results.push_back(variant.forward.getArgument(number));
    ++variant.numExtraResults;
  }
  setReturned(variant.forward, results);
}

void VariantBuilder::buildBackward() {
  variant.backward = cloneFor(w.backward, w.name());
  Block &body = variant.backward.getBody().front();
  // Keeps only the signature of the clone; the body is written anew from the old one.
  while (!body.empty())
    body.back().erase();
  body.eraseArguments(0, body.getNumArguments());
  OpBuilder atEnd = OpBuilder::atBlockEnd(&body);
  builder = &atEnd;
  for (BlockArgument argument : w.backward.getArguments()) {
    unsigned number = argument.getArgNumber();
    if (int result = w.resultOf[number]; result >= 0 && llvm::is_contained(dropped, result))
      continue;
    variant.operands.push_back(number);
    copied.map(argument, body.addArgument(argument.getType(), argument.getLoc()));
  }
  for (BlockArgument leaf : extraLeaves)
    made.map(leaf, body.addArgument(leaf.getType(), leaf.getLoc()));
  for (auto [leaf, operand] : operandOfLeaf)
    made.map(leaf, copied.lookup(backwardArgument(operand)));
  for (auto [value, operand] : operandOfValue)
    made.map(value, copied.lookup(backwardArgument(operand)));
  for (Operation &op : w.backward.getBody().front()) {
    if (shared.contains(&op))
      continue;
    for (Value operand : op.getOperands())
      if (!copied.contains(operand))
        copied.map(operand,
                   make(returned[w.resultOf[cast<BlockArgument>(operand).getArgNumber()]]));
    builder->clone(op, copied);
  }
  setReturned(variant.backward, SmallVector<Value>(body.getTerminator()->getOperands()));
}

Value VariantBuilder::make(Value value) {
  if (Value known = made.lookupOrNull(value))
    return known;
  if (Value like = keptLike(value)) { // the same elements with another shape
    Value there = made.lookup(like);
    Value result =
        graph::ReshapeOp::create(*builder, value.getLoc(), value.getType(), there).getResult();
    made.map(value, result);
    return result;
  }
  Operation *op = value.getDefiningOp();
  assert(op && "findLeaves saw to it that arguments are there");
  Operation *now = gatherOf(op);
  if (!now)
    now = makeAgain(op);
  made.map(op->getResults(), now->getResults());
  return made.lookup(value);
}

Operation *VariantBuilder::makeAgain(Operation *op) {
  for (Value operand : op->getOperands())
    make(operand);
  Operation *now = builder->clone(*op, made);
  setApart(now);
  return now;
}

// Moves the backward function's own gather of the same parameter forward and returns it: the
// parameter is gathered once for all its uses in backward.
Operation *VariantBuilder::gatherOf(Operation *op) {
  auto attrsOf = [](Operation *collective) {
    NamedAttrList attrs(collective->getAttrs());
    attrs.erase(graph::kCommunicationAttr); // this attribute numbers the uses of a parameter
    return attrs.getDictionary(collective->getContext());
  };
  auto source =
      graph::isCollective(op) ? dyn_cast<BlockArgument>(op->getOperand(0)) : BlockArgument();
  auto communication = op->getAttrOfType<graph::CommunicationAttr>(graph::kCommunicationAttr);
  if (!source || !communication || communication.getRole() != graph::CollectiveRole::Parameter)
    return nullptr;
  for (Operation &other : w.backward.getBody().front()) {
    if (other.getName() != op->getName() || attrsOf(&other) != attrsOf(op))
      continue;
    auto argument = dyn_cast<BlockArgument>(other.getOperand(0));
    if (!argument || copied.lookupOrNull(argument) != made.lookupOrNull(source))
      continue;
    shared.insert(&other);
    if (!copied.contains(other.getResult(0)))
      builder->clone(other, copied);
    return copied.lookup(other.getResult(0)).getDefiningOp();
  }
  return nullptr;
}

bool VariantBuilder::isParameter(Value value) {
  Value root = graph::rootOf(value);
  for (auto [number, isOne] : llvm::enumerate(w.isParameter))
    if (isOne && made.lookupOrNull(w.forward.getArgument(number)) == root)
      return true;
  Operation *op = root.getDefiningOp();
  return op && graph::isCollective(op) && isParameter(op->getOperand(0));
}

// Makes an op that could equal one of forward, since it only reads values that both have, read one
// operand through graph.again. An op that reads nothing but constants needs no such mark.
void VariantBuilder::setApart(Operation *op) {
  auto isApart = [&](Value value) { return apart.contains(value); };
  if (llvm::none_of(op->getOperands(), isApart)) {
    OpOperand *chosen = nullptr;
    for (OpOperand &operand : op->getOpOperands()) {
      Operation *maker = operand.get().getDefiningOp();
      if ((maker && maker->getNumOperands() == 0) ||
          !isa<RankedTensorType>(operand.get().getType()))
        continue;
      if (!chosen || (isParameter(chosen->get()) && !isParameter(operand.get())))
        chosen = &operand;
    }
    if (!chosen)
      return;
    Value &known = again[chosen->get()];
    if (!known) {
      OpBuilder before(op);
      known = graph::AgainOp::create(before, op->getLoc(), chosen->get().getType(), chosen->get());
      apart.insert(known);
    }
    chosen->set(known);
  }
  for (Value result : op->getResults())
    apart.insert(result);
}

class Recomputer {
public:
  // `ofRounds`: recomputes rounds of rows of experts behind the first, and not what a plan says.
  Recomputer(ModuleOp module, bool ofRounds) : module(module), ofRounds(ofRounds) {}

  LogicalResult run() {
    auto microbatch = module.lookupSymbol<graph::FuncOp>(graph::kMicrobatchFunction);
    if (!microbatch)
      return module.emitError("recomputing needs '@microbatch'; run dtc-differentiate first");
    forward = graph::getProducers(graph::getResultsWith(microbatch, graph::kAccumulatedAttr));
    SmallVector<graph::BlockCallOpInterface> calls;
    for (auto call : microbatch.getBody().getOps<graph::BlockCallOpInterface>())
      if (recomputes(call) && forward.contains(call))
        calls.push_back(call);
    for (graph::BlockCallOpInterface call : calls)
      if (failed(recompute(call)))
        return failure();
    for (graph::FuncOp old : replaced)
      if (SymbolTable::symbolKnownUseEmpty(old, module))
        old.erase();
    return success();
  }

private:
  bool recomputes(graph::BlockCallOpInterface call) {
    if (ofRounds)
      return hasLaterRounds(module.lookupSymbol<graph::FuncOp>(call.getBlockName()));
    auto how = call->getAttrOfType<StringAttr>(graph::kRecomputeAttr);
    return how && how != toString(Recompute::None);
  }

  LogicalResult recompute(graph::BlockCallOpInterface call);
  Wiring wiringOf(graph::BlockCallOpInterface call, graph::BlockCallOpInterface backward);
  graph::BlockCallOpInterface backwardOf(graph::BlockCallOpInterface call) const;
  void replace(graph::BlockCallOpInterface call, graph::BlockCallOpInterface backward,
               const Variant &variant);

  ModuleOp module;
  bool ofRounds;
  graph::OpSet forward;
  std::map<decltype(std::declval<Wiring>().key()), Variant> known;
  llvm::SetVector<graph::FuncOp> replaced;
};

// Returns the backward call that reads the results of a forward call; null if there is none.
graph::BlockCallOpInterface Recomputer::backwardOf(graph::BlockCallOpInterface call) const {
  for (Value result : llvm::reverse(call->getResults()))
    for (Operation *user : result.getUsers())
      if (auto backward = dyn_cast<graph::BlockCallOpInterface>(user))
        if (!forward.contains(backward) && backward.getNumExecutions() == call.getNumExecutions())
          return backward;
  return {};
}

Wiring Recomputer::wiringOf(graph::BlockCallOpInterface call,
                            graph::BlockCallOpInterface backward) {
  Wiring wiring;
  wiring.forward = module.lookupSymbol<graph::FuncOp>(call.getBlockName());
  wiring.backward = module.lookupSymbol<graph::FuncOp>(backward.getBlockName());
  wiring.isRepeated = isa<graph::RepeatOp>(call);
  wiring.isOfRounds = ofRounds;
  if (!ofRounds)
    wiring.how = *recomputeFrom(call->getAttrOfType<StringAttr>(graph::kRecomputeAttr).getValue());
  wiring.numCarried = static_cast<unsigned>(call.getNumCarried());
  auto indexIn = [](ValueRange values, Value value) {
    auto found = llvm::find(values, value);
    return found == values.end() ? -1 : static_cast<int>(found - values.begin());
  };
  for (auto [index, operand] : llvm::enumerate(backward->getOperands())) {
    bool isCarried = static_cast<int64_t>(index) < backward.getNumCarried();
    wiring.resultOf.push_back(isCarried ? -1 : indexIn(call->getResults(), operand));
    wiring.operandOf.push_back(isCarried ? -1 : indexIn(call->getOperands(), operand));
  }
  for (Value result : call->getResults())
    wiring.isForBackward.push_back(llvm::all_of(
        result.getUsers(), [&](Operation *user) { return user == backward.getOperation(); }));
  for (Value operand : call->getOperands())
    wiring.isParameter.push_back(
        isa_and_nonnull<graph::GetOp>(graph::rootOf(operand).getDefiningOp()));
  return wiring;
}

LogicalResult Recomputer::recompute(graph::BlockCallOpInterface call) {
  graph::BlockCallOpInterface backward = backwardOf(call);
  if (!backward)
    return success();
  Wiring wiring = wiringOf(call, backward);
  auto entry = known.find(wiring.key());
  if (entry == known.end()) {
    VariantBuilder builder(wiring);
    if (failed(builder.run()))
      return failure();
    entry = known.emplace(wiring.key(), builder.take()).first;
    replaced.insert(wiring.forward);
    replaced.insert(wiring.backward);
  }
  replace(call, backward, entry->second);
  return success();
}

// Creates the same call with another callee.
static Operation *callOf(graph::BlockCallOpInterface old, graph::FuncOp func, ValueRange operands,
                         TypeRange types) {
  OpBuilder builder(old);
  OperationState state(old.getLoc(), old->getName(), operands, types, old->getAttrs());
  Operation *call = builder.create(state);
  cast<graph::BlockCallOpInterface>(call).setBlockAttr(
      FlatSymbolRefAttr::get(func.getSymNameAttr()));
  return call;
}

void Recomputer::replace(graph::BlockCallOpInterface call, graph::BlockCallOpInterface backward,
                         const Variant &variant) {
  SmallVector<Type> types;
  for (unsigned result : variant.results)
    types.push_back(call->getResult(result).getType());
  graph::FuncOp made = variant.forward;
  for (Type type : made.getResultTypes().take_back(variant.numExtraResults))
    types.push_back(graph::StackType::get(type.getContext(), call.getNumExecutions(),
                                          cast<RankedTensorType>(type)));
  Operation *now = callOf(call, made, call->getOperands(), types);
  for (auto [index, result] : llvm::enumerate(variant.results))
    call->getResult(result).replaceAllUsesWith(now->getResult(static_cast<unsigned>(index)));
  SmallVector<Value> operands;
  for (unsigned operand : variant.operands)
    operands.push_back(backward->getOperand(operand));
  for (Variant::Extra extra : variant.extra)
    operands.push_back(extra.isOperand ? now->getOperand(extra.index)
                                       : now->getResult(extra.index));
  Operation *nowBackward = callOf(backward, variant.backward, operands, backward->getResultTypes());
  backward->replaceAllUsesWith(nowBackward);
  backward->erase();
  call->erase();
}

struct RecomputePass : impl::RecomputeBase<RecomputePass> {
  void runOnOperation() override {
    for (bool ofRounds : {true, false})
      if (failed(Recomputer(getOperation(), ofRounds).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace dtc
