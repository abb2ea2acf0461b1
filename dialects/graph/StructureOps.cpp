// Implements parameters, state and functions: assembly and checks of symbols.
#include "dialects/graph/CompressionAttributes.h"
#include "dialects/graph/Declaration.h"
#include "dialects/graph/Inputs.h"
#include "dialects/graph/Placement.h"
#include "dialects/graph/StateAttributes.h"
#include "dialects/graph/Verify.h"

#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace dtc::graph;

static ParseResult parseInit(OpAsmParser &parser, InitKindAttr &kind, FloatAttr &mean,
                             FloatAttr &stddev) {
  FailureOr<Initializer> init = parseInitializer(parser);
  if (failed(init))
    return failure();
  kind = InitKindAttr::get(parser.getContext(), init->kind);
  mean = parser.getBuilder().getF64FloatAttr(init->mean);
  stddev = parser.getBuilder().getF64FloatAttr(init->stddev);
  return success();
}

static void printInit(OpAsmPrinter &printer, ParameterOp, InitKindAttr kind, FloatAttr mean,
                      FloatAttr stddev) {
  printInitializer(printer, {kind.getValue(), mean.getValueAsDouble(), stddev.getValueAsDouble()});
}

// Parses (`init` initialiser)?; the default is zeros.
static ParseResult parseOptionalInit(OpAsmParser &parser, InitKindAttr &kind, FloatAttr &mean,
                                     FloatAttr &stddev) {
  if (succeeded(parser.parseOptionalKeyword("init")))
    return parseInit(parser, kind, mean, stddev);
  kind = InitKindAttr::get(parser.getContext(), InitKind::Zeros);
  mean = stddev = parser.getBuilder().getF64FloatAttr(0);
  return success();
}

static void printOptionalInit(OpAsmPrinter &printer, StateOp, InitKindAttr kind, FloatAttr mean,
                              FloatAttr stddev) {
  if (kind.getValue() == InitKind::Zeros)
    return;
  printer << "init ";
  printInitializer(printer, {kind.getValue(), mean.getValueAsDouble(), stddev.getValueAsDouble()});
}

// Checks the constraints that a parameter and its state share: the type is static, and the
// placement splits dims that exist and is not partial, because stored tensors must be complete.
static LogicalResult checkPlaced(Operation *op, Type type, std::optional<PlacementAttr> placement) {
  auto tensor = cast<RankedTensorType>(type);
  for (int64_t dim = 0; dim < tensor.getRank(); ++dim)
    if (tensor.isDynamicDim(dim)) // parameter_c1, state_c1
      return op->emitOpError() << "has dynamic dim " << dim << "; only the batch may be dynamic";
  if (!placement)
    return success();
  for (const auto &[i, axis] : llvm::enumerate(placement->getAxes())) {
    if (axis.isPartial()) // parameter_c3, state_c2
      return op->emitOpError() << "is partial on mesh axis " << i
                               << "; what is stored must be replicated or split";
    if (axis.isShard() && axis.dim >= tensor.getRank()) // parameter_c4, state_c3
      return op->emitOpError() << "is split along dim " << axis.dim << " on mesh axis " << i
                               << ", but has " << tensor.getRank() << " dims";
  }
  return success();
}

// Checks that the placement in use is one that tensors of the step can have.
static LogicalResult checkInUse(ParameterOp op) {
  std::optional<PlacementAttr> inUse = op.getInUse(), atRest = op.getPlacement();
  if (!inUse)
    return success();
  size_t wanted = atRest ? atRest->getAxes().size() : 0;
  if (inUse->getAxes().size() != wanted) // parameter_c7
    return op.emitOpError() << "is used on " << inUse->getAxes().size()
                            << " mesh axes, but rests on " << wanted;
  return checkPlaced(op, op.getType(), inUse); // parameter_c7
}

// Checks a name with '*', which stands for the index in dim 0; this dim must exist in the file too.
static LogicalResult checkStarredName(ParameterOp op, RankedTensorType type,
                                      std::optional<ArrayRef<int64_t>> stored) {
  size_t stars = op.getSymName().count('*');
  if (stars == 0)
    return success();
  if (stars > 1) // parameter_c6
    return op.emitOpError() << "has " << stars
                            << " '*' in its name, but one at most stands for an index";
  if (type.getRank() == 0) // parameter_c6
    return op.emitOpError() << "has '*' in its name for the index in dim 0, but no dims";
  if (stored && (stored->empty() || stored->front() != type.getDimSize(0))) // parameter_c6
    return op.emitOpError() << "has '*' in its name for the index in dim 0, which is "
                            << type.getDimSize(0) << ", but is stored with "
                            << (stored->empty() ? "no dims"
                                                : "dim 0 of " + std::to_string(stored->front()));
  return success();
}

