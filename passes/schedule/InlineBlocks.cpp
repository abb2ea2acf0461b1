// Inlines the blocks of a step, once for each execution (pass dtc-inline-blocks).
#include "passes/schedule/ExecutionLabels.h"
#include "passes/schedule/Passes.h"

#include "dialects/graph/Chunks.h"
#include "dialects/graph/Declaration.h"
#include "dialects/graph/Graph.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringMap.h"

namespace dtc {
#define GEN_PASS_DEF_INLINEBLOCKS
#include "passes/schedule/Passes.h.inc"

using namespace mlir;

namespace {

// The values that replace a value of the program with blocks: one tensor, or those of a stack.
using Tensors = SmallVector<Value, 1>;
using Scope = DenseMap<Value, Tensors>;

int64_t numTensors(Type type) {
  auto stack = dyn_cast<graph::StackType>(type);
  return stack ? stack.getCount() : 1;
}

// Counts the executions of each block in one execution of a function, not counting calls by blocks.
llvm::StringMap<int64_t> countExecutions(graph::FuncOp func) {
  llvm::StringMap<int64_t> executions;
  for (auto call : func.getBody().getOps<graph::BlockCallOpInterface>())
    executions[call.getBlockName()] += call.getNumExecutions();
  return executions;
}

class BlockInliner {
public:
  explicit BlockInliner(ModuleOp module) : module(module), builder(module.getContext()) {}

  void run() {
    expandSymbols();
    SmallVector<graph::FuncOp> functions(module.getOps<graph::FuncOp>());
    for (graph::FuncOp func : functions)
      if (!func.isPrivate())
        inlineInto(func);
    for (graph::FuncOp func : functions)
      if (func.isPrivate() && !func.getKernel())
        func.erase();
    for (Operation *op : expanded)
      op->erase();
  }

private:
  // Replaces every parameter with repeats by as many parameters, layer by layer if several follow
  // each other; states likewise.
  void expandSymbols();
  void expandRun(ArrayRef<Operation *> run, int64_t count);
  void inlineInto(graph::FuncOp func);
  void addArguments(graph::FuncOp func, Block &body, Scope &scope);
  void addResults(graph::FuncOp func, const Scope &scope);

  void process(Operation &op, Scope &scope, int64_t instance,
               const llvm::StringMap<int64_t> &executions);
  void execute(graph::BlockCallOpInterface call, Scope &scope, int64_t instance,
               const llvm::StringMap<int64_t> &executions);
  void read(graph::GetOp get, Scope &scope);
  void write(graph::SetOp set, const Scope &scope);

  ArrayRef<std::string> membersOf(StringRef symbol) { return members[symbol]; }

