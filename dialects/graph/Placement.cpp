// Implements the placement attribute and its effect on a tensor on a mesh.
#include "dialects/graph/Placement.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"

using namespace mlir;
using namespace dtc::graph;

// Parses `(` dim (`,` `level` n)? (`,` `zigzag`)? `)`.
static FailureOr<AxisPlacement> parseShard(AsmParser &parser) {
  int64_t dim = 0, level = 0;
  bool zigzag = false;
  if (parser.parseLParen() || parser.parseInteger(dim))
    return failure();
  while (succeeded(parser.parseOptionalComma())) {
    if (succeeded(parser.parseOptionalKeyword("zigzag")))
      zigzag = true;
    else if (parser.parseKeyword("level") || parser.parseInteger(level))
      return failure();
  }
  if (parser.parseRParen())
    return failure();
  return AxisPlacement::shard(dim, level, zigzag);
}

static FailureOr<AxisPlacement> parseAxis(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (failed(parser.parseKeyword(&keyword)))
    return failure();
  if (keyword == "replicate")
    return AxisPlacement::replicate();
  if (keyword == "shard")
    return parseShard(parser);
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

std::string dtc::graph::toString(const AxisPlacement &placement) {
  if (placement.isReplicate())
    return "replicate";
  if (placement.isPartial())
    return "partial(" + stringifyReduceKind(placement.reduce).str() + ")";
  std::string text = "shard(" + std::to_string(placement.dim);
  if (placement.level)
    text += ", level " + std::to_string(placement.level);
  return text + (placement.zigzag ? ", zigzag)" : ")");
}

void PlacementAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getAxes(), printer,
                        [&](const AxisPlacement &axis) { printer << toString(axis); });
  printer << "]>";
}

LogicalResult PlacementAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                    ArrayRef<AxisPlacement> axes) {
  for (const auto &[i, axis] : llvm::enumerate(axes))
    if (axis.isShard() && axis.dim < 0)
      return emitError() << "placement on mesh axis " << i << " splits dim " << axis.dim
                         << ", but dims count from 0";
  SmallVector<AxisPlacement, 3> canonical = canonicalPlacement(axes);
  for (const auto &[i, axis] : llvm::enumerate(axes)) {
    if (!(axis == canonical[i]))
      return emitError() << "placement on mesh axis " << i << " is " << toString(axis)
                         << ", but the levels of the axes that split dim " << axis.dim
                         << " are numbered from 0, one up where a later axis of the mesh stands "
                            "outside: write "
                         << toString(canonical[i]);
    for (const auto &[other, before] : llvm::enumerate(axes.take_front(i)))
      if (axis.zigzag && before.zigzag && axis.dim == before.dim)
        return emitError() << "placement splits dim " << axis.dim << " zigzag over mesh axes "
                           << other << " and " << i << ", but one at most is possible";
  }
  return success();
}

LogicalResult WindowAttr::verify(function_ref<InFlightDiagnostic()> emitError, unsigned loop,
                                 int64_t local, int64_t global, ArrayRef<int64_t> axes,
                                 int64_t zigzag) {
  for (const auto &[i, axis] : llvm::enumerate(axes))
    if (axis < 0 || llvm::is_contained(axes.take_front(i), axis))
      return emitError() << "window of loop " << loop << " is split over mesh axis " << axis
                         << (axis < 0 ? ", but axes count from 0" : " twice");
  if (zigzag >= 0 && !llvm::is_contained(axes, zigzag))
    return emitError() << "window of loop " << loop << " is zigzag over mesh axis " << zigzag
                       << ", which does not split it";
  if (zigzag >= 0 && local % 2 != 0)
    return emitError() << "window of loop " << loop << " is zigzag, so its " << local
                       << " indices must be two equal pieces";
  return success();
}

// Returns the axes that split `dim`, outermost first.
static SmallVector<unsigned, 2> orderedAxes(ArrayRef<AxisPlacement> placement, int64_t dim) {
  SmallVector<unsigned, 2> axes;
  for (unsigned axis = 0; axis < placement.size(); ++axis)
    if (placement[axis].isShard() && placement[axis].dim == dim)
      axes.push_back(axis);
  llvm::sort(axes, [&](unsigned a, unsigned b) {
    return std::pair(placement[a].level, a) < std::pair(placement[b].level, b);
  });
  return axes;
}

