// The rows of graph.point: bodies and derivatives.
#include "dialects/graph/PointTable.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace dtc::graph;

namespace {

using P = PointParameters;
using Predicate = arith::CmpFPredicate;

constexpr double infinity = std::numeric_limits<double>::infinity();

bool never(P) { return false; }

// Selects `a` where the comparison of x with a number holds, else `b`; it does not hold for NaN.
Value choose(PointBuilder &b, Value x, Predicate predicate, double limit, Value a, Value other) {
  return b.select(b.compare(predicate, x, b.number(limit)), a, other);
}
Value above(PointBuilder &b, Value x, double limit, Value a, Value other) {
  return choose(b, x, Predicate::OGT, limit, a, other);
}

// Selects `inside` for x between low and high, and for NaN: torch's hardtanh leaves out both ends.
Value insideOpen(PointBuilder &b, Value x, double low, double high, Value inside) {
  Value zero = b.number(0);
  return choose(b, x, Predicate::OLE, low, zero, choose(b, x, Predicate::OGE, high, zero, inside));
}

Value square(PointBuilder &b, Value x) { return b.mul(x, x); }

// log(1 + e^-|x|) + max(x, 0) would be exact for all x, but torch goes by the threshold.
Value softplus(PointBuilder &b, Value x, P p) {
  Value scaled = p[0] == 1 ? x : b.mul(x, b.number(p[0]));
  Value curve = b.log1p(b.exp(scaled));
  return above(b, scaled, p[1], x, p[0] == 1 ? curve : b.mul(curve, b.number(1 / p[0])));
}
Value softplusGradient(PointBuilder &b, Value x, Value dy, P p) {
  Value scaled = p[0] == 1 ? x : b.mul(x, b.number(p[0]));
  return above(b, scaled, p[1], dy, b.mul(dy, b.sigmoid(scaled)));
}

Value sigmoid(PointBuilder &b, Value x, P) { return b.sigmoid(x); }
Value sigmoidGradient(PointBuilder &b, Value x, Value dy, P) {
  Value s = b.sigmoid(x);
  return b.mul(dy, b.mul(s, b.sub(b.number(1), s)));
}

// min(x, 0) - log(1 + e^-|x|)
Value logSigmoid(PointBuilder &b, Value x, P) {
  return b.sub(b.min(x, b.number(0)), b.log1p(b.exp(b.neg(b.abs(x)))));
}
Value logSigmoidGradient(PointBuilder &b, Value x, Value dy, P) {
  return b.mul(dy, b.sigmoid(b.neg(x)));
}

Value softsign(PointBuilder &b, Value x, P) { return b.div(x, b.add(b.number(1), b.abs(x))); }
// dy (1 - |y|) / (1 + |x|), which is NaN where y is.
Value softsignGradient(PointBuilder &b, Value x, Value dy, P) {
  Value size = b.abs(x), below = b.add(b.number(1), size);
  return b.div(b.mul(dy, b.sub(b.number(1), b.div(size, below))), below);
}

// Source: Misra 2019, arXiv:1908.08681.
Value mish(PointBuilder &b, Value x, P) { return b.mul(x, b.tanh(b.log1p(b.exp(x)))); }
Value mishGradient(PointBuilder &b, Value x, Value dy, P) {
  Value t = b.tanh(b.log1p(b.exp(x)));
  Value bend = b.mul(b.mul(x, b.sigmoid(x)), b.sub(b.number(1), square(b, t)));
  return b.mul(dy, b.add(t, bend));
}

// Source: Clevert, Unterthiner and Hochreiter 2015, arXiv:1511.07289.
Value elu(PointBuilder &b, Value x, P p) {
  double alpha = p[0], scale = p[1], inputScale = p[2];
  Value curve = b.mul(b.expm1(b.mul(x, b.number(inputScale))), b.number(alpha * scale));
  return choose(b, x, Predicate::OLE, 0, curve, b.mul(x, b.number(scale)));
}
Value eluGradient(PointBuilder &b, Value x, Value dy, P p) {
  double alpha = p[0], scale = p[1], inputScale = p[2];
  Value slope = b.mul(b.exp(b.mul(x, b.number(inputScale))), b.number(alpha * scale * inputScale));
  return choose(b, x, Predicate::OLE, 0, b.mul(dy, slope), b.mul(dy, b.number(scale)));
}

Value leakyRelu(PointBuilder &b, Value x, P p) {
  return above(b, x, 0, x, b.mul(x, b.number(p[0])));
}
Value leakyReluGradient(PointBuilder &b, Value x, Value dy, P p) {
  return above(b, x, 0, dy, b.mul(dy, b.number(p[0])));
}

Value clamp(PointBuilder &b, Value x, P p) {
  Value low = p[0] == -infinity ? x : b.max(x, b.number(p[0]));
  return p[1] == infinity ? low : b.min(low, b.number(p[1]));
}
bool clampIsZero(P p) { return p[0] <= 0 && p[1] >= 0; }
Value clampGradient(PointBuilder &b, Value x, Value dy, P p) {
  Value zero = b.number(0);
  return choose(b, x, Predicate::OGE, p[0], choose(b, x, Predicate::OLE, p[1], dy, zero), zero);
}
Value hardtanhGradient(PointBuilder &b, Value x, Value dy, P p) {
  return insideOpen(b, x, p[0], p[1], dy);
}

Value sixth(PointBuilder &b, Value x) { return b.div(x, b.number(6)); }
// min(max(x + 3, 0), 6)
Value ramp(PointBuilder &b, Value x) {
  return b.min(b.max(b.add(x, b.number(3)), b.number(0)), b.number(6));
}
Value hardsigmoid(PointBuilder &b, Value x, P) { return sixth(b, ramp(b, x)); }
Value hardsigmoidGradient(PointBuilder &b, Value x, Value dy, P) {
  Value inside = choose(b, x, Predicate::OLT, 3, sixth(b, dy), b.number(0));
  return above(b, x, -3, inside, b.number(0));
}
Value hardswish(PointBuilder &b, Value x, P) { return sixth(b, b.mul(x, ramp(b, x))); }
Value hardswishGradient(PointBuilder &b, Value x, Value dy, P) {
  Value slope = b.add(b.div(x, b.number(3)), b.number(0.5));
  Value below = choose(b, x, Predicate::OLT, 3, b.mul(dy, slope), dy);
  return choose(b, x, Predicate::OLE, -3, b.number(0), below);
}

// Selects `middle` for x from -width to width, else `other`.
Value within(PointBuilder &b, Value x, double width, Value middle, Value other) {
  return choose(b, b.abs(x), Predicate::OLE, width, middle, other);
}
Value hardshrink(PointBuilder &b, Value x, P p) { return within(b, x, p[0], b.number(0), x); }
Value softshrink(PointBuilder &b, Value x, P p) {
  Value width = b.number(p[0]);
  Value low = choose(b, x, Predicate::OLT, -p[0], b.add(x, width), b.mul(x, b.number(0)));
  return above(b, x, p[0], b.sub(x, width), low);
}
Value shrinkGradient(PointBuilder &b, Value x, Value dy, P p) {
  return within(b, x, p[0], b.number(0), dy);
}

Value threshold(PointBuilder &b, Value x, P p) {
  return choose(b, x, Predicate::OLE, p[0], b.number(p[1]), x);
}
bool thresholdIsZero(P p) { return p[0] < 0 || p[1] == 0; }
Value thresholdGradient(PointBuilder &b, Value x, Value dy, P p) {
  return choose(b, x, Predicate::OLE, p[0], b.number(0), dy);
}

Value sine(PointBuilder &b, Value x, P) { return b.sin(x); }
Value sineGradient(PointBuilder &b, Value x, Value dy, P) { return b.mul(dy, b.cos(x)); }
Value cosine(PointBuilder &b, Value x, P) { return b.cos(x); }
Value cosineGradient(PointBuilder &b, Value x, Value dy, P) { return b.neg(b.mul(dy, b.sin(x))); }
Value tangent(PointBuilder &b, Value x, P) { return b.div(b.sin(x), b.cos(x)); }
Value tangentGradient(PointBuilder &b, Value x, Value dy, P) {
  return b.div(dy, square(b, b.cos(x)));
}

Value erf(PointBuilder &b, Value x, P) { return b.erf(x); }
Value erfGradient(PointBuilder &b, Value x, Value dy, P) {
  return b.mul(dy, b.mul(b.exp(b.neg(square(b, x))), b.number(M_2_SQRTPI)));
}

Value log1p(PointBuilder &b, Value x, P) { return b.log1p(x); }
Value log1pGradient(PointBuilder &b, Value x, Value dy, P) {
  return b.div(dy, b.add(b.number(1), x));
}
Value expm1(PointBuilder &b, Value x, P) { return b.expm1(x); }
Value expm1Gradient(PointBuilder &b, Value x, Value dy, P) { return b.mul(dy, b.exp(x)); }

Value reciprocal(PointBuilder &b, Value x, P) { return b.div(b.number(1), x); }
Value reciprocalGradient(PointBuilder &b, Value x, Value dy, P) {
  return b.neg(b.mul(dy, square(b, b.div(b.number(1), x))));
}
Value rsqrt(PointBuilder &b, Value x, P) { return b.div(b.number(1), b.sqrt(x)); }
Value rsqrtGradient(PointBuilder &b, Value x, Value dy, P) {
  Value y = b.div(b.number(1), b.sqrt(x));
  return b.mul(b.mul(dy, b.number(-0.5)), b.mul(square(b, y), y));
}

bool isWhole(double number) { return number == std::floor(number); }

// x^n for a small n > 0, by squaring.
Value wholePower(PointBuilder &b, Value x, int n) {
  Value result;
  for (; n > 0; n /= 2, x = n > 0 ? square(b, x) : x)
    if (n % 2 != 0)
      result = result ? b.mul(result, x) : x;
  return result;
}

// Multiplies for small whole exponents. Others take powers of the magnitude: of negative numbers
// those of odd exponents are negative, and those of fractions are NaN.
Value power(PointBuilder &b, Value x, double exponent) {
  if (exponent == 0)
    return b.number(1);
  if (std::abs(exponent) == 0.5)
    return exponent > 0 ? b.sqrt(x) : b.div(b.number(1), b.sqrt(x));
  if (isWhole(exponent) && std::abs(exponent) <= 16) {
    Value positive = wholePower(b, x, static_cast<int>(std::abs(exponent)));
    return exponent > 0 ? positive : b.div(b.number(1), positive);
  }
  Value value = b.pow(b.abs(x), b.number(exponent));
  if (!isWhole(exponent)) {
    Value none = b.number(std::numeric_limits<double>::quiet_NaN());
    return choose(b, x, Predicate::OLT, 0, above(b, x, -infinity, none, value), value);
  }
  bool isOdd = std::fmod(std::abs(exponent), 2) == 1;
  return isOdd ? b.copySign(value, x) : value;
}
Value pow(PointBuilder &b, Value x, P p) { return power(b, x, p[0]); }
bool powIsZero(P p) { return p[0] > 0; }
bool powIsSmooth(P p) { return p[0] >= 1 || p[0] == 0; }
Value powGradient(PointBuilder &b, Value x, Value dy, P p) {
  if (p[0] == 0)
    return b.number(0);
  return b.mul(dy, b.mul(power(b, x, p[0] - 1), b.number(p[0])));
}

Value sign(PointBuilder &b, Value x, P) {
  Value low = choose(b, x, Predicate::OLT, 0, b.number(-1), b.number(0));
  return above(b, x, 0, b.number(1), low);
}
Value abs(PointBuilder &b, Value x, P) { return b.abs(x); }
Value absGradient(PointBuilder &b, Value x, Value dy, P p) { return b.mul(dy, sign(b, x, p)); }
Value floor(PointBuilder &b, Value x, P) { return b.floor(x); }
Value ceil(PointBuilder &b, Value x, P) { return b.ceil(x); }
Value round(PointBuilder &b, Value x, P) { return b.round(x); }
Value trunc(PointBuilder &b, Value x, P) { return b.trunc(x); }

const StringRef softplusNames[] = {"beta", "threshold"};
const StringRef eluNames[] = {"alpha", "scale", "input_scale"};
const StringRef slopeNames[] = {"slope"};
const StringRef bounds[] = {"low", "high"};
const StringRef widthNames[] = {"width"};
const StringRef thresholdNames[] = {"threshold", "value"};
const StringRef exponentNames[] = {"exponent"};

using F = PointFunction;

// In the order of the enum. Columns: parameters, flops of both, keeps f32, whether f(0) = 0 and
// whether f'(0) is finite, body and gradient.
const PointRow rows[] = {
    {F::Sigmoid, {}, 13, 16, false, never, nullptr, sigmoid, sigmoidGradient},
    {F::LogSigmoid, {}, 24, 14, false, never, nullptr, logSigmoid, logSigmoidGradient},
    {F::Softplus, softplusNames, 24, 16, true, never, nullptr, softplus, softplusGradient},
    {F::Softsign, {}, 3, 4, false, nullptr, nullptr, softsign, softsignGradient},
    {F::Mish, {}, 36, 54, false, nullptr, nullptr, mish, mishGradient},
    {F::Elu, eluNames, 14, 15, false, nullptr, nullptr, elu, eluGradient},
    {F::LeakyRelu, slopeNames, 2, 2, false, nullptr, nullptr, leakyRelu, leakyReluGradient},
    {F::Hardtanh, bounds, 2, 2, false, clampIsZero, nullptr, clamp, hardtanhGradient},
    {F::Hardsigmoid, {}, 4, 3, false, never, nullptr, hardsigmoid, hardsigmoidGradient},
    {F::Hardswish, {}, 5, 5, false, nullptr, nullptr, hardswish, hardswishGradient},
    {F::Hardshrink, widthNames, 2, 2, false, nullptr, nullptr, hardshrink, shrinkGradient},
    {F::Softshrink, widthNames, 4, 2, false, nullptr, nullptr, softshrink, shrinkGradient},
    {F::Threshold, thresholdNames, 1, 1, false, thresholdIsZero, nullptr, threshold,
     thresholdGradient},
    {F::Clamp, bounds, 2, 2, false, clampIsZero, nullptr, clamp, clampGradient},
    {F::Sin, {}, 20, 21, false, nullptr, nullptr, sine, sineGradient},
    {F::Cos, {}, 20, 22, false, never, nullptr, cosine, cosineGradient},
    {F::Tan, {}, 41, 22, true, nullptr, nullptr, tangent, tangentGradient},
    {F::Erf, {}, 15, 14, false, nullptr, nullptr, erf, erfGradient},
    {F::Log1p, {}, 12, 2, true, nullptr, nullptr, log1p, log1pGradient},
    {F::Expm1, {}, 12, 11, true, nullptr, nullptr, expm1, expm1Gradient},
    {F::Rsqrt, {}, 2, 6, true, never, never, rsqrt, rsqrtGradient},
    {F::Reciprocal, {}, 1, 4, true, never, never, reciprocal, reciprocalGradient},
    {F::Pow, exponentNames, 20, 22, true, powIsZero, powIsSmooth, pow, powGradient},
    {F::Abs, {}, 1, 3, false, nullptr, nullptr, abs, absGradient},
    {F::Sign, {}, 2, 0, false, nullptr, nullptr, sign, nullptr},
    {F::Floor, {}, 1, 0, false, nullptr, nullptr, floor, nullptr},
    {F::Ceil, {}, 1, 0, false, nullptr, nullptr, ceil, nullptr},
    {F::Round, {}, 1, 0, false, nullptr, nullptr, round, nullptr},
    {F::Trunc, {}, 1, 0, false, nullptr, nullptr, trunc, nullptr},
};
static_assert(std::size(rows) == getMaxEnumValForPointFunction() + 1, "a row for every function");

} // namespace

const PointRow &dtc::graph::pointRow(PointFunction function) {
  const PointRow &row = rows[static_cast<uint32_t>(function)];
  assert(row.function == function && "the rows have the order of the enum");
  return row;
}