Type ParameterOp::getValueType() {
  if (std::optional<uint64_t> count = getRepeats())
    return StackType::get(getContext(), static_cast<int64_t>(*count),
                          cast<RankedTensorType>(getType()));
  return getType();
}

SmallVector<std::string> ParameterOp::getMemberNames() {
  if (!getRepeats())
    return {getSymName().str()};
  return llvm::map_to_vector(llvm::seq<int64_t>(static_cast<int64_t>(*getRepeats())),
                             [&](int64_t index) { return memberName(getSymName(), index); });
}

// Checks '{}' in the name, which is the number of a layer; a name without it is one parameter.
static LogicalResult checkRepeats(ParameterOp op) {
  size_t braces = countBraces(op.getSymName()), wanted = op.getRepeats() ? 1 : 0;
  if (braces != wanted) // parameter_c8
    return op.emitOpError() << "has " << braces << " '{}' in its name, but " << wanted
                            << (op.getRepeats() ? " is wanted: it is repeated"
                                                : " are wanted: it is not repeated");
  if (wanted && static_cast<int64_t>(*op.getRepeats()) < 1) // parameter_c8
    return op.emitOpError() << "is repeated " << static_cast<int64_t>(*op.getRepeats())
                            << " times, but 1 or more is wanted";
  return success();
}

LogicalResult ParameterOp::verify() {
  if (failed(checkRepeats(*this)))
    return failure();
  if (failed(checkPlaced(*this, getType(), getPlacement())) || failed(checkInUse(*this)))
    return failure();
  if (getStddev().isNegative() && !getStddev().isZero()) // parameter_c5
    return emitOpError() << "starts with standard deviation "
                         << numberText(getStddev().convertToDouble())
                         << ", but 0 or more is wanted";
  std::optional<ArrayRef<int64_t>> storedShape = getStoredShape();
  if (failed(checkStarredName(*this, cast<RankedTensorType>(getType()), storedShape)))
    return failure();
  if (!storedShape)
    return success();
  int64_t elements = cast<RankedTensorType>(getType()).getNumElements(), stored = 1;
  for (int64_t size : *storedShape) {
    if (size < 0) // parameter_c2
      return emitOpError() << "is stored with a dim of size " << size
                           << ", but 0 or more is wanted";
    if (__builtin_mul_overflow(stored, size, &stored))
      return emitOpError() << "is stored with more elements than 64 bits count, but its type has "
                           << elements;
  }
  if (stored != elements) // parameter_c2
    return emitOpError() << "is stored with " << stored << " elements, but its type has "
                         << elements;
  return success();
}

void StateOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                    FlatSymbolRefAttr parameter, Type type) {
  FloatAttr zero = builder.getF64FloatAttr(0);
  build(builder, state, builder.getStringAttr(name), /*copy=*/UnitAttr(), parameter,
        TypeAttr::get(type), InitKindAttr::get(builder.getContext(), InitKind::Zeros), zero, zero,
        PlacementAttr());
}