  ModuleOp module;
  OpBuilder builder;
  llvm::StringMap<std::vector<std::string>> members; // parameters and states with repeats
  SmallVector<Operation *> expanded;
  std::optional<int64_t> execution; // the execution of the block that is being inlined
  int64_t numExecutions = 0;
};

void BlockInliner::expandSymbols() {
  SmallVector<Operation *> run;
  int64_t runCount = 0;
  auto countOf = [&](Operation *op) -> int64_t {
    auto parameter = dyn_cast<graph::ParameterOp>(op);
    if (auto state = dyn_cast<graph::StateOp>(op); state && state.getParameter())
      parameter = module.lookupSymbol<graph::ParameterOp>(*state.getParameter());
    return parameter ? static_cast<int64_t>(parameter.getRepeats().value_or(0)) : 0;
  };
  auto close = [&] {
    if (!run.empty())
      expandRun(run, runCount);
    run.clear();
  };
  for (Operation &op : llvm::make_early_inc_range(*module.getBody())) {
    int64_t count = countOf(&op);
    auto firstOf = [](Operation *op) {
      return graph::firstMember(SymbolTable::getSymbolName(op).getValue());
    };
    if (!run.empty() && (count != runCount || op.getName() != run.front()->getName() ||
                         firstOf(&op) != firstOf(run.front())))
      close();
    runCount = count;
    if (count > 0)
      run.push_back(&op);
  }
  close();
}

void BlockInliner::expandRun(ArrayRef<Operation *> run, int64_t count) {
  builder.setInsertionPoint(run.front());
  for (int64_t member = 0; member < count; ++member)
    for (Operation *op : run) {
      std::string family = SymbolTable::getSymbolName(op).str();
      std::string name = graph::memberName(family, member);
      members[family].push_back(name);
      Operation *copy = builder.clone(*op);
      SymbolTable::setSymbolName(copy, name);
      if (auto parameter = dyn_cast<graph::ParameterOp>(copy))
        parameter.removeRepeatsAttr();
      else if (auto state = dyn_cast<graph::StateOp>(copy))
        state.setParameter(graph::memberName(*state.getParameter(), member));
    }
  expanded.append(run.begin(), run.end());
}

void BlockInliner::inlineInto(graph::FuncOp func) {
  Block &old = func.getBody().front();
  Block *body = new Block();
  func.getBody().push_back(body);
  builder.setInsertionPointToEnd(body);
  Scope scope;
  addArguments(func, *body, scope);
  llvm::StringMap<int64_t> executions = countExecutions(func);
  for (Operation &op : old.without_terminator()) {
    Operation *before = body->empty() ? nullptr : &body->back();
    process(op, scope, 0, executions);
    std::optional<graph::ChunkLabel> label = graph::getChunkLabel(&op);
    for (Operation *copy = before ? before->getNextNode() : &body->front(); label && copy;
         copy = copy->getNextNode())
      graph::setChunkLabel(copy, *label);
  }
  addResults(func, scope);
  old.erase();
}

// Expands the attributes of arguments or results: a stack becomes several, each with the gradient
// of one member.
static ArrayAttr expandAttrs(ArrayAttr attrs, TypeRange types,
                             function_ref<ArrayRef<std::string>(StringRef)> membersOf) {
  if (!attrs)
    return attrs;
  SmallVector<Attribute> list;
  for (auto [attr, type] : llvm::zip(attrs.getAsRange<DictionaryAttr>(), types))
    for (int64_t index = 0; index < numTensors(type); ++index) {
      NamedAttrList ofOne(attr);
      auto gradientOf = attr.getAs<FlatSymbolRefAttr>(graph::kGradientOfAttr);
      if (gradientOf && isa<graph::StackType>(type))
        ofOne.set(
            graph::kGradientOfAttr,
            FlatSymbolRefAttr::get(attrs.getContext(),
                                   membersOf(gradientOf.getValue())[static_cast<size_t>(index)]));
      list.push_back(ofOne.getDictionary(attrs.getContext()));
    }
  return ArrayAttr::get(attrs.getContext(), list);
}

void BlockInliner::addArguments(graph::FuncOp func, Block &body, Scope &scope) {
  for (BlockArgument argument : func.getBody().front().getArguments())
    for (int64_t index = 0; index < numTensors(argument.getType()); ++index)
      scope[argument].push_back(
          body.addArgument(graph::tensorOf(argument.getType()), argument.getLoc()));
}

void BlockInliner::addResults(graph::FuncOp func, const Scope &scope) {
  auto membersOfSymbol = [&](StringRef symbol) { return membersOf(symbol); };
  ArrayAttr argAttrs =
      expandAttrs(func.getArgAttrsAttr(), func.getArgumentTypes(), membersOfSymbol);
  ArrayAttr resAttrs = expandAttrs(func.getResAttrsAttr(), func.getResultTypes(), membersOfSymbol);
  Operation *end = func.getBody().front().getTerminator();
  SmallVector<Value> results;
  for (Value value : end->getOperands())
    llvm::append_range(results, scope.find(value)->second);
  graph::ReturnOp::create(builder, end->getLoc(), results);
  func.setFunctionType(FunctionType::get(
      func.getContext(), func.getBody().back().getArgumentTypes(), ValueRange(results).getTypes()));
  if (argAttrs)
    func.setArgAttrsAttr(argAttrs);
  if (resAttrs)
    func.setResAttrsAttr(resAttrs);
}

void BlockInliner::process(Operation &op, Scope &scope, int64_t instance,
                           const llvm::StringMap<int64_t> &executions) {
  if (auto call = dyn_cast<graph::BlockCallOpInterface>(op))
    if (!module.lookupSymbol<graph::FuncOp>(call.getBlockName()).getKernel())
      return execute(call, scope, instance, executions);
  if (auto get = dyn_cast<graph::GetOp>(op); get && isa<graph::StackType>(get.getType()))
    return read(get, scope);
  if (auto set = dyn_cast<graph::SetOp>(op); set && isa<graph::StackType>(set.getValue().getType()))
    return write(set, scope);
  IRMapping mapping;
  for (Value operand : op.getOperands())
    mapping.map(operand, scope.find(operand)->second.front());
  Operation *copy = builder.clone(op, mapping);
  if (auto random = dyn_cast<graph::RandomOpInterface>(copy))
    random.setInstance(static_cast<uint64_t>(instance));
  if (execution && op.hasAttr(graph::kCommunicationAttr))
    copy->setAttr(kExecutionAttr, builder.getI64IntegerAttr(*execution));
  for (auto [result, now] : llvm::zip(op.getResults(), copy->getResults()))
    scope[result] = {now};
}

// Inlines a call. Executions of a block are numbered through all executions of its caller: with m
// of them in one execution of the caller, those of the caller's execution k are k m, k m + 1 and so
// on.
void BlockInliner::execute(graph::BlockCallOpInterface call, Scope &scope, int64_t instance,
                           const llvm::StringMap<int64_t> &executions) {
  auto callee = module.lookupSymbol<graph::FuncOp>(call.getBlockName());
  int64_t count = call.getNumExecutions(), numCarried = call.getNumCarried();
  int64_t first = instance * executions.lookup(call.getBlockName()) + call.getFirstInstance();
  llvm::StringMap<int64_t> inner = countExecutions(callee);
  Operation *end = callee.getBody().front().getTerminator();
  SmallVector<Tensors> carried, stacked(call->getNumResults());
  for (Value operand : call->getOperands().take_front(static_cast<size_t>(numCarried)))
    carried.push_back(scope.find(operand)->second);
  for (auto [index, result] : llvm::enumerate(call->getResults()))
    stacked[index].resize(static_cast<size_t>(numTensors(result.getType())));
  for (int64_t turn = 0; turn < count; ++turn) {
    int64_t entry = call.isReversed() ? count - 1 - turn : turn;
    Scope inside;
    for (auto [index, argument] : llvm::enumerate(callee.getArguments())) {
      Value operand = call->getOperand(static_cast<unsigned>(index));
      if (static_cast<int64_t>(index) < numCarried) {
        inside[argument] = carried[index];
        continue;
      }
      const Tensors &tensors = scope.find(operand)->second;
      bool isStack = operand.getType() != argument.getType();
      inside[argument] = isStack ? Tensors{tensors[static_cast<size_t>(entry)]} : tensors;
    }
    std::optional<int64_t> around = std::exchange(execution, numExecutions++);
    for (Operation &op : callee.getBody().front().without_terminator())
      process(op, inside, first + entry, inner);
    execution = around;
    for (auto [index, value] : llvm::enumerate(end->getOperands())) {
      const Tensors &tensors = inside.find(value)->second;
      if (static_cast<int64_t>(index) < numCarried)
        carried[index] = tensors;
      else
        stacked[index][static_cast<size_t>(entry)] = tensors.front();
    }
  }
  for (auto [index, result] : llvm::enumerate(call->getResults()))
    scope[result] = static_cast<int64_t>(index) < numCarried ? carried[index] : stacked[index];
}

void BlockInliner::read(graph::GetOp get, Scope &scope) {
  Tensors &tensors = scope[get.getResult()];
  for (const std::string &name : membersOf(get.getSymbol()))
    tensors.push_back(graph::GetOp::create(builder, get.getLoc(), graph::tensorOf(get.getType()),
                                           FlatSymbolRefAttr::get(get.getContext(), name)));
}

void BlockInliner::write(graph::SetOp set, const Scope &scope) {
  for (auto [name, tensor] :
       llvm::zip(membersOf(set.getSymbol()), scope.find(set.getValue())->second))
    graph::SetOp::create(builder, set.getLoc(), FlatSymbolRefAttr::get(set.getContext(), name),
                         tensor);
}

struct InlineBlocks : impl::InlineBlocksBase<InlineBlocks> {
  void runOnOperation() override { BlockInliner(getOperation()).run(); }
};

} // namespace
} // namespace dtc
