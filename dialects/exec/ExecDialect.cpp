// Defines the exec dialect, its attributes and types, and queries on buffers.
#include "dialects/exec/GroupedOps.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace dtc::exec;

// Largest number of mesh axes; keeps a typing error from creating a huge attribute.
static constexpr int64_t kMaxMeshAxes = 64;

#include "dialects/exec/ExecDialect.cpp.inc"
#include "dialects/exec/ExecEnums.cpp.inc"
#include "dialects/exec/ExecInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/exec/ExecAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/exec/ExecTypes.cpp.inc"

void ExecDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/exec/ExecAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/exec/ExecTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/exec/StructureOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/exec/InstructionOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/exec/GroupedOps.cpp.inc"
      >();
}

// Parses base ((`+` | `-`) stride `*` (`axis` index | `micro_batch` | `layer`))*.
Attribute RankScalarAttr::parse(AsmParser &parser, Type) {
  int64_t base = 0, microBatchStride = 0, layerStride = 0;
  SmallVector<std::pair<int64_t, int64_t>> terms;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseInteger(base))
    return {};
  while (true) {
    bool plus = succeeded(parser.parseOptionalPlus());
    if (!plus && failed(parser.parseOptionalMinus()))
      break;
    int64_t stride = 0, axis = 0;
    if (parser.parseInteger(stride) || parser.parseStar())
      return {};
    if (!plus)
      stride = -stride;
    if (succeeded(parser.parseOptionalKeyword("micro_batch"))) {
      microBatchStride += stride;
      continue;
    }
    if (succeeded(parser.parseOptionalKeyword("layer"))) {
      layerStride += stride;
      continue;
    }
    if (parser.parseKeyword("axis") || parser.parseInteger(axis))
      return {};
    if (axis < 0 || axis >= kMaxMeshAxes) {
      parser.emitError(loc) << "a rank scalar names mesh axis " << axis << ", but axes are 0 to "
                            << kMaxMeshAxes - 1;
      return {};
    }
    terms.emplace_back(axis, stride);
  }
  if (parser.parseGreater())
    return {};
  return getOfTerms(parser.getContext(), base, terms, microBatchStride, layerStride);
}

void RankScalarAttr::print(AsmPrinter &printer) const {
  auto term = [&](int64_t stride, const Twine &index) {
    if (stride != 0)
      printer << (stride < 0 ? " - " : " + ") << (stride < 0 ? -stride : stride) << " * "
              << index.str();
  };
  printer << '<' << getBase();
  for (auto [axis, stride] : llvm::enumerate(getStrides()))
    term(stride, "axis " + Twine(axis));
  term(getMicroBatchStride(), "micro_batch");
  term(getLayerStride(), "layer");
  printer << '>';
}

LogicalResult RankScalarAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, int64_t,
                                     ArrayRef<int64_t> strides, int64_t, int64_t) {
  if (!strides.empty() && strides.back() == 0)
    return emitError() << "a rank scalar ends with a stride of 0; leave it out";
  return success();
}

LogicalResult RanksAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, StringRef name,
                                int64_t size, ArrayRef<int64_t> members) {
  if (size < 1 || members.empty() || static_cast<int64_t>(members.size()) % size != 0)
    return emitError() << "ranks '" << name << "' are " << members.size() << " in lists of " << size
                       << "; want whole lists of 1 or more";
  llvm::SmallDenseSet<int64_t> seen;
  for (int64_t rank : members)
    if (rank < 0 || !seen.insert(rank).second)
      return emitError() << "ranks '" << name << "' have " << rank
                         << (rank < 0 ? "; want 0 or more" : " twice");
  return success();
}

RankScalarAttr RankScalarAttr::getOfTerms(MLIRContext *context, int64_t base,
                                          ArrayRef<std::pair<int64_t, int64_t>> terms,
                                          int64_t microBatchStride, int64_t layerStride) {
  SmallVector<int64_t> strides;
  for (auto [axis, stride] : terms) {
    if (axis >= static_cast<int64_t>(strides.size()))
      strides.resize(axis + 1, 0);
    strides[axis] += stride;
  }
  while (!strides.empty() && strides.back() == 0)
    strides.pop_back();
  return get(context, base, strides, microBatchStride, layerStride);
}

std::pair<int64_t, int64_t> RankScalarAttr::getBounds(ArrayRef<int64_t> axisSizes,
                                                      int64_t microBatches, int64_t layers) const {
  int64_t low = getBase(), high = low;
  auto reach = [&](int64_t stride, int64_t size) {
    (stride < 0 ? low : high) += stride * (size - 1);
  };
  for (auto [stride, size] : llvm::zip(getStrides(), axisSizes))
    reach(stride, size);
  reach(getMicroBatchStride(), microBatches);
  reach(getLayerStride(), layers);
  return {low, high};
}
