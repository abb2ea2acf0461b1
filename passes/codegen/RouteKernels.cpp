// Kernels of mixtures of experts without drops: the router and its gradient, the order of choices,
// and the rows that they move. The products over groups of rows are library instructions.
#include "passes/codegen/RouteKernels.h"
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/RouteOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/codegen/IndexStore.h"

#include <limits>

using namespace mlir;
using namespace dtc;
using namespace dtc::graph;
using Values = KernelBuilder::Values;

namespace {

int64_t elementsOf(Value value) { return cast<RankedTensorType>(value.getType()).getNumElements(); }

// Conditions of kernels that choose by index, and the scores of a token.
struct Scores {
  KernelBuilder &k;
  StringRef kind;
  int64_t experts;
  Value base;     // the token's first logit
  Value max, sum; // of a softmax; null for other scores

  Scores(KernelBuilder &k, StringRef kind, int64_t experts, Value token, bool needsSum)
      : k(k), kind(kind), experts(experts), base(k.mul(token, experts)) {
    if (!isSoftmax() || !needsSum)
      return;
    Value least = k.constant(-std::numeric_limits<double>::infinity());
    max = k.forLoop(k.index(0), k.index(experts), 1, least, [&](Value e, ValueRange now) -> Values {
             return {k.maxF(logit(e), now[0])};
           }).front();
    sum = k.forLoop(k.index(0), k.index(experts), 1, k.constant(0),
                    [&](Value e, ValueRange now) -> Values {
                      return {k.addF(now[0], k.exp(k.subF(logit(e), max)))};
                    })
              .front();
  }

  bool isSoftmax() const { return kind == "softmax"; }
  Value logit(Value e) const { return k.loadScalar(k.operand(0), k.add(base, e)); }
  Value negated(Value x) const { return k.subF(k.constant(0), x); }
  Value sigmoid(Value x) const {
    return k.divF(k.constant(1), k.addF(k.constant(1), k.exp(negated(x))));
  }
  // Returns log(1 + e^x): max(x, 0) + log1p(e^-|x|), with Kahan's correction of log(1 + u).
  Value softplus(Value x) const {
    Value positive = isF(arith::CmpFPredicate::OGT, x, k.constant(0));
    Value u = k.exp(k.select(positive, negated(x), x)), w = k.addF(k.constant(1), u);
    Value rounded = k.subF(w, k.constant(1));
    Value isTiny = isF(arith::CmpFPredicate::OEQ, rounded, k.constant(0));
    Value safe = k.select(isTiny, k.constant(1), rounded);
    Value log = k.select(isTiny, u, k.divF(k.mulF(k.log(w), u), safe));
    return k.addF(k.select(positive, x, k.constant(0)), log);
  }
  Value score(Value e) const {
    Value x = logit(e);
    if (isSoftmax())
      return k.divF(k.exp(k.subF(x, max)), sum);
    return kind == "sigmoid" ? sigmoid(x) : k.sqrt(softplus(x));
  }
  // Returns the derivative of the score by the logit, `s` being the score; of a softmax none.
  Value derivative(Value e, Value s) const {
    if (kind == "sigmoid")
      return k.mulF(s, k.subF(k.constant(1), s));
    return k.divF(sigmoid(logit(e)), k.mulF(k.constant(2), s));
  }

  Value isF(arith::CmpFPredicate predicate, Value a, Value b) const {
    return arith::CmpFOp::create(k.builder, k.loc, predicate, a, b);
  }
  Value isI(arith::CmpIPredicate predicate, Value a, Value b) const {
    return arith::CmpIOp::create(k.builder, k.loc, predicate, a, b);
  }
  Value both(Value a, Value b) const { return arith::AndIOp::create(k.builder, k.loc, a, b); }
  Value either(Value a, Value b) const { return arith::OrIOp::create(k.builder, k.loc, a, b); }
  // Returns whether a > b, where NaN is larger than all numbers.
  Value isLarger(Value a, Value b) const {
    Value aIsNan = isF(arith::CmpFPredicate::UNO, a, a);
    return either(isF(arith::CmpFPredicate::OGT, a, b),
                  both(aIsNan, isF(arith::CmpFPredicate::ORD, b, b)));
  }
};

// Finds a token's experts, each by a pass over all of them. Earlier ones are told by their index
// and not by their score, which another loop may compute with another rounding.
class Choice {
public:
  Choice(KernelBuilder &k, RouteTokensOp op, const Scores &scores)
      : k(k), op(op), scores(scores), comparesLogits(!needsSum(op)) {
    if (op.getKept() < op.getGroups())
      keepGroups();
  }

