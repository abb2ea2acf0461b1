// Turns the declarations of blocks into parameters of the model (pass dtc-instantiate-blocks).
#include "passes/graph/Passes.h"

#include "dialects/graph/Declaration.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"

namespace dtc {
#define GEN_PASS_DEF_INSTANTIATEBLOCKS
#include "passes/graph/Passes.h.inc"

using namespace mlir;

namespace {

// Returns the name that a block's parameter has under a prefix.
std::string fullName(StringRef prefix, StringRef name) {
  return prefix.empty() ? name.str() : (prefix + "." + name).str();
}

// Inlines the blocks that blocks call.
class BlockFlattener {
public:
  explicit BlockFlattener(ModuleOp module) : module(module) {
    module.walk([&](graph::RandomOpInterface op) {
      nextStream = std::max(nextStream, op.getStream() + 1);
    });
  }

  // Flattens `func`; leaves its own calls in place if `keepsCalls` is set.
  LogicalResult flatten(graph::FuncOp func, bool keepsCalls) {
    open.push_back(func);
    SmallVector<graph::BlockCallOpInterface> calls(
        func.getBody().getOps<graph::BlockCallOpInterface>());
    for (graph::BlockCallOpInterface call : calls) {
      auto callee = module.lookupSymbol<graph::FuncOp>(call.getBlockName());
      if (llvm::is_contained(open, callee))
        return call.emitOpError("makes '")
               << callee.getSymName() << "' contain itself; blocks have no recursion";
      if (failed(flatten(callee, false)))
        return failure();
      if (keepsCalls)
        continue;
      auto ops = static_cast<int64_t>(callee.getBody().front().getOperations().size());
      if (call.getNumExecutions() > kMostOps / ops)
        return call.emitOpError("puts ")
               << ops << " ops " << call.getNumExecutions()
               << " times into the block around it, which may get at most " << kMostOps
               << "; repeat it in '@loss'";
      unroll(call, callee);
    }
    open.pop_back();
    return success();
  }

private:
  static constexpr int64_t kMostOps = 1 << 16; // most ops that one call may inline into a block

  // Unrolls a call or repeat inside of a block. In the source of a model there are no stacks:
  // arguments that are not carried are the same for all executions.
  void unroll(graph::BlockCallOpInterface call, graph::FuncOp callee) {
    OpBuilder builder(call);
    SmallVector<Value> operands(call->getOperands()), results;
    auto numCarried = static_cast<size_t>(call.getNumCarried());
    for (int64_t execution = 0; execution < call.getNumExecutions(); ++execution) {
      IRMapping mapping;
      mapping.map(callee.getArguments(), operands);
      std::string prefix =
          call.getPrefixAttr() ? graph::memberName(call.getPrefixAttr(), execution) : "";
      for (Operation &op : callee.getBody().front().without_terminator()) {
        Operation *copy = builder.clone(op, mapping);
        if (auto param = dyn_cast<graph::ParamOp>(copy))
          rename(param, prefix,
                 isa<graph::RepeatOp>(*call) ? std::optional(execution) : std::nullopt);
        if (auto random = dyn_cast<graph::RandomOpInterface>(copy); random && random.getStream())
          random.setStream(nextStream++);
      }
      results = llvm::map_to_vector(callee.getBody().front().getTerminator()->getOperands(),
                                    [&](Value value) { return mapping.lookup(value); });
      std::copy_n(results.begin(), numCarried, operands.begin());
    }
    call->replaceAllUsesWith(results);
    call.erase();
    if (SymbolTable::symbolKnownUseEmpty(callee, module))
      callee.erase();
  }

