// Implements blocks: their declarations, calls and repeats.
#include "dialects/graph/Declaration.h"
#include "dialects/graph/Verify.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace dtc::graph;

// ------------------------------------------------------------------------------------------- param

// Parses name init (`stored` groups)? (`decay` | `frozen`)*.
static FailureOr<DeclarationAttr> parseDeclaration(AsmParser &parser) {
  std::string name;
  if (parser.parseString(&name))
    return failure();
  FailureOr<Initializer> init = parseInitializer(parser);
  if (failed(init))
    return failure();
  // Parses groups of dims in order, as tensor.collapse_shape writes them; stores the sizes of the
  // groups.
  SmallVector<int64_t> stored;
  if (succeeded(parser.parseOptionalKeyword("stored"))) {
    int64_t next = 0;
    auto parseGroup = [&]() -> ParseResult {
      stored.push_back(0);
      return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
        SMLoc loc = parser.getCurrentLocation();
        int64_t dim = 0;
        if (parser.parseInteger(dim))
          return failure();
        if (dim != next) // param_c3
          return parser.emitError(loc)
                 << "'stored' has dim " << dim << " where dim " << next << " of the type is next";
        ++next;
        ++stored.back();
        return success();
      });
    };
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseGroup))
      return failure();
  }
  bool decay = false, frozen = false;
  for (bool isMore = true; isMore;) { // either may come first, each once
    bool isDecay = !decay && succeeded(parser.parseOptionalKeyword("decay"));
    bool isFrozen = !isDecay && !frozen && succeeded(parser.parseOptionalKeyword("frozen"));
    decay |= isDecay;
    frozen |= isFrozen;
    isMore = isDecay || isFrozen;
  }
  return DeclarationAttr::get(parser.getContext(), StringAttr::get(parser.getContext(), name),
                              init->kind, APFloat(init->mean), APFloat(init->stddev), stored, decay,
                              frozen);
}

static void printDeclaration(AsmPrinter &printer, DeclarationAttr declaration) {
  printer << declaration.getName() << " ";
  printInitializer(printer, {declaration.getInit(), declaration.getMean().convertToDouble(),
                             declaration.getStddev().convertToDouble()});
  if (!declaration.getStored().empty()) {
    int64_t dim = 0;
    printer << " stored [";
    llvm::interleaveComma(declaration.getStored(), printer, [&](int64_t size) {
      printer << "[";
      llvm::interleaveComma(llvm::seq(dim, dim + size), printer);
      printer << "]";
      dim += size;
    });
    printer << "]";
  }
  if (declaration.getDecay())
    printer << " decay";
  if (declaration.getFrozen())
    printer << " frozen";
}

Attribute DeclarationAttr::parse(AsmParser &parser, Type) {
  FailureOr<DeclarationAttr> declaration = failure();
  if (parser.parseLess() || failed(declaration = parseDeclaration(parser)) || parser.parseGreater())
    return {};
  return *declaration;
}

void DeclarationAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printDeclaration(printer, *this);
  printer << ">";
}

static ParseResult parseDeclarations(OpAsmParser &parser, ArrayAttr &declarations) {
  SmallVector<Attribute> list;
  auto parseOne = [&]() -> ParseResult {
    FailureOr<DeclarationAttr> declaration = parseDeclaration(parser);
    if (failed(declaration))
      return failure();
    list.push_back(*declaration);
    return success();
  };
  if (parser.parseCommaSeparatedList(parseOne))
    return failure();
  declarations = parser.getBuilder().getArrayAttr(list);
  return success();
}

static void printDeclarations(OpAsmPrinter &printer, ParamOp, ArrayAttr declarations) {
  llvm::interleaveComma(
      declarations.getAsRange<DeclarationAttr>(), printer,
      [&](DeclarationAttr declaration) { printDeclaration(printer, declaration); });
}