  // Returns true if experts are told apart by more than their logits.
  static bool needsSum(RouteTokensOp op) {
    return op.getBias() || op.getMembers() > 1 || op.getScore() != "softmax";
  }

  Values experts() {
    Values chosen;
    for (uint64_t i = 0; i < op.getTop(); ++i)
      chosen.push_back(best(
          scores.experts, chosen, [&](Value e) { return isKept(e); },
          [&](Value e) { return value(e); }));
    return chosen;
  }

private:
  Value value(Value e) const {
    if (comparesLogits)
      return scores.logit(e);
    Value s = scores.score(e);
    return op.getBias() ? k.addF(s, k.loadScalar(k.operand(1), e)) : s;
  }

  // Returns the first of the best of `count` that are allowed and not among `taken`; there is one.
  Value best(int64_t count, ValueRange taken, llvm::function_ref<Value(Value)> isAllowed,
             llvm::function_ref<Value(Value)> valueOf) const {
    Value none = k.index(-1);
    return k
        .forLoop(k.index(0), k.index(count), 1, {k.constant(0), none},
                 [&](Value i, ValueRange now) -> Values {
                   Value x = valueOf(i);
                   Value takes = scores.either(scores.isI(arith::CmpIPredicate::eq, now[1], none),
                                               scores.isLarger(x, now[0]));
                   if (Value allowed = isAllowed(i))
                     takes = scores.both(takes, allowed);
                   for (Value before : taken)
                     takes = scores.both(takes, scores.isI(arith::CmpIPredicate::ne, i, before));
                   return {k.select(takes, x, now[0]), k.select(takes, i, now[1])};
                 })
        .back();
  }

  int64_t groupSize() const { return scores.experts / static_cast<int64_t>(op.getGroups()); }

  // Returns how good a group is: the sum of its best members.
  Value groupValue(Value group) const {
    Value least = k.constant(-std::numeric_limits<double>::infinity());
    Value first = k.mul(group, groupSize());
    Values two =
        k.forLoop(k.index(0), k.index(groupSize()), 1, {least, least},
                  [&](Value i, ValueRange now) -> Values {
                    Value x = value(k.add(first, i));
                    Value leads = scores.isLarger(x, now[0]);
                    return {k.select(leads, x, now[0]), k.select(leads, now[0], k.maxF(x, now[1]))};
                  });
    return op.getMembers() == 1 ? two[0] : k.addF(two[0], two[1]);
  }

  // Finds the kept groups, as bits of an integer.
  void keepGroups() {
    Values groups;
    kept = number(0);
    for (uint64_t i = 0; i < op.getKept(); ++i) {
      Value group = best(
          static_cast<int64_t>(op.getGroups()), groups, [](Value) { return Value(); },
          [&](Value g) { return groupValue(g); });
      groups.push_back(group);
      Value bit = arith::ShLIOp::create(k.builder, k.loc, number(1), asNumber(group));
      kept = arith::OrIOp::create(k.builder, k.loc, kept, bit);
    }
  }

  // Returns whether an expert is of a kept group; null if all are.
  Value isKept(Value e) const {
    if (!kept)
      return nullptr;
    Value bit = arith::ShRUIOp::create(k.builder, k.loc, kept, asNumber(k.div(e, groupSize())));
    bit = arith::AndIOp::create(k.builder, k.loc, bit, number(1));
    return scores.isI(arith::CmpIPredicate::eq, bit, number(1));
  }

  Value number(int64_t value) const {
    return arith::ConstantOp::create(k.builder, k.loc, k.builder.getI64IntegerAttr(value));
  }
  Value asNumber(Value index) const {
    return arith::IndexCastOp::create(k.builder, k.loc, k.builder.getI64Type(), index);
  }