// Checks that the state of a parameter has its shape, and as many layers.
LogicalResult StateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(checkPlaced(*this, getType(), getPlacement())))
    return failure();
  auto type = cast<RankedTensorType>(getType());
  double stddev = getStddev().convertToDouble();
  if (getInit() == InitKind::Normal && (stddev < 0 || !isa<FloatType>(type.getElementType()))) {
    return emitOpError() << "of " << type << " starts random with standard deviation " // state_c7
                         << numberText(stddev) << "; want floating-point numbers and 0 or more";
  }
  if (getCopy() && (!getParameter() || !type.getElementType().isF32() ||
                    getInit() != InitKind::Zeros)) // state_c8
    return emitOpError() << "is a copy of " << (getParameter() ? "" : "no parameter, ") << "type "
                         << type << "; want f32 of a parameter, as which it starts";
  if (!getParameter()) {
    if (countBraces(getSymName()) != 0) // state_c6
      return emitOpError() << "has '{}' in its name, but no parameter that is repeated";
    return success();
  }
  auto parameter = symbols.lookupNearestSymbolFrom<ParameterOp>(*this, getParameterAttr());
  if (!parameter) // state_c4
    return emitOpError() << "belongs to '" << *getParameter()
                         << "', which is not a graph.parameter";
  if (countBraces(getSymName()) != countBraces(*getParameter())) // state_c6
    return emitOpError() << "has " << countBraces(getSymName()) << " '{}' in its name, but '"
                         << *getParameter() << "' has " << countBraces(*getParameter());
  if (firstMember(getSymName()) != firstMember(*getParameter())) // state_c6
    return emitOpError() << "counts from " << firstMember(getSymName()) << " in its name, but '"
                         << *getParameter() << "' from " << firstMember(*getParameter());
  if ((*this)->hasAttr(kOwnShapeAttr))
    return success();
  SmallVector<int64_t> shape(cast<RankedTensorType>(parameter.getType()).getShape());
  if ((*this)->hasAttr(kByRankAttr) && type.getRank() > 0)
    shape.insert(shape.begin(), type.getDimSize(0));
  auto blocks = (*this)->getAttrOfType<IntegerAttr>(kBlockAttr);
  if (int64_t block = blocks ? blocks.getInt() : 1; !shape.empty())
    shape.back() = block > 0 && shape.back() % block == 0 ? shape.back() / block : 0;
  if (type.getShape() != ArrayRef(shape)) { // state_c5
    InFlightDiagnostic error = emitOpError()
                               << "has type " << type << ", but its parameter '" << *getParameter()
                               << "' has " << parameter.getType() << "; want one shape";
    if ((*this)->hasAttr(kByRankAttr))
      error << ", behind a first dim of ranks";
    if (blocks)
      error << ", with a number for each " << blocks.getInt() << " elements of the last dim";
    error.attachNote(parameter.getLoc()) << "the parameter is here";
    return error;
  }
  return success();
}

// Checks the type and placement of a parameter or state; fails with a diagnostic at `user` if there
// is none of that name.
static LogicalResult checkAccess(Operation *user, FlatSymbolRefAttr symbol, Type type,
                                 SymbolTableCollection &symbols) {
  Operation *target = symbols.lookupNearestSymbolFrom(user, symbol);
  Type global; // a stack if it is repeated
  std::optional<PlacementAttr> placement;
  if (auto parameter = dyn_cast_or_null<ParameterOp>(target)) {
    global = parameter.getValueType();
    placement = parameter.getPlacement();
  } else if (auto state = dyn_cast_or_null<StateOp>(target)) {
    auto owner = state.getParameter()
                     ? symbols.lookupNearestSymbolFrom<ParameterOp>(user, state.getParameterAttr())
                     : ParameterOp();
    global = owner ? withTensor(owner.getValueType(), cast<RankedTensorType>(state.getType()))
                   : Type(state.getType());
    placement = state.getPlacement();
  } else { // get_c1, set_c1
    return user->emitOpError() << "names '" << symbol.getValue()
                               << "', which is no graph.parameter or graph.state";
  }
  if (type == global)
    return success();
  Type local = global;
  if (std::optional<SmallVector<int64_t>> mesh = getMeshSizes(user); mesh && placement) {
    if (placement->getAxes().size() != mesh->size()) // get_c2, set_c2
      return user->emitOpError() << "names '" << symbol.getValue() << "', which is placed on "
                                 << placement->getAxes().size() << " mesh axes, but the mesh has "
                                 << mesh->size();
    local = withTensor(global, getLocalType(tensorOf(global), placement->getAxes(), *mesh));
  }
  if (type == local)
    return success();
  InFlightDiagnostic error = user->emitOpError(); // get_c3, set_c3
  error << "has type " << type << ", but '" << symbol.getValue() << "' has " << global;
  if (local != global)
    error << " (one rank has " << local << ")";
  error.attachNote(target->getLoc()) << "declared here";
  return error;
}

// Before partitioning get and set have the declared type, afterwards the type of a rank's shard.
LogicalResult GetOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return checkAccess(*this, getSymbolAttr(), getType(), symbols);
}

LogicalResult SetOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return checkAccess(*this, getSymbolAttr(), getValue().getType(), symbols);
}

// Requires i64 for the seed, which is 64 random bits, and f32 for all other options of a run.
LogicalResult InputOp::verify() {
  Type element = cast<RankedTensorType>(getType()).getElementType();
  bool isSeed = getRole() == InputRole::Seed;
  if (isSeed != element.isInteger(64)) // input_c1
    return emitOpError() << "'" << stringifyInputRole(getRole()) << "' has element type " << element
                         << ", but " << (isSeed ? "i64" : "f32") << " is wanted";
  return success();
}