// Checks names relative to the block's prefix; full names, and their uniqueness, are known when
// blocks are instantiated.
LogicalResult ParamOp::verify() {
  if (getDeclarations().size() != getNumResults()) // param_c1
    return emitOpError() << "declares " << getDeclarations().size() << " parameters, but has "
                         << getNumResults() << " results";
  for (auto [declaration, result] :
       llvm::zip(getDeclarations().getAsRange<DeclarationAttr>(), getResults())) {
    auto type = cast<RankedTensorType>(result.getType());
    StringRef name = declaration.getName();
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (type.isDynamicDim(dim)) // param_c2
        return emitOpError() << "declares '" << name << "' with dynamic dim " << dim
                             << "; only the batch may be dynamic";
    int64_t dims = 0;
    for (int64_t size : declaration.getStored())
      dims += size;
    if (!declaration.getStored().empty() && dims != type.getRank()) // param_c3
      return emitOpError() << "stores " << dims << " dims of '" << name << "', but its type has "
                           << type.getRank();
    if (declaration.getStddev().isNegative() && !declaration.getStddev().isZero()) // param_c4
      return emitOpError() << "starts '" << name << "' with standard deviation "
                           << numberText(declaration.getStddev().convertToDouble())
                           << ", but 0 or more is wanted";
    if (name.empty()) // param_c5
      return emitOpError() << "declares a parameter with an empty name";
    bool isInLoss = (*this)->getParentOfType<FuncOp>().getSymName() == kLossFunction;
    if (size_t braces = countBraces(name); braces > (isInLoss ? 0 : 1)) // param_c5
      return emitOpError() << "declares '" << name << "' with " << braces << " '{}', but "
                           << (isInLoss ? "none is wanted outside of blocks"
                                        : "at most one is wanted, for the number of the execution");
  }
  return success();
}

// ------------------------------------------------------------------------------------ call, repeat

// Fails unless the types of the op's operands or results, called `what` in messages, are those of
// the callee.
static LogicalResult checkTypes(Operation *op, StringRef what, TypeRange found,
                                ArrayRef<Type> wanted, StringRef callee) {
  for (auto [index, pair] : llvm::enumerate(llvm::zip(found, wanted)))
    if (auto [type, expected] = pair; type != expected)
      return op->emitOpError() << what << " " << index << " has type " << type << ", but '"
                               << callee << "' has " << expected;
  return success();
}

static LogicalResult checkCount(Operation *op, StringRef what, size_t found, size_t wanted,
                                StringRef callee) {
  if (found == wanted)
    return success();
  return op->emitOpError() << "has " << found << " " << what << "s, but '" << callee << "' has "
                           << wanted;
}

static LogicalResult checkInstance(Operation *op, uint64_t instance) {
  if (static_cast<int64_t>(instance) < 0)
    return op->emitOpError() << "is instance " << static_cast<int64_t>(instance)
                             << ", but instances count from 0";
  return success();
}

// Operand i is argument i of the block; result i is its result i.
LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto func = symbols.lookupNearestSymbolFrom<FuncOp>(*this, getCalleeAttr());
  if (!func) // call_c1
    return emitOpError() << "calls '" << getCallee() << "', which is no graph.func";
  ArrayRef<Type> arguments = func.getArgumentTypes(), results = func.getResultTypes();
  if (failed(checkCount(*this, "argument", getNumOperands(), arguments.size(),
                        getCallee())) || // call_c2
      failed(checkTypes(*this, "argument", getOperands().getTypes(), arguments,
                        getCallee())) || // call_c3
      failed(
          checkCount(*this, "result", getNumResults(), results.size(), getCallee())) || // call_c4
      failed(checkTypes(*this, "result", getResultTypes(), results, getCallee())) ||    // call_c5
      failed(checkInstance(*this, getInstance())))                                      // call_c6
    return failure();
  if (getUnder() && countBraces(*getUnder()) > 0) // call_c7
    return emitOpError() << "has '{}' in 'under', but is called once; 'graph.repeat' numbers its "
                            "executions";
  return success();
}

void CallOp::build(OpBuilder &builder, OperationState &state, TypeRange results,
                   FlatSymbolRefAttr callee, ValueRange operands, int64_t instance) {
  build(builder, state, results, callee, operands, StringAttr(),
        builder.getI64IntegerAttr(instance), DenseI64ArrayAttr(), ArrayAttr(), ArrayAttr());
}

FlatSymbolRefAttr CallOp::getBlockAttr() { return getCalleeAttr(); }
void CallOp::setBlockAttr(FlatSymbolRefAttr block) { setCalleeAttr(block); }
int64_t CallOp::getNumExecutions() { return 1; }
int64_t CallOp::getNumCarried() { return 0; }
bool CallOp::isReversed() { return false; }
int64_t CallOp::getFirstInstance() { return static_cast<int64_t>(getInstance()); }
StringAttr CallOp::getPrefixAttr() { return getUnderAttr(); }