  KernelBuilder &k;
  mutable RouteTokensOp op; // its getters are not const
  const Scores &scores;
  bool comparesLogits;
  Value kept;
};

// The work of a token, which one thread does: a pass over the experts for each choice.
RowShape tokensOf(Value logits, int64_t top) {
  int64_t experts = cast<RankedTensorType>(logits.getType()).getDimSize(2);
  return {elementsOf(logits) / experts, experts * top};
}

Value sumOf(KernelBuilder &k, ValueRange values) {
  Value sum = k.constant(0);
  for (Value value : values)
    sum = k.addF(sum, value);
  return sum;
}

// Returns the softmax over the chosen logits.
Values softmaxOfChosen(KernelBuilder &k, const Scores &scores, ValueRange chosen) {
  Values logits, shares;
  for (Value e : chosen)
    logits.push_back(scores.logit(e));
  Value max = logits.front();
  for (Value logit : ArrayRef<Value>(logits).drop_front())
    max = k.maxF(logit, max);
  for (Value logit : logits)
    shares.push_back(k.exp(k.subF(logit, max)));
  Value sum = sumOf(k, shares);
  for (Value &share : shares)
    share = k.divF(share, sum);
  return shares;
}

struct RouteKernel : KernelOpInterface::ExternalModel<RouteKernel, RouteTokensOp> {
  static RowShape rowsOf(Operation *op) {
    auto route = cast<RouteTokensOp>(op);
    return tokensOf(route.getLogits(), static_cast<int64_t>(route.getTop()));
  }
  int64_t getKernelRange(Operation *op) const { return rowsOf(op).range(); }
  KernelUnit getKernelUnit(Operation *op) const { return rowsOf(op).unit(/*combines=*/true); }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    auto route = cast<RouteTokensOp>(op);
    int64_t experts = cast<RankedTensorType>(route.getLogits().getType()).getDimSize(2);
    auto top = static_cast<int64_t>(route.getTop());
    bool isNormalised = route.getNormalised(), isSoftmax = route.getScore() == "softmax";
    k.forEachRow(rowsOf(op), {1, 1}, [&](Value token) {
      Scores scores(k, route.getScore(), experts, token, !isNormalised || Choice::needsSum(route));
      Values chosen = Choice(k, route, scores).experts();
      Values weights;
      if (isSoftmax && isNormalised) {
        weights = softmaxOfChosen(k, scores, chosen);
      } else {
        for (Value e : chosen)
          weights.push_back(scores.score(e));
        if (isNormalised) {
          Value sum = k.addF(sumOf(k, weights), k.constant(route.getEpsilon().convertToDouble()));
          for (Value &weight : weights)
            weight = k.divF(weight, sum);
        }
      }
      for (int64_t i = 0; i < top; ++i) {
        Value at = k.add(k.mul(token, top), i);
        Value weight = k.mulF(weights[i], k.constant(route.getScale().convertToDouble()));
        k.storeScalar(weight, k.result(0), at);
        IndexStore::emit(k, chosen[i], k.result(1), at);
      }
    });
  }
};

