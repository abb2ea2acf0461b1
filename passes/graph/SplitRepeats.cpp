// Splits repeats at layers where decisions change (pass dtc-split-repeats).
#include "passes/graph/SplitRepeats.h"

#include "dialects/graph/Declaration.h"
#include "passes/graph/Passes.h"

namespace dtc {
#define GEN_PASS_DEF_SPLITREPEATS
#include "passes/graph/Passes.h.inc"

using namespace mlir;

namespace {

class RepeatSplitter {
public:
  RepeatSplitter(ModuleOp module, graph::RepeatOp repeat, ArrayRef<int64_t> starts)
      : module(module), repeat(repeat), starts(starts), builder(repeat) {}

  LogicalResult run() {
    if (repeat->getNumResults() != static_cast<unsigned>(repeat.getNumCarried()))
      return repeat.emitOpError(
          "gives stacks, so that its layers can't be treated differently; carry "
          "what the model needs of each execution");
    if (failed(findParameters()))
      return failure();
    SmallVector<Value> carried(
        repeat->getOperands().take_front(static_cast<size_t>(repeat.getNumCarried())));
    for (size_t piece = 0; piece < starts.size(); ++piece)
      carried = createPiece(piece, carried);
    repeat->replaceAllUsesWith(carried);
    repeat.erase();
    for (graph::GetOp get : gets)
      get.erase();
    for (graph::ParameterOp parameter : parameters)
      parameter.erase();
    return success();
  }

private:
  // Finds the parameters that the repeat reads entry by entry.
  LogicalResult findParameters() {
    for (Value operand : repeat->getOperands()) {
      if (!isa<graph::StackType>(operand.getType()))
        continue;
      auto get = operand.getDefiningOp<graph::GetOp>();
      auto parameter = get ? module.lookupSymbol<graph::ParameterOp>(get.getSymbol()) : nullptr;
      bool isOwn = parameter && get->hasOneUse() &&
                   llvm::hasSingleElement(*SymbolTable::getSymbolUses(parameter, module));
      if (!isOwn)
        return repeat.emitOpError(
            "reads a stack that is no parameter of its own, so that its "
            "layers can't be treated differently; give it parameters of its own");
      gets.push_back(get);
      parameters.push_back(parameter);
    }
    // Keeps the order of declaration: later steps follow it.
    lastParameter = parameters.empty() ? nullptr : parameters.front().getOperation();
    for (graph::ParameterOp parameter : parameters)
      if (lastParameter->isBeforeInBlock(parameter))
        lastParameter = parameter;
    return success();
  }

  int64_t countOf(size_t piece) {
    int64_t end = piece + 1 < starts.size() ? starts[piece + 1] : repeat.getNumExecutions();
    return end - starts[piece];
  }

  // Creates one piece of the repeat; returns the values that it carries out.
  SmallVector<Value> createPiece(size_t piece, ArrayRef<Value> carried) {
    llvm::StringMap<std::string> renamed;
    SmallVector<graph::ParameterOp> ordered(parameters);
    llvm::sort(ordered,
               [](graph::ParameterOp a, graph::ParameterOp b) { return a->isBeforeInBlock(b); });
    for (graph::ParameterOp parameter : ordered)
      renamed[parameter.getSymName()] = declarePiece(parameter, piece);
    SmallVector<Value> operands(carried);
    for (Value operand : repeat->getOperands().drop_front(carried.size())) {
      if (auto stack = dyn_cast<graph::StackType>(operand.getType())) {
        auto get = operand.getDefiningOp<graph::GetOp>();
        auto type = graph::StackType::get(stack.getContext(), countOf(piece), stack.getEntry());
        auto symbol = FlatSymbolRefAttr::get(stack.getContext(), renamed[get.getSymbol()]);
        operand = graph::GetOp::create(builder, get.getLoc(), type, symbol);
      }
      operands.push_back(operand);
    }
    auto split = cast<graph::RepeatOp>(builder.clone(*repeat));
    split->setOperands(operands);
    split.setCountAttr(builder.getI64IntegerAttr(countOf(piece)));
    split.setInstanceAttr(builder.getI64IntegerAttr(repeat.getFirstInstance() + starts[piece]));
    return llvm::to_vector_of<Value>(split->getResults());
  }

  // Declares the parameter of one piece and returns its symbol.
  std::string declarePiece(graph::ParameterOp parameter, size_t piece) {
    OpBuilder atParameters(parameter);
    atParameters.setInsertionPointAfter(lastParameter);
    auto copy = cast<graph::ParameterOp>(atParameters.clone(*parameter));
    std::string name = graph::familyFrom(parameter.getSymName(), starts[piece]);
    copy.setSymName(name);
    copy.setRepeatsAttr(builder.getI64IntegerAttr(countOf(piece)));
    lastParameter = copy;
    return name;
  }

  ModuleOp module;
  graph::RepeatOp repeat;
  // first executions of the pieces, counted from the repeat's first execution
  ArrayRef<int64_t> starts;
  OpBuilder builder;
  SmallVector<graph::GetOp> gets;
  SmallVector<graph::ParameterOp> parameters; // undivided, in the order of `gets`
  Operation *lastParameter = nullptr;
};

struct SplitRepeats : impl::SplitRepeatsBase<SplitRepeats> {
  using SplitRepeatsBase::SplitRepeatsBase;

  void runOnOperation() override {
    SmallVector<int64_t> boundaries(at.begin(), at.end());
    llvm::sort(boundaries);
    if (failed(splitRepeats(getOperation(), boundaries)))
      signalPassFailure();
  }
};

} // namespace

LogicalResult splitRepeats(ModuleOp module, ArrayRef<int64_t> boundaries) {
  auto loss = module.lookupSymbol<graph::FuncOp>(graph::kLossFunction);
  if (!loss)
    return module.emitError("the module has no function '@loss' whose layers could be split");
  int64_t first = 0;
  SmallVector<graph::BlockCallOpInterface> calls(
      loss.getBody().getOps<graph::BlockCallOpInterface>());
  for (graph::BlockCallOpInterface call : calls) {
    int64_t count = call.getNumExecutions();
    SmallVector<int64_t> starts{0};
    for (int64_t boundary : boundaries)
      if (boundary - first > starts.back() && boundary < first + count)
        starts.push_back(boundary - first);
    auto repeat = dyn_cast<graph::RepeatOp>(*call);
    if (repeat && starts.size() > 1 && failed(RepeatSplitter(module, repeat, starts).run()))
      return failure();
    first += count;
  }
  return success();
}

} // namespace dtc
