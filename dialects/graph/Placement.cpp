// The placement attribute, and what a placement makes of a tensor on a mesh.
#include "dialects/graph/Placement.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"

using namespace mlir;
using namespace dtc::graph;

static FailureOr<AxisPlacement> parseAxis(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (failed(parser.parseKeyword(&keyword)))
    return failure();
  if (keyword == "replicate")
    return AxisPlacement::replicate();
  if (keyword == "shard") {
    int64_t dim = 0;
    if (failed(parser.parseLParen()) || failed(parser.parseInteger(dim)) ||
        failed(parser.parseRParen()))
      return failure();
    return AxisPlacement::shard(dim);
  }
  if (keyword == "partial") {
    StringRef name;
    if (failed(parser.parseLParen()) || failed(parser.parseKeyword(&name)) ||
        failed(parser.parseRParen()))
      return failure();
    std::optional<ReduceKind> kind = symbolizeReduceKind(name);
    if (kind && *kind != ReduceKind::Mean)
      return AxisPlacement::partial(*kind);
    parser.emitError(loc) << "a partial placement combines by '" << name
                          << "', but only sum and max are possible";
    return failure();
  }
  parser.emitError(loc) << "placement '" << keyword
                        << "' is not known; write replicate, shard(dim) or partial(sum|max)";
  return failure();
}

Attribute PlacementAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisPlacement> axes;
  auto parseOne = [&]() -> ParseResult {
    FailureOr<AxisPlacement> axis = parseAxis(parser);
    if (succeeded(axis))
      axes.push_back(*axis);
    return success(succeeded(axis));
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne, " in placement") ||
      parser.parseGreater())
    return {};
  return PlacementAttr::getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                                   ArrayRef<AxisPlacement>(axes));
}

void PlacementAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getAxes(), printer, [&](const AxisPlacement &axis) {
    switch (axis.kind) {
    case AxisPlacement::Kind::Replicate:
      printer << "replicate";
      break;
    case AxisPlacement::Kind::Shard:
      printer << "shard(" << axis.dim << ")";
      break;
    case AxisPlacement::Kind::Partial:
      printer << "partial(" << stringifyReduceKind(axis.reduce) << ")";
      break;
    }
  });
  printer << "]>";
}

LogicalResult PlacementAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                    ArrayRef<AxisPlacement> axes) {
  for (const auto &[i, axis] : llvm::enumerate(axes))
    if (axis.isShard() && axis.dim < 0)
      return emitError() << "placement on mesh axis " << i << " splits dim " << axis.dim
                         << ", but dims count from 0";
  return success();
}

std::optional<SmallVector<int64_t>> dtc::graph::getMeshSizes(Operation *insideModule) {
  auto module = dyn_cast<ModuleOp>(insideModule);
  if (!module)
    module = insideModule->getParentOfType<ModuleOp>();
  auto grid = module ? module.lookupSymbol<shard::GridOp>(kMeshName) : nullptr;
  if (!grid)
    return std::nullopt;
  return SmallVector<int64_t>(grid.getShape());
}

RankedTensorType dtc::graph::getLocalType(RankedTensorType global, PlacementAttr placement,
                                          ArrayRef<int64_t> meshSizes) {
  SmallVector<int64_t> shape(global.getShape());
  for (auto [axis, size] : llvm::zip(placement.getAxes(), meshSizes)) {
    if (!axis.isShard() || axis.dim >= global.getRank() || size < 1)
      continue;
    int64_t &dim = shape[axis.dim];
    if (!ShapedType::isDynamic(dim))
      dim = dim / size + (dim % size != 0);
  }
  return RankedTensorType::get(shape, global.getElementType());
}