struct RouteGradKernel : KernelOpInterface::ExternalModel<RouteGradKernel, RouteGradOp> {
  static int64_t topOf(RouteGradOp op) {
    return cast<RankedTensorType>(op.getExperts().getType()).getDimSize(2);
  }
  static RowShape rowsOf(Operation *op) {
    auto grad = cast<RouteGradOp>(op);
    return tokensOf(grad.getLogits(), topOf(grad));
  }
  int64_t getKernelRange(Operation *op) const { return rowsOf(op).range(); }
  KernelUnit getKernelUnit(Operation *op) const { return rowsOf(op).unit(/*combines=*/true); }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    auto grad = cast<RouteGradOp>(op);
    int64_t experts = cast<RankedTensorType>(grad.getLogits().getType()).getDimSize(2);
    int64_t top = topOf(grad);
    bool isSoftmax = grad.getScore() == "softmax", isNormalised = grad.getNormalised();
    k.forEachRow(rowsOf(op), {1, 1}, [&](Value token) {
      Scores scores(k, grad.getScore(), experts, token, !isNormalised);
      Values chosen, gradients;
      for (int64_t i = 0; i < top; ++i) {
        Value at = k.add(k.mul(token, top), i);
        chosen.push_back(k.loadIndex(k.operand(1), at));
        gradients.push_back(
            k.mulF(k.loadScalar(k.operand(2), at), k.constant(grad.getScale().convertToDouble())));
      }
      Value mean = k.constant(0); // the mean of the gradients by the weights
      Values parts(gradients);    // of the logits' gradient, by choice
      if (isSoftmax) {
        Values weights;
        if (isNormalised)
          weights = softmaxOfChosen(k, scores, chosen);
        else
          for (Value e : chosen)
            weights.push_back(scores.score(e));
        for (int64_t i = 0; i < top; ++i)
          mean = k.addF(mean, k.mulF(gradients[i], weights[i]));
        if (isNormalised)
          for (int64_t i = 0; i < top; ++i)
            parts[i] = k.mulF(weights[i], k.subF(gradients[i], mean));
      } else {
        Values s;
        for (Value e : chosen)
          s.push_back(scores.score(e));
        Value sum = k.constant(1);
        if (isNormalised) {
          sum = k.addF(sumOf(k, s), k.constant(grad.getEpsilon().convertToDouble()));
          for (int64_t i = 0; i < top; ++i)
            mean = k.addF(mean, k.mulF(gradients[i], k.divF(s[i], sum)));
        }
        for (int64_t i = 0; i < top; ++i)
          parts[i] =
              k.mulF(k.divF(k.subF(gradients[i], mean), sum), scores.derivative(chosen[i], s[i]));
      }
      k.forEach(k.index(0), k.index(experts), [&](Value e) {
        Value own = k.constant(0);
        for (int64_t i = 0; i < top; ++i)
          own = k.select(scores.isI(arith::CmpIPredicate::eq, e, chosen[i]), parts[i], own);
        if (isSoftmax && !isNormalised)
          own = k.mulF(scores.score(e), k.subF(own, mean));
        k.storeScalar(own, k.result(0), k.add(scores.base, e));
      });
    });
  }
};

// One unit for each expert looks at all choices: it counts those of the experts before it, then
// numbers its own.
struct PlaceRowsKernel : KernelOpInterface::ExternalModel<PlaceRowsKernel, PlaceRowsOp> {
  static int64_t expertsOf(PlaceRowsOp op) {
    return cast<RankedTensorType>(op.getCounts().getType()).getDimSize(1);
  }
  static RowShape rowsOf(Operation *op) {
    auto placeOp = cast<PlaceRowsOp>(op);
    return {expertsOf(placeOp), elementsOf(placeOp.getExperts())};
  }
  int64_t getKernelRange(Operation *op) const { return rowsOf(op).range(); }
  KernelUnit getKernelUnit(Operation *op) const { return rowsOf(op).unit(/*combines=*/true); }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    auto placeOp = cast<PlaceRowsOp>(op);
    int64_t choices = elementsOf(placeOp.getExperts()), experts = expertsOf(placeOp);
    int64_t samples = cast<RankedTensorType>(placeOp.getExperts().getType()).getDimSize(0);
    int64_t ofSample = choices / std::max<int64_t>(1, samples);
    auto ranks = static_cast<int64_t>(placeOp.getRanks());
    auto compare = [&](arith::CmpIPredicate predicate, Value a, Value b) -> Value {
      return arith::CmpIOp::create(k.builder, k.loc, predicate, a, b);
    };
    auto countIf = [&](Value condition, Value now) {
      return k.add(now, k.select(condition, k.index(1), k.index(0)));
    };
    k.forEachRow(rowsOf(op), {1, 1}, [&](Value expert) {
      Values first = k.forLoop(
          k.index(0), k.index(choices), 1, k.index(0), [&](Value i, ValueRange now) -> Values {
            Value chosen = k.loadIndex(k.operand(0), i);
            return {countIf(compare(arith::CmpIPredicate::slt, chosen, expert), now[0])};
          });
      k.forLoop(
          k.index(0), k.index(samples), 1, first, [&](Value sample, ValueRange start) -> Values {
            Value from = start[0];
            if (ranks > 1) { // the choices of lower experts of the rank lie before in the block
              Value rank = k.div(expert, experts / ranks), low = k.mul(rank, experts / ranks);
              Values before =
                  k.forLoop(k.index(0), k.index(ofSample), 1, k.index(0),
                            [&](Value i, ValueRange now) -> Values {
                              Value chosen =
                                  k.loadIndex(k.operand(0), k.add(k.mul(sample, ofSample), i));
                              Value isBefore = arith::AndIOp::create(
                                  k.builder, k.loc, compare(arith::CmpIPredicate::sge, chosen, low),
                                  compare(arith::CmpIPredicate::slt, chosen, expert));
                              return {countIf(isBefore, now[0])};
                            });
              Value block = k.add(k.mul(rank, samples), sample);
              from = k.add(k.mul(block, ofSample), before[0]);
            }
            Values next = k.forLoop(
                k.index(0), k.index(ofSample), 1, from, [&](Value i, ValueRange now) -> Values {
                  Value at = k.add(k.mul(sample, ofSample), i);
                  Value isOwn =
                      compare(arith::CmpIPredicate::eq, k.loadIndex(k.operand(0), at), expert);
                  auto guarded =
                      scf::IfOp::create(k.builder, k.loc, isOwn, /*withElseRegion=*/false);
                  {
                    OpBuilder::InsertionGuard guard(k.builder);
                    k.builder.setInsertionPointToStart(guarded.thenBlock());
                    IndexStore::emit(k, now[0], k.result(0), at);
                  }
                  return {countIf(isOwn, now[0])};
                });
            IndexStore::emit(k, k.sub(next[0], from), k.result(1),
                             k.add(k.mul(sample, experts), expert));
            return next;
          });
    });
  }
};

