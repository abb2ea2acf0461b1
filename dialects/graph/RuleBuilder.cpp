// Builds the rules of ops.
#include "dialects/graph/RuleBuilder.h"

#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

DimLoops RuleBuilder::loop(int64_t size, LoopKind kind) {
  rule.loops.push_back({size, kind});
  return {static_cast<unsigned>(rule.loops.size() - 1)};
}

TensorLoops RuleBuilder::loops(Value value, int64_t begin, int64_t end, LoopKind kind) {
  RankedTensorType type = tensorType(value);
  TensorLoops dims;
  for (int64_t dim = begin, last = end < 0 ? type.getRank() : end; dim < last; ++dim)
    dims.push_back(loop(type.getDimSize(dim), kind));
  return dims;
}

RuleBuilder &RuleBuilder::operand(TensorLoops dims) {
  rule.operands.push_back(std::move(dims));
  return *this;
}
RuleBuilder &RuleBuilder::completeOperand(TensorLoops dims) {
  rule.completeOperands.push_back(rule.operands.size());
  return operand(std::move(dims));
}
RuleBuilder &RuleBuilder::result(TensorLoops dims) {
  rule.results.push_back(std::move(dims));
  return *this;
}
RuleBuilder &RuleBuilder::scalars(Operation *op) {
  rule.operands.resize(op->getNumOperands());
  return *this;
}
RuleBuilder &RuleBuilder::indexed(const TensorLoops &dims) {
  return addTo(rule.indexedLoops, dims);
}
RuleBuilder &RuleBuilder::fed(const TensorLoops &dims) { return addTo(rule.fedLoops, dims); }
RuleBuilder &RuleBuilder::sequence(const TensorLoops &dims) {
  return addTo(rule.sequenceLoops, dims);
}
RuleBuilder &RuleBuilder::channels(const TensorLoops &dims) {
  return addTo(rule.channelLoops, dims);
}
RuleBuilder &RuleBuilder::addTo(SmallVector<unsigned, 2> &loops, const TensorLoops &dims) {
  for (const DimLoops &dim : dims)
    loops.append(dim.begin(), dim.end());
  return *this;
}
RuleBuilder &RuleBuilder::flops(double perPoint) {
  rule.flopsPerPoint = perPoint;
  return *this;
}
RuleBuilder &RuleBuilder::kind(OpKind kind) {
  rule.kind = kind;
  return *this;
}

static bool hasLoop(const TensorLoops &tensor, unsigned loop) {
  return llvm::any_of(tensor, [&](const DimLoops &dim) { return llvm::is_contained(dim, loop); });
}

// Counts a multiplication and an addition per point.
RuleBuilder &RuleBuilder::product() {
  rule.kind = OpKind::Product;
  rule.flopsPerPoint = 2;
  for (unsigned loop = 0; loop < rule.loops.size(); ++loop) {
    bool a = hasLoop(rule.operands[0], loop), b = hasLoop(rule.operands[1], loop),
         c = hasLoop(rule.results[0], loop);
    rule.productLoops.push_back(a && b && c ? ProductLoop::Batch
                                : a && c    ? ProductLoop::M
                                : b && c    ? ProductLoop::N
                                            : ProductLoop::K);
  }
  return *this;
}

RuleBuilder &RuleBuilder::attention(double flopsPerPoint, DimLoops queries, DimLoops keys,
                                    DimLoops head) {
  rule.kind = OpKind::Attention;
  rule.flopsPerPoint = flopsPerPoint;
  rule.productLoops.assign(rule.loops.size(), ProductLoop::Batch);
  rule.productLoops[queries[0]] = ProductLoop::M;
  rule.productLoops[keys[0]] = ProductLoop::N;
  rule.productLoops[head[0]] = ProductLoop::K;
  return *this;
}
RuleBuilder &RuleBuilder::gradient() {
  rule.isGradient = true;
  return *this;
}
RuleBuilder &RuleBuilder::composite() {
  rule.isComposite = true;
  return *this;
}
RuleBuilder &RuleBuilder::zeroPreserving(bool value) {
  rule.zeroPreserving = value;
  return *this;
}
RuleBuilder &RuleBuilder::linear() {
  rule.jointlyLinear = true;
  return *this;
}

RuleBuilder &RuleBuilder::linearBut(unsigned operand) {
  rule.completeOperands.push_back(operand);
  return linear();
}

TensorLoops dtc::graph::operator+(TensorLoops a, const TensorLoops &b) {
  a.append(b.begin(), b.end());
  return a;
}

TensorLoops dtc::graph::sequenceOfTokens(const TensorLoops &tokens) {
  return TensorLoops(llvm::drop_begin(tokens, std::min<size_t>(1, tokens.size())));
}

OpRule dtc::graph::pointwiseRule(Operation *op, double flopsPerPoint, bool zeroPreserving) {
  RuleBuilder builder;
  TensorLoops space = builder.loops(op->getResult(0));
  for (Value operand : op->getOperands()) {
    ArrayRef<int64_t> shape = tensorType(operand).getShape();
    size_t missing = space.size() - shape.size();
    TensorLoops dims;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      bool repeats = shape[dim] == 1 && tensorType(op->getResult(0)).getDimSize(missing + dim) != 1;
      dims.push_back(repeats ? DimLoops() : space[missing + dim]);
    }
    builder.operand(std::move(dims));
  }
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    builder.result(space);
  return builder.flops(flopsPerPoint).zeroPreserving(zeroPreserving).take();
}