  // Braces in names of a block that is called are those of a repeat around it.
  static void rename(graph::ParamOp param, StringRef prefix, std::optional<int64_t> execution) {
    SmallVector<Attribute> renamed;
    for (auto from : param.getDeclarations().getAsRange<graph::DeclarationAttr>()) {
      std::string name = fullName(prefix, from.getName());
      renamed.push_back(graph::DeclarationAttr::get(
          param.getContext(),
          StringAttr::get(param.getContext(),
                          execution ? graph::memberName(name, *execution) : name),
          from.getInit(), from.getMean(), from.getStddev(), from.getStored(), from.getDecay(),
          from.getFrozen()));
    }
    param.setDeclarationsAttr(ArrayAttr::get(param.getContext(), renamed));
  }

  ModuleOp module;
  int64_t nextStream = 1;          // the next stream of random numbers that no op uses
  SmallVector<graph::FuncOp> open; // the functions being flattened, innermost last
};

// A parameter that a block declares.
struct Declared {
  RankedTensorType type;
  graph::DeclarationAttr declaration;
  Location loc; // place of the declaration in the source
};

// Turns declarations into parameters of the module; blocks receive theirs as arguments.
class ParameterHoister {
public:
  explicit ParameterHoister(ModuleOp module) : module(module) {}

  LogicalResult run(graph::FuncOp loss) {
    for (Operation &op : llvm::make_early_inc_range(loss.getBody().front().without_terminator())) {
      auto param = dyn_cast<graph::ParamOp>(op);
      auto call = dyn_cast<graph::BlockCallOpInterface>(op);
      if ((param && failed(hoist(param))) || (call && failed(passParameters(call))))
        return failure();
    }
    return success();
  }

private:
  LogicalResult hoist(graph::ParamOp param) {
    OpBuilder builder(param);
    for (auto [declaration, result] : llvm::zip(
             param.getDeclarations().getAsRange<graph::DeclarationAttr>(), param.getResults())) {
      Declared declared{cast<RankedTensorType>(result.getType()), declaration, param.getLoc()};
      FailureOr<Value> value =
          readParameter(declared, declaration.getName().str(), IntegerAttr(), builder, param);
      if (failed(value))
        return failure();
      result.replaceAllUsesWith(*value);
    }
    param.erase();
    return success();
  }

  // Turns the declarations of a block into arguments, once for all its calls.
  ArrayRef<Declared> takeDeclarations(graph::FuncOp block) {
    auto [entry, isNew] = known.try_emplace(block);
    if (!isNew)
      return entry->second;
    for (auto param : llvm::make_early_inc_range(block.getBody().getOps<graph::ParamOp>())) {
      for (auto [declaration, result] : llvm::zip(
               param.getDeclarations().getAsRange<graph::DeclarationAttr>(), param.getResults())) {
        auto type = cast<RankedTensorType>(result.getType());
        (void)block.insertArgument(block.getNumArguments(), type, DictionaryAttr(),
                                   result.getLoc());
        result.replaceAllUsesWith(block.getArguments().back());
        entry->second.push_back({type, declaration, param.getLoc()});
      }
      param.erase();
    }
    return entry->second;
  }

  LogicalResult passParameters(graph::BlockCallOpInterface call) {
    ArrayRef<Declared> declared =
        takeDeclarations(module.lookupSymbol<graph::FuncOp>(call.getBlockName()));
    auto repeat = dyn_cast<graph::RepeatOp>(*call);
    StringAttr under = call.getPrefixAttr();
    OpBuilder builder(call);
    SmallVector<Value> operands(call->getOperands());
    for (const Declared &entry : declared) {
      std::string name = fullName(under ? under.getValue() : "", entry.declaration.getName());
      if (failed(checkNumbers(call, entry, name)))
        return failure();
      FailureOr<Value> value =
          readParameter(entry, name, repeat ? repeat.getCountAttr() : IntegerAttr(), builder, call);
      if (failed(value))
        return failure();
      operands.push_back(*value);
    }
    call->setOperands(operands);
    if (repeat)
      repeat.removeUnderAttr();
    else
      cast<graph::CallOp>(*call).removeUnderAttr();
    return success();
  }