// The row of a choice and the token that it is of.
struct PackedRow {
  Value rowIndex, token;

  PackedRow(KernelBuilder &k, Value choice, int64_t top)
      : rowIndex(k.loadIndex(k.operand(1), choice)), token(k.div(choice, top)) {}
};

// Tells of a choice that has a row in its blocks; one of another round has none.
Value isThere(KernelBuilder &k, Value rowIndex) {
  return arith::CmpIOp::create(k.builder, k.loc, arith::CmpIPredicate::sge, rowIndex, k.index(0));
}

int64_t topOf(Value rowOf) { return cast<RankedTensorType>(rowOf.getType()).getDimSize(2); }

// Writes a row of the result for each choice that has one, and zeros to the rows that no choice
// has; those of blocks stay as they are.
struct PackRowsKernel : KernelOpInterface::ExternalModel<PackRowsKernel, PackRowsOp> {
  static RowShape rowsOf(Operation *op) {
    auto pack = cast<PackRowsOp>(op);
    RowShape shape = RowShape::of(pack.getResult());
    if (pack.getBlocks())
      shape.rows = elementsOf(pack.getRowOf());
    return shape;
  }
  int64_t getKernelRange(Operation *op) const { return rowsOf(op).range(); }
  KernelUnit getKernelUnit(Operation *op) const { return rowsOf(op).unit(/*combines=*/false); }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    auto pack = cast<PackRowsOp>(op);
    RowShape shape = rowsOf(op);
    int64_t choices = elementsOf(pack.getRowOf());
    bool hasRest = choices < shape.rows;
    k.forEachRow(shape, {1, shape.columns}, [&](Value row) {
      Value isChoice, choice = row;
      if (hasRest) {
        isChoice = arith::CmpIOp::create(k.builder, k.loc, arith::CmpIPredicate::slt, row,
                                         k.index(choices));
        choice = k.select(isChoice, row, k.index(0));
      }
      PackedRow packed(k, choice, topOf(pack.getRowOf()));
      Value to = k.mul(hasRest ? k.select(isChoice, packed.rowIndex, row) : packed.rowIndex,
                       shape.columns);
      Value from = k.mul(packed.token, shape.columns);
      Value weight = pack.getWeights() ? k.loadScalar(k.operand(2), choice) : Value();
      OpBuilder::InsertionGuard guard(k.builder);
      if (pack.getBlocks()) {
        auto guarded = scf::IfOp::create(k.builder, k.loc, isThere(k, packed.rowIndex),
                                         /*withElseRegion=*/false);
        k.builder.setInsertionPointToStart(guarded.thenBlock());
      }
      k.forEachVector(shape.columns, {}, [&](Value column, Lanes lanes, ValueRange) -> Values {
        Value x = k.load(k.operand(0), k.add(from, column), lanes);
        if (weight)
          x = k.mulF(x, k.splat(weight, lanes.width));
        if (hasRest)
          x = k.select(isChoice, x, k.splat(0, lanes.width));
        k.store(x, k.result(0), k.add(to, column), lanes);
        return {};
      });
    });
  }
};