// Checks the results: the first are the carried values of the last execution, the others are stacks
// of the results of all executions.
static LogicalResult checkRepeatResults(RepeatOp op, FuncOp func) {
  int64_t carried = op.getNumCarried(), count = op.getNumExecutions();
  for (int64_t index = 0; index < op.getNumResults(); ++index) {
    Type found = op.getResult(static_cast<unsigned>(index)).getType();
    Type ofBlock = func.getResultTypes()[static_cast<size_t>(index)];
    if (index >= carried) {
      auto stack = dyn_cast<StackType>(found);
      if (!stack || stack.getCount() != count || stack.getEntry() != ofBlock) // repeat_c7
        return op.emitOpError() << "result " << index << " has type " << found << ", but '"
                                << op.getCallee() << "' gives " << ofBlock << " " << count
                                << " times";
      continue;
    }
    Type argument = func.getArgumentTypes()[static_cast<size_t>(index)];
    Type operand = op.getOperand(static_cast<unsigned>(index)).getType();
    if (ofBlock != argument) { // repeat_c6
      InFlightDiagnostic error = op.emitOpError();
      error << "carries argument " << index << " of '" << op.getCallee() << "', of type "
            << argument << ", but the block gives back " << ofBlock
            << "; each execution takes what the one before returned";
      error.attachNote(func.getLoc()) << "the block is here";
      return error;
    }
    if (found != ofBlock || operand != ofBlock) // repeat_c6
      return op.emitOpError() << "carries " << operand << " to " << found << " as result " << index
                              << ", but '" << op.getCallee() << "' has " << ofBlock;
  }
  return success();
}

// Checks the operands: first the carried values, then values that all executions read, or stacks of
// which each execution reads its entry.
LogicalResult RepeatOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto func = symbols.lookupNearestSymbolFrom<FuncOp>(*this, getCalleeAttr());
  if (!func) // repeat_c1
    return emitOpError() << "repeats '" << getCallee() << "', which is no graph.func";
  constexpr int64_t kMostExecutions = 1 << 16; // bounds the work for programs from outside
  if (getNumExecutions() < 1 || getNumExecutions() > kMostExecutions) // repeat_c2
    return emitOpError() << "repeats a block " << getNumExecutions() << " times, but 1 to "
                         << kMostExecutions << " is wanted";
  ArrayRef<Type> arguments = func.getArgumentTypes();
  if (failed(checkCount(*this, "argument", getNumOperands(), arguments.size(),
                        getCallee())) || // repeat_c3
      failed(checkCount(*this, "result", getNumResults(), func.getResultTypes().size(),
                        getCallee()))) // repeat_c5
    return failure();
  int64_t most = std::min(getNumOperands(), getNumResults());
  if (getNumCarried() < 0 || getNumCarried() > most) // repeat_c6
    return emitOpError() << "carries " << getNumCarried() << " tensors, but '" << getCallee()
                         << "' has " << most << " that are both arguments and results";
  for (auto [index, operand] : llvm::enumerate(getOperands())) {
    auto stack = dyn_cast<StackType>(operand.getType());
    bool isCarried = static_cast<int64_t>(index) < getNumCarried();
    bool isStack = !isCarried && stack && stack.getCount() == getNumExecutions() &&
                   stack.getEntry() == arguments[index];
    if (operand.getType() != arguments[index] && !isStack) // repeat_c4
      return emitOpError() << "argument " << index << " has type " << operand.getType() << ", but '"
                           << getCallee() << "' has " << arguments[index];
  }
  if (failed(checkRepeatResults(*this, func)) ||
      failed(checkInstance(*this, getInstance()))) // repeat_c9
    return failure();
  if (getUnder() && countBraces(*getUnder()) > 1) // repeat_c8
    return emitOpError() << "puts the block's parameters under \"" << *getUnder()
                         << "\", which has " << countBraces(*getUnder())
                         << " '{}'; one is wanted, for the number of the execution";
  return success();
}

void RepeatOp::build(OpBuilder &builder, OperationState &state, TypeRange results, int64_t count,
                     FlatSymbolRefAttr callee, ValueRange operands, int64_t carrying, bool reversed,
                     int64_t instance) {
  build(builder, state, results, builder.getI64IntegerAttr(count), callee, operands,
        builder.getI64IntegerAttr(carrying), reversed ? builder.getUnitAttr() : UnitAttr(),
        StringAttr(), builder.getI64IntegerAttr(instance));
}

FlatSymbolRefAttr RepeatOp::getBlockAttr() { return getCalleeAttr(); }
void RepeatOp::setBlockAttr(FlatSymbolRefAttr block) { setCalleeAttr(block); }
int64_t RepeatOp::getNumExecutions() { return static_cast<int64_t>(getCount()); }
int64_t RepeatOp::getNumCarried() { return static_cast<int64_t>(getCarrying()); }
bool RepeatOp::isReversed() { return getReversed(); }
int64_t RepeatOp::getFirstInstance() { return static_cast<int64_t>(getInstance()); }
StringAttr RepeatOp::getPrefixAttr() { return getUnderAttr(); }

#define GET_OP_CLASSES
#include "dialects/graph/BlockOps.cpp.inc"
