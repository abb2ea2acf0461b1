// Checks the discardable attributes of the graph dialect: each is declared, is on the right kind of
// op and holds a valid value.
#include "dialects/graph/Attributes.h"

#include "dialects/graph/CompressionAttributes.h"
#include "dialects/graph/Context.h"
#include "dialects/graph/GradientType.h"
#include "dialects/graph/HostMemory.h"
#include "dialects/graph/Inputs.h"
#include "dialects/graph/LossChunks.h"
#include "dialects/graph/ModelConfig.h"
#include "dialects/graph/Recompute.h"
#include "dialects/graph/RoundAttribute.h"
#include "dialects/graph/ShapeOps.h"
#include "dialects/graph/StageAttributes.h"
#include "dialects/graph/StateAttributes.h"
#include "dialects/graph/Unfinished.h"

#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace dtc::graph;

namespace {
// The kinds of holders that an attribute may be on.
enum class Holder { Module, Mesh, Collective, Shard, Op, Argument, Result };

StringRef nameOf(Holder holder) {
  switch (holder) {
  case Holder::Module:
    return "the module";
  case Holder::Mesh:
    return "'shard.grid'";
  case Holder::Collective:
    return "a collective of the 'shard' dialect";
  case Holder::Shard:
    return "an op of the 'shard' dialect";
  case Holder::Op:
    return "an op of the 'graph' dialect";
  case Holder::Argument:
    return "an argument of 'graph.func'";
  case Holder::Result:
    return "a result of 'graph.func'";
  }
  llvm_unreachable("all holders have a name");
}

bool isWhole(Attribute value) {
  auto number = dyn_cast<IntegerAttr>(value);
  return number && number.getType().isInteger(64);
}
bool isCount(Attribute value) {
  auto number = dyn_cast<IntegerAttr>(value);
  return number && number.getType().isInteger(64) && number.getInt() >= 1;
}
bool isZeroStage(Attribute value) {
  auto number = dyn_cast<IntegerAttr>(value);
  return number && number.getType().isInteger(64) && number.getInt() >= 0 && number.getInt() <= 3;
}
bool isIndex(Attribute value) { return isWhole(value) && cast<IntegerAttr>(value).getInt() >= 0; }
bool isIndices(Attribute value) {
  auto list = dyn_cast<DenseI64ArrayAttr>(value);
  return list && llvm::all_of(list.asArrayRef(), [](int64_t entry) { return entry >= 0; });
}
bool isTriples(Attribute value) {
  return isIndices(value) && cast<DenseI64ArrayAttr>(value).size() % 3 == 0;
}
bool isOneOf(Attribute value, ArrayRef<StringRef> words) {
  auto text = dyn_cast<StringAttr>(value);
  return text && llvm::is_contained(words, text.getValue());
}
bool isPhase(Attribute value) { return isOneOf(value, {"forward", "backward"}); }
bool isRecompute(Attribute value) {
  auto text = dyn_cast<StringAttr>(value);
  return text && dtc::recomputeFrom(text.getValue());
}
bool isKeyTravel(Attribute value) {
  auto text = dyn_cast<StringAttr>(value);
  return text && keyTravelFrom(text.getValue());
}
bool isName(Attribute value) {
  auto text = dyn_cast<StringAttr>(value);
  return text && !text.empty();
}
bool isNames(Attribute value) {
  auto names = dyn_cast<ArrayAttr>(value);
  return names && llvm::all_of(names, isName);
}
bool isRoles(Attribute value) {
  auto isRole = [](Attribute role) {
    auto text = dyn_cast<StringAttr>(role);
    return text && symbolizeAxisRole(text.getValue());
  };
  auto roles = dyn_cast<ArrayAttr>(value);
  return roles && llvm::all_of(roles, isRole);
}
bool isGradientType(Attribute value) {
  auto name = dyn_cast<StringAttr>(value);
  return name && dtc::offeredGradientTypeFrom(name.getValue());
}
template <typename Attr> bool isOf(Attribute value) { return isa<Attr>(value); }

struct Declaration {
  StringRef name;
  SmallVector<Holder, 2> holders;
  bool (*fits)(Attribute);
  std::string wanted;
};

const std::vector<Declaration> &declarations() {
  static const std::vector<Declaration> all = {
      {kSequenceLengthAttr, {Holder::Module}, isCount, "a whole number of 1 or more (i64)"},
      {kConfigAttr, {Holder::Module}, isName, "a JSON object"},
      {kTiedAttr, {Holder::Module}, isName, "a JSON object of names"},
      {kSamplesAttr, {Holder::Module}, isCount, "a whole number of 1 or more (i64)"},
      {kMicroBatchesAttr, {Holder::Module}, isCount, "a whole number of 1 or more (i64)"},
      {kZeroAttr, {Holder::Module}, isZeroStage, "a whole number from 0 to 3 (i64)"},
      {kSequenceParallelAttr, {Holder::Module}, isOf<UnitAttr>, "no value"},
      {kKeyTravelAttr, {Holder::Module}, isKeyTravel, "gather or ring"},
      {kGradDtypeAttr,
       {Holder::Module},
       isGradientType,
       dtc::alternatives(dtc::offeredGradientTypes())},
      {kLossChunksAttr, {Holder::Module}, isCount, "a whole number of 1 or more (i64)"},
      {kLossChunkAttr, {Holder::Op, Holder::Shard}, isIndex, "a whole number of 0 or more (i64)"},
      {kStageOfChunkAttr,
       {Holder::Module},
       isIndices,
       "an array<i64> of stages, which count from 0"},
      {kOrderAttr,
       {Holder::Module},
       isTriples,
       "an array<i64> of triples: kind, chunk and micro-batch, 0 or more each"},
      {kStageAttr, {Holder::Module}, isIndex, "a whole number of 0 or more (i64)"},
      {kAxisNamesAttr, {Holder::Mesh}, isNames, "an array of names"},
      {kAxisRolesAttr,
       {Holder::Mesh},
       isRoles,
       "an array of roles: data, tensor, context, expert or pipeline"},
      {kInputAttr, {Holder::Argument}, isName, "a name"},
      {kBelowAttr, {Holder::Argument}, isCount, "a whole number of 1 or more (i64)"},
      {kIgnoredAttr, {Holder::Argument}, isWhole, "a whole number (i64)"},
      {kOutputAttr, {Holder::Result}, isName, "a name"},
      {kGradientOfAttr,
       {Holder::Argument, Holder::Result},
       isOf<FlatSymbolRefAttr>,
       "the symbol of a parameter"},
      {kAccumulatedAttr, {Holder::Argument, Holder::Result}, isName, "a name"},
      {kRowsAttr, {Holder::Result}, isCount, "a whole number of 1 or more (i64)"},
      {kPlacementAttr,
       {Holder::Argument, Holder::Result},
       isOf<PlacementAttr>,
       "a #graph.placement"},
      {kAddsUpAttr, {Holder::Op}, isOf<UnitAttr>, "no value"},
      {kSavedAttr, {Holder::Result}, isOf<UnitAttr>, "no value"},
      {kChunkAttr, {Holder::Op, Holder::Shard}, isIndex, "a whole number of 0 or more (i64)"},
      {kPhaseAttr, {Holder::Op, Holder::Shard}, isPhase, "forward or backward"},
      {kRecomputeAttr, {Holder::Op}, isRecompute, dtc::listOfRecomputes()},
      {kHostAttr, {Holder::Op}, isOf<UnitAttr>, "no value"},
      {kRateAttr, {Holder::Op}, isOf<FloatAttr>, "a number (f64)"},
      {kCopiesAttr, {Holder::Op}, isCount, "a whole number of 1 or more (i64)"},
      {kBlockAttr, {Holder::Op}, isCount, "a whole number of 1 or more (i64)"},
      {kStatisticAttr, {Holder::Op}, isOf<UnitAttr>, "no value"},
      {kByRankAttr, {Holder::Op}, isOf<UnitAttr>, "no value"},
      {kOwnShapeAttr, {Holder::Op}, isOf<UnitAttr>, "no value"},
      {kCompressedAttr, {Holder::Op}, isOf<UnitAttr>, "no value"},
      {kExchangedAttr, {Holder::Op}, isOf<UnitAttr>, "no value"},
      {kDecompressedAttr, {Holder::Op}, isOf<UnitAttr>, "no value"},
      {kWideAttr, {Holder::Op}, isOf<UnitAttr>, "no value"},
      {kLaterRoundAttr, {Holder::Op}, isOf<UnitAttr>, "no value"},
      {kSplitsAttr, {Holder::Op}, isOf<DenseI64ArrayAttr>, "an array<i64>"},
      {kUnfinishedAttr, {Holder::Op}, isIndices, "an array<i64> of sets of mesh axes, as bits"},
      {kCommunicationAttr, {Holder::Collective}, isOf<CommunicationAttr>, "a #graph.communication"},
  };
  return all;
}

bool isHolder(Operation *op, Holder holder) {
  switch (holder) {
  case Holder::Module:
    return isa<ModuleOp>(op);
  case Holder::Mesh:
    return isa<shard::GridOp>(op);
  case Holder::Collective:
    return isCollective(op);
  case Holder::Shard:
    return isa<shard::ShardDialect>(op->getDialect());
  case Holder::Op:
    return isa<GraphDialect>(op->getDialect());
  case Holder::Argument:
  case Holder::Result:
    return false;
  }
  llvm_unreachable("all holders are told apart");
}

// Returns the declared name that is nearest to a mistyped one; empty if none is near.
StringRef nearest(StringRef name) {
  StringRef best;
  unsigned least = 4; // more edits mean another name
  for (const Declaration &declared : declarations())
    if (unsigned distance = name.edit_distance(declared.name); distance < least) {
      least = distance;
      best = declared.name;
    }
  return best;
}

// Checks one attribute. `where` is "" or "argument 2 " for messages; `stands` returns true if the
// op is a holder of that kind.
LogicalResult check(Operation *op, const Twine &where, NamedAttribute attribute,
                    llvm::function_ref<bool(Holder)> stands) {
  StringRef name = attribute.getName();
  auto declared = llvm::find_if(
      declarations(), [&](const Declaration &declaration) { return declaration.name == name; });
  if (declared == declarations().end()) {
    InFlightDiagnostic error = op->emitOpError() << where << "has attribute '" << name
                                                 << "', which the graph dialect does not declare";
    if (StringRef meant = nearest(name); !meant.empty())
      error << "; did you mean '" << meant << "'?";
    return error;
  }
  if (llvm::none_of(declared->holders, stands)) {
    InFlightDiagnostic error = op->emitOpError()
                               << where << "has attribute '" << name << "', which belongs on ";
    llvm::interleave(
        declared->holders, error, [&](Holder holder) { error << nameOf(holder); }, " or ");
    return error;
  }
  if (!declared->fits(attribute.getValue()))
    return op->emitOpError() << where << "has '" << name << "' of " << attribute.getValue()
                             << ", but " << declared->wanted << " is wanted";
  return success();
}

// Checks that the placement of an argument or result splits dims that exist.
LogicalResult checkPlacement(Operation *op, const Twine &where, NamedAttribute attribute,
                             Type type) {
  auto placement = dyn_cast<PlacementAttr>(attribute.getValue());
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (attribute.getName() != kPlacementAttr || !placement || !tensor)
    return success();
  for (const auto &[axis, split] : llvm::enumerate(placement.getAxes()))
    if (split.isShard() && split.dim >= tensor.getRank())
      return op->emitOpError() << where << "is split along dim " << split.dim << " on mesh axis "
                               << axis << ", but has " << tensor.getRank() << " dims";
  return success();
}
} // namespace

