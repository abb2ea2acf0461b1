// Checks the ops of mixtures of experts without drops.
#include "dialects/graph/RouteOps.h"

#include "dialects/graph/Verify.h"

#include <cmath>

using namespace mlir;
using namespace dtc::graph;

#define GET_OP_CLASSES
#include "dialects/graph/RouteOps.cpp.inc"

namespace {

constexpr int64_t kMostGroups = 64, kMostChoices = 64;

LogicalResult checkI32(Operation *op, StringRef name, Value value) {
  Type type = getElementTypeOrSelf(value);
  if (type.isInteger(32))
    return success();
  return op->emitOpError() << "'" << name << "' has element type " << type << ", but i32 is wanted";
}

LogicalResult checkStaticFrom(Operation *op, StringRef name, RankedTensorType type, int64_t first) {
  for (int64_t dim = first; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      return op->emitOpError() << "dim " << dim << " of '" << name
                               << "' is dynamic; only the batch may be";
  return success();
}

LogicalResult checkScore(Operation *op, StringRef score) {
  if (score == "softmax" || score == "sigmoid" || score == "sqrtsoftplus")
    return success();
  return op->emitOpError() << "'score' is '" << score
                           << "', but softmax, sigmoid or sqrtsoftplus is wanted";
}

LogicalResult checkLogits(Operation *op, RankedTensorType logits) {
  if (failed(checkNumDims(op, "logits", logits, 3)))
    return failure();
  return checkStaticFrom(op, "logits", logits, 1);
}

LogicalResult checkChoices(Operation *op, RankedTensorType logits, StringRef name, Value choices) {
  RankedTensorType type = tensorType(choices);
  if (failed(checkNumDims(op, name, type, 3)) || failed(checkStaticFrom(op, name, type, 1)) ||
      failed(DimList().dims("logits", logits, 0, 2).dims(name, type, 2, 3).check(op, name, type)))
    return failure();
  return checkI32(op, name, choices);
}

// Checks counts[batch, experts] of rows [experts, batch, ...].
LogicalResult checkCounts(Operation *op, RankedTensorType x, Value counts) {
  if (failed(
          DimList().dims("x", x, 1, 2).dims("x", x, 0, 1).check(op, "counts", tensorType(counts))))
    return failure();
  return checkI32(op, "counts", counts);
}

// The tensors that packing, unpacking and the gradient of the weights share.
struct Packed {
  Operation *op;
  Value tokens, rows, rowOf, weights;
  StringRef tokensName, rowsName, weightsName;
  std::optional<ArrayAttr> windows;
  bool isPacking = false, inBlocks = false;

  LogicalResult verify() const {
    RankedTensorType x = tensorType(tokens), y = tensorType(rows), choices = tensorType(rowOf);
    if (failed(checkNumDims(op, tokensName, x, 3)) ||       // pack_rows_c1
        failed(checkStaticFrom(op, tokensName, x, 1)) ||    // pack_rows_c1
        failed(checkNumDims(op, "rowOf", choices, 3)) ||    // pack_rows_c2
        failed(checkStaticFrom(op, "rowOf", choices, 1)) || // pack_rows_c2
        failed(DimList()
                   .dims(tokensName, x, 0, 2)
                   .dims("rowOf", choices, 2, 3)
                   .check(op, "rowOf", choices)) || // pack_rows_c2
        failed(checkI32(op, "rowOf", rowOf)))       // pack_rows_c2
      return failure();
    if (weights &&
        failed(DimList().all("rowOf", choices).check(op, weightsName, tensorType(weights))))
      return failure(); // pack_rows_c3
    if (failed(checkNumDims(op, rowsName, y, 4)) || y.isDynamicDim(0) || y.getDimSize(0) < 1)
      return op->emitOpError() << "'" << rowsName << "' has no static number of experts";
    int64_t mean = llvm::divideCeil(x.getDimSize(1) * choices.getDimSize(2), y.getDimSize(0));
    if (inBlocks) // any room that a round may have
      mean = std::clamp<int64_t>(y.getDimSize(2), 1, x.getDimSize(1) * choices.getDimSize(2));
    // Unpacking some tokens of a sequence reads the rows of all.
    if (!isPacking)
      mean = std::max(mean, y.getDimSize(2));
    if (failed(
            DimList()
                .dims(rowsName, y, 0, 1)
                .dims(tokensName, x, 0, 1)
                .size(mean, "the mean of rows for each of " + Twine(y.getDimSize(0)) + " experts")
                .dims(tokensName, x, 2, 3)
                .check(op, rowsName, y))) // pack_rows_c4
      return failure();
    if (failed(checkSameElement(op, rowsName, y, tokensName, x))) // pack_rows_c4
      return failure();
    if (windows) // pack_rows_c5
      return op->emitOpError()
             << "has experts that are split over ranks, which it has no kernels for yet";
    return success();
  }
};

} // namespace

LogicalResult RouteTokensOp::verify() {
  RankedTensorType logits = tensorType(getLogits());
  if (failed(checkLogits(*this, logits))) // route_c1
    return failure();
  int64_t experts = logits.getDimSize(2);
  if (Value bias = getBias()) // route_c2
    if (failed(DimList().dims("logits", logits, 2, 3).check(*this, "bias", tensorType(bias))) ||
        failed(checkF32(*this, "bias", bias.getType())))
      return failure();
  if (failed(checkScore(*this, getScore()))) // route_c3
    return failure();
  auto groups = static_cast<int64_t>(getGroups()), kept = static_cast<int64_t>(getKept());
  if (groups < 1 || groups > kMostGroups || experts % groups != 0 || kept < 1 ||
      kept > groups) // route_c4
    return emitOpError() << "keeps " << kept << " of " << groups
                         << " groups, but a divisor of the experts, " << experts
                         << ", and at most 64, is wanted, and to keep 1 to all of them";
  auto members = static_cast<int64_t>(getMembers());
  if (members < 1 || members > 2 || members > experts / groups) // route_c5
    return emitOpError() << "'members' is " << members
                         << ", but 1 or 2 is wanted, and no more than a group's "
                         << experts / groups << " experts";
  auto top = static_cast<int64_t>(getTop());
  int64_t most = std::min(kMostChoices, experts / groups * kept);
  if (top < 1 || top > most) // route_c6
    return emitOpError() << "chooses the top " << top << ", but 1 to " << most << " is wanted";
  double epsilon = getEpsilon().convertToDouble();
  if (!(epsilon >= 0) || !std::isfinite(epsilon) ||
      (epsilon > 0 && getScore() == "softmax")) // route_c7
    return emitOpError() << "'epsilon' is " << numberText(epsilon)
                         << ", but 0 or more is wanted, and 0 for a softmax";
  if (!std::isfinite(getScale().convertToDouble())) // route_c8
    return emitOpError() << "'scale' is " << numberText(getScale().convertToDouble())
                         << ", but a number is wanted";
  DimList choices;
  choices.dims("logits", logits, 0, 2).size(top, "'top'");
  if (failed(choices.check(*this, "weights", tensorType(getWeights()))) || // route_c9
      failed(checkSameElement(*this, "weights", getWeights().getType(), "logits", logits)) ||
      failed(choices.check(*this, "experts", tensorType(getExperts())))) // route_c10
    return failure();
  return checkI32(*this, "experts", getExperts()); // route_c10
}

LogicalResult RouteGradOp::verify() {
  RankedTensorType logits = tensorType(getLogits());
  if (failed(checkLogits(*this, logits)) ||                           // route_grad_c1
      failed(checkChoices(*this, logits, "experts", getExperts())) || // route_grad_c2
      failed(DimList()
                 .all("experts", tensorType(getExperts()))
                 .check(*this, "dweights", tensorType(getDweights()))) || // route_grad_c3
      failed(checkScore(*this, getScore())) ||                            // route_grad_c4
      failed(DimList().all("logits", logits).check(*this, "result", getType())))
    return failure(); // route_grad_c5
  return checkSameElement(*this, "result", getType(), "logits", logits);
}

LogicalResult PlaceRowsOp::verify() {
  RankedTensorType experts = tensorType(getExperts()), counts = tensorType(getCounts());
  if (failed(checkNumDims(*this, "experts", experts, 3)) ||    // place_rows_c1
      failed(checkStaticFrom(*this, "experts", experts, 1)) || // place_rows_c1
      failed(checkI32(*this, "experts", getExperts())) ||      // place_rows_c1
      failed(DimList()
                 .all("experts", experts)
                 .check(*this, "rowOf",
                        tensorType(getRowOf()))) ||          // place_rows_c2
      failed(checkI32(*this, "rowOf", getRowOf())) ||        // place_rows_c2
      failed(checkNumDims(*this, "counts", counts, 2)) ||    // place_rows_c3
      failed(checkStaticFrom(*this, "counts", counts, 1)) || // place_rows_c3
      failed(DimList()
                 .dims("experts", experts, 0, 1)
                 .dims("counts", counts, 1, 2)
                 .check(*this, "counts", counts))) // place_rows_c3
    return failure();
  auto ranks = static_cast<int64_t>(getRanks());
  if (ranks < 1 || counts.isDynamicDim(1) || counts.getDimSize(1) % ranks != 0) // place_rows_c4
    return emitOpError() << "is for experts on " << ranks << " ranks, but a divisor of their "
                         << "number is wanted";
  return checkI32(*this, "counts", getCounts()); // place_rows_c3
}

LogicalResult PackRowsOp::verify() {
  return Packed{*this,    getTokens(), getResult(),  getRowOf(),         getWeights(), "tokens",
                "result", "weights",   getWindows(), /*isPacking=*/true, getBlocks()}
      .verify();
}

LogicalResult UnpackRowsOp::verify() {
  return Packed{*this,    getResult(), getRows(), getRowOf(),  getWeights(),
                "result", "rows",      "weights", getWindows()}
      .verify();
}

LogicalResult UnpackWeightGradOp::verify() {
  return Packed{*this,    getTokens(), getRows(), getRowOf(),  getResult(),
                "tokens", "rows",      "result",  getWindows()}
      .verify();
}

// Checks rows [experts, batch, rows, columns...] of another tensor's experts, samples and rows.
static LogicalResult checkRows(Operation *op, StringRef name, RankedTensorType type,
                               StringRef ofName, RankedTensorType of) {
  if (failed(checkAtLeastDims(op, name, type, 4)))
    return failure();
  return DimList().dims(ofName, of, 0, 3).dims(name, type, 3, type.getRank()).check(op, name, type);
}

// Checks a weight of experts against the columns of x and y.
static LogicalResult checkWeight(Operation *op, StringRef name, RankedTensorType weight,
                                 bool isTransposed, RankedTensorType x, StringRef yName,
                                 RankedTensorType y) {
  DimList wanted;
  wanted.dims("x", x, 0, 1);
  if (isTransposed)
    wanted.dims(yName, y, 3, y.getRank());
  wanted.dims("x", x, 3, x.getRank());
  if (!isTransposed)
    wanted.dims(yName, y, 3, y.getRank());
  return wanted.check(op, name, weight);
}

LogicalResult GroupedLinearOp::verify() {
  RankedTensorType x = tensorType(getX()), weight = tensorType(getWeight());
  if (failed(checkRows(*this, "x", x, "x", x)) ||              // grouped_linear_c1
      failed(checkRows(*this, "result", getType(), "x", x)) || // grouped_linear_c2
      failed(checkWeight(*this, "weight", weight, getTransposed(), x, "result",
                         getType())) ||                          // grouped_linear_c3
      failed(checkCounts(*this, x, getCounts())) ||              // grouped_linear_c4
      failed(checkSameElement(*this, "weight", weight, "x", x))) // grouped_linear_c5
    return failure();
  return checkProductElement(*this, getType(), "x", x); // grouped_linear_c6
}

LogicalResult GroupedLinearWeightGradOp::verify() {
  RankedTensorType x = tensorType(getX()), dy = tensorType(getDy());
  if (failed(checkRows(*this, "x", x, "x", x)) ||   // grouped_linear_weight_grad_c1
      failed(checkRows(*this, "dy", dy, "x", x)) || // grouped_linear_weight_grad_c2
      failed(checkCounts(*this, x, getCounts())) || // grouped_linear_weight_grad_c3
      failed(checkWeight(*this, "result", getType(), getTransposed(), x, "dy",
                         dy)) ||                         // grouped_linear_weight_grad_c4
      failed(checkSameElement(*this, "dy", dy, "x", x))) // grouped_linear_weight_grad_c5
    return failure();
  return checkProductElement(*this, getType(), "x", x); // grouped_linear_weight_grad_c6
}