struct UnpackRowsKernel : KernelOpInterface::ExternalModel<UnpackRowsKernel, UnpackRowsOp> {
  static RowShape rowsOf(Operation *op) { return RowShape::of(op->getResult(0)); }
  int64_t getKernelRange(Operation *op) const { return rowsOf(op).range(); }
  KernelUnit getKernelUnit(Operation *op) const { return rowsOf(op).unit(/*combines=*/true); }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    auto unpack = cast<UnpackRowsOp>(op);
    RowShape shape = rowsOf(op);
    int64_t top = topOf(unpack.getRowOf());
    k.forEachRow(shape, {1, shape.columns}, [&](Value token) {
      Values from, weights, areThere;
      for (int64_t i = 0; i < top; ++i) {
        Value choice = k.add(k.mul(token, top), i);
        Value rowIndex = k.loadIndex(k.operand(1), choice);
        if (unpack.getBlocks()) {
          areThere.push_back(isThere(k, rowIndex));
          rowIndex = k.select(areThere.back(), rowIndex, k.index(0));
        }
        from.push_back(k.mul(rowIndex, shape.columns));
        if (unpack.getWeights())
          weights.push_back(k.loadScalar(k.operand(2), choice));
      }
      Value to = k.mul(token, shape.columns);
      k.forEachVector(shape.columns, {}, [&](Value column, Lanes lanes, ValueRange) -> Values {
        Value sum = k.splat(0, lanes.width);
        for (int64_t i = 0; i < top; ++i) {
          Value x = k.load(k.operand(0), k.add(from[i], column), lanes);
          if (!areThere.empty())
            x = k.select(areThere[i], x, k.splat(0, lanes.width));
          sum = weights.empty() ? k.addF(sum, x) : k.fma(x, k.splat(weights[i], lanes.width), sum);
        }
        k.store(sum, k.result(0), k.add(to, column), lanes);
        return {};
      });
    });
  }
};

struct UnpackWeightGradKernel
    : KernelOpInterface::ExternalModel<UnpackWeightGradKernel, UnpackWeightGradOp> {
  static RowShape rowsOf(Operation *op) {
    auto grad = cast<UnpackWeightGradOp>(op);
    return {elementsOf(grad.getRowOf()), RowShape::of(grad.getTokens()).columns};
  }
  int64_t getKernelRange(Operation *op) const { return rowsOf(op).range(); }
  KernelUnit getKernelUnit(Operation *op) const { return rowsOf(op).unit(/*combines=*/true); }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    auto grad = cast<UnpackWeightGradOp>(op);
    RowShape shape = rowsOf(op);
    k.forEachRow(shape, {1, shape.columns}, [&](Value choice) {
      PackedRow packed(k, choice, topOf(grad.getRowOf()));
      Value hasRow = isThere(k, packed.rowIndex);
      Value row = k.mul(k.select(hasRow, packed.rowIndex, k.index(0)), shape.columns),
            token = k.mul(packed.token, shape.columns);
      int64_t width = k.laneCount(shape.columns);
      Values sums = k.forEachVector(
          shape.columns, k.splat(0, width),
          [&](Value column, Lanes lanes, ValueRange now) -> Values {
            return {k.fma(k.load(k.operand(0), k.add(row, column), lanes),
                          k.load(k.operand(2), k.add(token, column), lanes), now[0])};
          });
      k.storeScalar(k.select(hasRow, k.sum(sums[0]), k.constant(0)), k.result(0), choice);
    });
  }
};

} // namespace

void dtc::attachRouteKernels(MLIRContext *context) {
  RouteTokensOp::attachInterface<RouteKernel>(*context);
  RouteGradOp::attachInterface<RouteGradKernel>(*context);
  PlaceRowsOp::attachInterface<PlaceRowsKernel>(*context);
  PackRowsOp::attachInterface<PackRowsKernel>(*context);
  UnpackRowsOp::attachInterface<UnpackRowsKernel>(*context);
  UnpackWeightGradOp::attachInterface<UnpackWeightGradKernel>(*context);
}