LogicalResult GraphDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (failed(check(op, "", attribute, [&](Holder holder) { return isHolder(op, holder); })))
    return failure();
  auto grid = dyn_cast<shard::GridOp>(op);
  bool isNames = attribute.getName() == kAxisNamesAttr;
  if (!grid || (!isNames && attribute.getName() != kAxisRolesAttr))
    return success();
  size_t entries = cast<ArrayAttr>(attribute.getValue()).size();
  StringRef entry = isNames ? "name" : "role";
  if (entries != grid.getShape().size())
    return op->emitOpError() << "has " << entries << " " << entry << "s in '"
                             << attribute.getName().getValue() << "', but a " << entry
                             << " for each of its " << grid.getShape().size() << " axes is wanted";
  return success();
}

LogicalResult GraphDialect::verifyRegionArgAttribute(Operation *op, unsigned region, unsigned index,
                                                     NamedAttribute attribute) {
  std::string where = "argument " + std::to_string(index) + " ";
  if (failed(
          check(op, where, attribute, [&](Holder holder) { return holder == Holder::Argument; })))
    return failure();
  if (failed(checkInputName(op, index, attribute)))
    return failure();
  return checkPlacement(op, where, attribute, op->getRegion(region).getArgument(index).getType());
}

LogicalResult GraphDialect::verifyRegionResultAttribute(Operation *op, unsigned region,
                                                        unsigned index, NamedAttribute attribute) {
  std::string where = "result " + std::to_string(index) + " ";
  if (failed(check(op, where, attribute, [&](Holder holder) { return holder == Holder::Result; })))
    return failure();
  auto function = dyn_cast<FunctionOpInterface>(op);
  return function ? checkPlacement(op, where, attribute, function.getResultTypes()[index])
                  : success();
}

Attribute CommunicationAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseLess() || parser.parseKeyword(&keyword))
    return {};
  std::optional<CollectiveRole> role = symbolizeCollectiveRole(keyword);
  if (!role) {
    parser.emitError(loc) << "role '" << keyword
                          << "' is not known; write gradient, parameter, activation, expert, "
                             "pipeline or control";
    return {};
  }
  bool async = succeeded(parser.parseOptionalKeyword("async"));
  int64_t use = 0;
  if (succeeded(parser.parseOptionalKeyword("use")) && parser.parseInteger(use))
    return {};
  if (parser.parseGreater())
    return {};
  return CommunicationAttr::getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                                       *role, async, use);
}

void CommunicationAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyCollectiveRole(getRole());
  if (getAsync())
    printer << " async";
  if (getUse() > 0)
    printer << " use " << getUse();
  printer << ">";
}

LogicalResult CommunicationAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                        CollectiveRole role, bool, int64_t use) {
  if (use < 0)
    return emitError() << "uses count from 1, not " << use;
  if (use > 0 && role != CollectiveRole::Parameter && role != CollectiveRole::Activation)
    return emitError() << "only a parameter or an activation is brought to one of its uses, not "
                       << stringifyCollectiveRole(role);
  return success();
}