SmallVector<AxisPlacement, 3> dtc::graph::canonicalPlacement(ArrayRef<AxisPlacement> placement) {
  SmallVector<AxisPlacement, 3> result(placement);
  for (const AxisPlacement &first : placement) {
    if (!first.isShard())
      continue;
    int64_t level = 0;
    unsigned outer = 0;
    for (unsigned axis : orderedAxes(placement, first.dim)) {
      level += axis < outer;
      result[axis].level = level;
      outer = axis;
    }
  }
  return result;
}

DimSplit dtc::graph::getDimSplit(ArrayRef<AxisPlacement> placement, ArrayRef<int64_t> meshSizes,
                                 int64_t dim) {
  DimSplit split;
  for (unsigned axis : orderedAxes(placement, dim)) {
    if (meshSizes[axis] <= 1)
      continue;
    if (placement[axis].zigzag) {
      split.zigzag = static_cast<int>(split.axes.size());
      split.pieces = 2;
    }
    split.axes.push_back(axis);
    split.parts *= meshSizes[axis];
  }
  return split;
}

SmallVector<PieceStart, 2> dtc::graph::getPieceStarts(const DimSplit &split, int64_t global,
                                                      ArrayRef<int64_t> meshSizes) {
  SmallVector<PieceStart, 2> starts(split.pieces);
  // Goes from the inside out: a step on an axis skips all pieces of the axes inside of it.
  int64_t stride = split.pieceSize(global);
  for (size_t position = split.axes.size(); position-- > 0;) {
    unsigned axis = split.axes[position];
    bool zigzag = static_cast<int>(position) == split.zigzag;
    int64_t chunks = meshSizes[axis] * (zigzag ? 2 : 1);
    for (auto [piece, start] : llvm::enumerate(starts)) {
      bool mirrored = zigzag && piece == 1;
      start.terms.insert(start.terms.begin(), {axis, mirrored ? -stride : stride});
      start.base += mirrored ? (chunks - 1) * stride : 0;
    }
    stride *= chunks;
  }
  return starts;
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

WindowAttr dtc::graph::getWindow(MLIRContext *context, unsigned loop, const DimSplit &split,
                                 int64_t global) {
  SmallVector<int64_t> axes(split.axes.begin(), split.axes.end());
  return WindowAttr::get(context, loop, split.localSize(global), global, axes,
                         split.zigzag < 0 ? -1 : axes[split.zigzag]);
}

FailureOr<SmallVector<PieceStart, 2>> dtc::graph::getPieceStarts(WindowAttr window,
                                                                 ArrayRef<int64_t> meshSizes) {
  DimSplit split;
  for (int64_t axis : window.getAxes()) {
    if (axis >= static_cast<int64_t>(meshSizes.size()))
      return failure();
    if (meshSizes[axis] == 1)
      continue;
    if (axis == window.getZigzag()) {
      split.zigzag = static_cast<int>(split.axes.size());
      split.pieces = 2;
    }
    split.axes.push_back(static_cast<unsigned>(axis));
    split.parts *= meshSizes[axis];
  }
  if (split.pieces != window.getPieces() ||
      (!split.axes.empty() && split.localSize(window.getGlobal()) != window.getLocal()))
    return failure();
  return getPieceStarts(split, window.getGlobal(), meshSizes);
}

RankedTensorType dtc::graph::getLocalType(RankedTensorType global,
                                          ArrayRef<AxisPlacement> placement,
                                          ArrayRef<int64_t> meshSizes) {
  SmallVector<int64_t> shape(global.getShape());
  for (int64_t dim = 0; dim < global.getRank(); ++dim)
    if (!ShapedType::isDynamic(shape[dim]))
      shape[dim] = getDimSplit(placement, meshSizes, dim).localSize(shape[dim]);
  return RankedTensorType::get(shape, global.getElementType());
}