void FuncOp::build(OpBuilder &builder, OperationState &state, StringRef name, FunctionType type) {
  state.addAttribute(SymbolTable::getSymbolAttrName(), builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  state.addRegion();
}

// Names the arguments of '@loss' as inputs: that of '%images' is "images".
static void nameInputs(OpAsmParser &parser, StringRef function,
                       MutableArrayRef<OpAsmParser::Argument> arguments) {
  if (function != kLossFunction)
    return;
  for (OpAsmParser::Argument &argument : arguments) {
    NamedAttrList attrs(argument.attrs);
    if (!attrs.get(kInputAttr))
      attrs.set(kInputAttr, parser.getBuilder().getStringAttr(argument.ssaName.name.drop_front()));
    argument.attrs = attrs.getDictionary(parser.getContext());
  }
}

ParseResult FuncOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Type> resultTypes;
  SmallVector<DictionaryAttr> resultAttrs;
  bool isVariadic = false;
  (void)mlir::impl::parseOptionalVisibilityKeyword(parser, result.attributes);
  if (parser.parseSymbolName(name, SymbolTable::getSymbolAttrName(), result.attributes) ||
      function_interface_impl::parseFunctionSignatureWithArguments(
          parser, /*allowVariadic=*/false, arguments, isVariadic, resultTypes, resultAttrs) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  nameInputs(parser, name, arguments);
  SmallVector<Type> types;
  for (const OpAsmParser::Argument &argument : arguments)
    types.push_back(argument.type);
  result.addAttribute(getFunctionTypeAttrName(result.name),
                      TypeAttr::get(builder.getFunctionType(types, resultTypes)));
  call_interface_impl::addArgAndResultAttrs(builder, result, arguments, resultAttrs,
                                            getArgAttrsAttrName(result.name),
                                            getResAttrsAttrName(result.name));
  // The verifier reports a missing body.
  OptionalParseResult body = parser.parseOptionalRegion(*result.addRegion(), arguments);
  return body.has_value() ? ParseResult(*body) : success();
}

// Returns the attributes of the arguments without the names of inputs that the arguments themselves
// show.
static ArrayAttr printedArgAttrs(OpAsmPrinter &printer, FuncOp func) {
  ArrayAttr all = func.getArgAttrsAttr();
  if (!all || func.getSymName() != kLossFunction)
    return all;
  SmallVector<Attribute> printed;
  for (auto [argument, dict] : llvm::zip(func.getArguments(), all.getAsRange<DictionaryAttr>())) {
    std::string shown;
    llvm::raw_string_ostream stream(shown);
    printer.printOperand(argument, stream);
    NamedAttrList attrs(dict);
    if (auto name = dyn_cast_or_null<StringAttr>(attrs.get(kInputAttr));
        name && shown == ("%" + name.getValue()).str())
      attrs.erase(kInputAttr);
    printed.push_back(attrs.getDictionary(func.getContext()));
  }
  return ArrayAttr::get(func.getContext(), printed);
}

void FuncOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  if (std::optional<StringRef> visibility = getSymVisibility())
    printer << *visibility << ' ';
  printer.printSymbolName(getSymName());
  call_interface_impl::printFunctionSignature(
      printer, getArgumentTypes(), printedArgAttrs(printer, *this), /*isVariadic=*/false,
      getResultTypes(), getResAttrsAttr(), &getBody(), /*printEmptyResult=*/false);
  function_interface_impl::printFunctionAttributes(printer, *this,
                                                   {SymbolTable::getVisibilityAttrName(),
                                                    getFunctionTypeAttrName(),
                                                    getArgAttrsAttrName(), getResAttrsAttrName()});
  if (getBody().empty())
    return;
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/true);
}

void FuncOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments())
    if (StringRef name = getInputName(*this, argument.getArgNumber()); !name.empty())
      setName(argument, name);
}

LogicalResult FuncOp::verify() {
  if (!getBody().hasOneBlock()) // func_c1
    return emitOpError() << "has " << getBody().getBlocks().size()
                         << " blocks, but one is wanted: a model has no control flow";
  return success();
}

LogicalResult ReturnOp::verify() {
  auto func = cast<FuncOp>((*this)->getParentOp());
  ArrayRef<Type> wanted = func.getResultTypes();
  if (getNumOperands() != wanted.size()) // return_c1
    return emitOpError() << "returns " << getNumOperands() << " values, but '" << func.getSymName()
                         << "' has " << wanted.size() << " results";
  for (unsigned i = 0; i < wanted.size(); ++i)
    if (getOperand(i).getType() != wanted[i]) // return_c2
      return emitOpError() << "returns " << getOperand(i).getType() << " as result " << i
                           << ", but '" << func.getSymName() << "' has " << wanted[i];
  return success();
}

#define GET_OP_CLASSES
#include "dialects/graph/StructureOps.cpp.inc"