  // Fails unless the name tells the executions of `call` apart, or has no number for one execution.
  static LogicalResult checkNumbers(graph::BlockCallOpInterface call, const Declared &declared,
                                    StringRef name) {
    size_t braces = graph::countBraces(name), wanted = isa<graph::RepeatOp>(*call) ? 1 : 0;
    if (braces == wanted)
      return success();
    if (wanted == 0) // call_c7
      return call.emitOpError("calls '")
             << call.getBlockName() << "' once, which declares parameter "
             << declared.declaration.getName() << "; '{}' is for the blocks of 'graph.repeat'";
    if (braces == 0) // repeat_c8
      return call.emitOpError("repeats '")
             << call.getBlockName() << "', which declares parameter "
             << declared.declaration.getName()
             << ", but does not say under which names; write under \"PREFIX.{}\"";
    return call.emitOpError("repeats '") // repeat_c8
           << call.getBlockName() << "', whose parameter " << declared.declaration.getName()
           << " has the number of the execution; leave '{}' out of 'under'";
  }

  FailureOr<Value> readParameter(const Declared &declared, const std::string &name,
                                 IntegerAttr repeats, OpBuilder &builder, Operation *user);

  ModuleOp module;
  DenseMap<Operation *, std::vector<Declared>> known; // keyed by block
  Operation *lastParameter = nullptr;
};

// Returns the sizes that the parameter has in a checkpoint file.
DenseI64ArrayAttr storedShape(const Declared &declared, Builder &builder) {
  if (declared.declaration.getStored().empty())
    return {};
  SmallVector<int64_t> sizes;
  ArrayRef<int64_t> shape = declared.type.getShape();
  for (int64_t dims : declared.declaration.getStored()) {
    sizes.push_back(1);
    for (int64_t size : shape.take_front(static_cast<size_t>(dims)))
      sizes.back() *= size;
    shape = shape.drop_front(static_cast<size_t>(dims));
  }
  return builder.getDenseI64ArrayAttr(sizes);
}

FailureOr<Value> ParameterHoister::readParameter(const Declared &declared, const std::string &name,
                                                 IntegerAttr repeats, OpBuilder &builder,
                                                 Operation *user) {
  if (Operation *other = module.lookupSymbol(name)) {
    InFlightDiagnostic error = user->emitError()
                               << "parameter '" << name
                               << "' is there twice; give one of them another name, or its block "
                                  "another prefix ('under')";
    error.attachNote(other->getLoc()) << "it is declared here";
    return error;
  }
  graph::DeclarationAttr from = declared.declaration;
  OpBuilder atTop = OpBuilder::atBlockBegin(module.getBody());
  if (lastParameter)
    atTop.setInsertionPointAfter(lastParameter);
  auto parameter = graph::ParameterOp::create(
      atTop, declared.loc, builder.getStringAttr(name), TypeAttr::get(declared.type),
      graph::InitKindAttr::get(module.getContext(), from.getInit()),
      builder.getF64FloatAttr(from.getMean().convertToDouble()),
      builder.getF64FloatAttr(from.getStddev().convertToDouble()), storedShape(declared, builder),
      from.getDecay() ? builder.getUnitAttr() : UnitAttr(),
      from.getFrozen() ? builder.getUnitAttr() : UnitAttr(), repeats, graph::PlacementAttr(),
      graph::PlacementAttr());
  lastParameter = parameter;
  return graph::GetOp::create(builder, user->getLoc(), parameter.getValueType(),
                              FlatSymbolRefAttr::get(parameter.getSymNameAttr()))
      .getResult();
}

struct InstantiateBlocks : impl::InstantiateBlocksBase<InstantiateBlocks> {
  void runOnOperation() override {
    auto loss = getOperation().lookupSymbol<graph::FuncOp>(graph::kLossFunction);
    if (loss && (failed(BlockFlattener(getOperation()).flatten(loss, true)) ||
                 failed(ParameterHoister(getOperation()).run(loss))))
      signalPassFailure();
  }
};

} // namespace
} // namespace dtc