OpRule dtc::graph::fedBy(OpRule rule, unsigned operand) {
  SmallVector<bool> has(rule.loops.size(), false);
  for (const DimLoops &dim : rule.operands[operand])
    for (unsigned loop : dim)
      has[loop] = true;
  for (unsigned loop = 0; loop < has.size(); ++loop)
    if (!has[loop] && !llvm::is_contained(rule.fedLoops, loop))
      rule.fedLoops.push_back(loop);
  return rule;
}

namespace {

// A number for the unbound batch: a prime larger than any sensible dim, so that it shares no factor
// with another.
constexpr int64_t batchStandIn = 1000003;

// Returns the product of the sizes; fails if it overflows.
FailureOr<int64_t> product(ArrayRef<int64_t> sizes) {
  int64_t total = 1;
  for (int64_t size : sizes)
    if (__builtin_mul_overflow(total, size, &total))
      return failure();
  return total;
}

// Replaces the dynamic dim of both shapes by numbers that make their products equal.
LogicalResult bindBatch(SmallVectorImpl<int64_t> &from, SmallVectorImpl<int64_t> &to) {
  int64_t *dynamicFrom = llvm::find_if(from, ShapedType::isDynamic);
  int64_t *dynamicTo = llvm::find_if(to, ShapedType::isDynamic);
  if (llvm::count_if(from, ShapedType::isDynamic) > 1 ||
      llvm::count_if(to, ShapedType::isDynamic) > 1 ||
      (dynamicFrom == from.end()) != (dynamicTo == to.end()))
    return failure();
  if (dynamicFrom != from.end()) {
    *dynamicFrom = *dynamicTo = 1;
    FailureOr<int64_t> fromRest = product(from), toRest = product(to);
    if (failed(fromRest) || failed(toRest) || *fromRest == 0 || *toRest == 0)
      return failure();
    // The quotient of the two sides is the factor by which the batch of the smaller side grows.
    *dynamicFrom = batchStandIn * std::max<int64_t>(1, *toRest / *fromRest);
    *dynamicTo = batchStandIn * std::max<int64_t>(1, *fromRest / *toRest);
  }
  FailureOr<int64_t> fromTotal = product(from), toTotal = product(to);
  return success(succeeded(fromTotal) && succeeded(toTotal) && *fromTotal == *toTotal);
}

// Walks both shapes from the outside in and splits off common factors.
class ReshapeFactors {
public:
  ReshapeFactors(ArrayRef<int64_t> from, ArrayRef<int64_t> to) : from(from), to(to) {
    result.from.resize(from.size());
    result.to.resize(to.size());
  }

  ReshapeLoops run() {
    size_t i = 0, j = 0;
    int64_t left = 1, right = 1; // the remaining factors of from[i - 1] and to[j - 1]
    // Gives a batch of one sample a loop too: the numbers of loops do not depend on the batch.
    if (!from.empty() && !to.empty() && (from[0] == 1 || to[0] == 1))
      share(0, 0, 1);
    while (true) {
      while (left == 1 && i < from.size())
        left = from[i++];
      while (right == 1 && j < to.size())
        right = to[j++];
      if (left == 1 || right == 1)
        return std::move(result);
      int64_t factor = std::min(left, right);
      if (left % factor == 0 && right % factor == 0) {
        share(i - 1, j - 1, factor);
        left /= factor;
        right /= factor;
        continue;
      }
      // Without a common factor, both sides stay whole up to the point where their products are
      // equal.
      whole(result.from[i - 1], left);
      whole(result.to[j - 1], right);
      while (left != right) {
        if (left < right)
          left *= wholeDim(result.from, from, i);
        else
          right *= wholeDim(result.to, to, j);
      }
      left = right = 1;
    }
  }

private:
  unsigned addLoop(int64_t size, LoopKind kind) {
    bool isBatch = size % batchStandIn == 0;
    result.loops.push_back({isBatch ? ShapedType::kDynamic : size, kind});
    return result.loops.size() - 1;
  }
  void share(size_t i, size_t j, int64_t size) {
    unsigned loop = addLoop(size, LoopKind::Parallel);
    result.from[i].push_back(loop);
    result.to[j].push_back(loop);
  }
  void whole(DimLoops &dim, int64_t size) { dim.push_back(addLoop(size, LoopKind::Whole)); }
  int64_t wholeDim(TensorLoops &dims, ArrayRef<int64_t> shape, size_t &next) {
    int64_t size = shape[next];
    if (size != 1)
      whole(dims[next], size);
    ++next;
    return size;
  }

  ArrayRef<int64_t> from, to;
  ReshapeLoops result;
};

} // namespace

FailureOr<ReshapeLoops> dtc::graph::factorReshape(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  SmallVector<int64_t> boundFrom(from), boundTo(to);
  if (failed(bindBatch(boundFrom, boundTo)))
    return failure();
  if (llvm::is_contained(boundFrom, 0)) { // no elements: nothing to factor
    ReshapeLoops result;
    result.from.resize(from.size());
    result.to.resize(to.size());
    return result;
  }
  return ReshapeFactors(boundFrom, boundTo).run();
}
