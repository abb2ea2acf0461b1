#include "KernelCases.h"

#include "passes/codegen/SumParts.h"
#include <cmath>

namespace dtc::test {

namespace {

using Values = KernelCase::Values;

// $X: rows of columns; $C: columns; $S: f32 per row; $T: i32 per row; $I: rows of columns in i32;
// $F: all elements in a line, $H the same in f32; $R: heads of twice the columns, $A: their angles;
// $L: one f32 per row, as a column; $B, $Y: rows of columns in bf16, in i8; $1: one f32.
std::string fill(std::string text, int64_t rows, int64_t columns, const std::string &type) {
  std::string r = std::to_string(rows) + "x", c = std::to_string(columns) + "x";
  std::string all = std::to_string(rows * columns) + "x";
  for (size_t at = text.find('$'); at != std::string::npos; at = text.find('$')) {
    std::string shape;
    switch (text[at + 1]) {
    case 'X':
      shape = r + c + type;
      break;
    case 'C':
      shape = c + type;
      break;
    case 'S':
      shape = r + "f32";
      break;
    case 'T':
      shape = r + "i32";
      break;
    case 'I':
      shape = r + c + "i32";
      break;
    case 'F':
      shape = all + type;
      break;
    case 'H':
      shape = all + "f32";
      break;
    case 'R':
      shape = "2x" + r + "3x" + std::to_string(2 * columns) + "x" + type;
      break;
    case 'A':
      shape = r + c + "f32";
      break;
    case 'L':
      shape = r + "1xf32";
      break;
    case 'B':
      shape = r + c + "bf16";
      break;
    case 'Y':
      shape = r + c + "i8";
      break;
    case '1':
      shape = "f32";
      break;
    default:
      throw std::runtime_error("no type '$" + text.substr(at + 1, 1) + "'");
    }
    text.replace(at, 2, "tensor<" + shape + ">");
  }
  return text;
}

// Returns all results of a body, "%0, %1, ...", as many as the signature has.
std::string resultsOf(const std::string &signature) {
  std::string types = signature.substr(signature.find("->"));
  auto count = 1 + std::count(types.begin(), types.end(), ',');
  std::string results = "%0";
  for (int64_t i = 1; i < count; ++i)
    results += ", %" + std::to_string(i);
  return results;
}

KernelCase pointwise(const std::string &op, int arity, double magnitude,
                     Values values = Values::Any) {
  std::string arguments, names, types;
  for (int i = 0; i < arity; ++i) {
    std::string name = std::string("%") + static_cast<char>('a' + i), comma = i > 0 ? ", " : "";
    arguments += comma + name + ": $F";
    names += comma + name;
    types += comma + "$F";
  }
  bool broadcasts = op == "select_equal" || (arity == 2 && op.find("_grad") == std::string::npos);
  return {op.substr(0, op.find(' ')),
          "(" + arguments + ") -> $F",
          "%0 = graph." + op + " " + names + " : " +
              (broadcasts ? "(" + types + ") -> $F" : std::string("$F")),
          "",
          values,
          {},
          magnitude};
}

// A kernel of functions of graph.point and their slopes.
KernelCase severalPoints(const std::vector<std::string> &functions, Values values = Values::Any) {
  std::string body, types;
  for (const auto &[i, function] : llvm::enumerate(functions)) {
    std::string n = std::to_string(2 * i), next = std::to_string(2 * i + 1);
    body += "%" + n + " = graph.point " + function + " %a : $F\n%" + next + " = graph.point_grad " +
            function + " %a, %b : $F\n";
    types += std::string(types.empty() ? "" : ", ") + "$F, $F";
  }
  return {"point", "(%a: $F, %b: $F) -> (" + types + ")", body, "", values, {}, 4};
}

std::vector<KernelCase> pointwiseCases() {
  std::vector<KernelCase> cases;
  for (const char *op : {"add", "subtract", "multiply", "minimum", "maximum"})
    cases.push_back(pointwise(op, 2, 0));
  for (const char *op : {"negate", "relu"})
    cases.push_back(pointwise(op, 1, 0));
  for (const char *op : {"exp", "tanh", "silu", "gelu tanh", "gelu erf"})
    cases.push_back(pointwise(op, 1, 3));
  cases.push_back(pointwise("relu_grad", 2, 0));
  cases.push_back(pointwise("select_equal", 3, 0, Values::Whole));
  for (const char *op : {"gelu_grad tanh", "gelu_grad erf", "silu_grad"})
    cases.push_back(pointwise(op, 2, 3));
  // The numbers are from 0.01 to 1, so 100 is the largest quotient and 5 the largest logarithm.
  cases.push_back(pointwise("divide", 2, 100, Values::Positive));
  cases.push_back(pointwise("log", 1, 5, Values::Positive));
  cases.push_back(pointwise("sqrt", 1, 1, Values::Positive));
  // PointKernelTest has all functions.
  cases.push_back(severalPoints({"mish", "expm1", "sin", "hardswish", "round"}));
  cases.push_back(severalPoints({"tan", "log1p", "pow [1.25]", "floor"}, Values::Positive));
  cases.push_back({"compare", "(%a: $F, %b: $F) -> ($F, $F)",
                   "%0 = graph.compare lt %a, %b : ($F, $F) -> $F\n"
                   "%1 = graph.where %0, %a, %b : ($F, $F, $F) -> $F"});
  cases.push_back({"scale", "(%x: $F) -> $F", "%0 = graph.scale %x by 2.5 : $F"});
  for (const char *format : {"e4m3", "e5m2"})
    cases.push_back({"quantise",
                     "(%x: $B, %a: $1) -> $B",
                     std::string("%0 = graph.quantise ") + format + " %x by %a : $B",
                     "",
                     Values::Positive,
                     {1}});
  cases.push_back({"cast", "(%x: $H) -> $F", "%0 = graph.cast %x : $H to $F"});
  cases.push_back({"bias_gelu",
                   "(%x: $X, %b: $C) -> $X",
                   "%b1 = graph.add %x, %b : ($X, $C) -> $X\n%0 = graph.gelu tanh %b1 : $X",
                   "",
                   Values::Any,
                   {},
                   3});
  cases.push_back({"broadcast", "(%x: $S) -> $A", "%0 = graph.broadcast %x dims [1] : $S -> $A"});
  cases.back().readsVectors = false;
  cases.push_back({"constant", "() -> $X", "%0 = graph.constant 1.5 : $X"});
  cases.back().readsVectors = false;
  cases.push_back({"iota", "() -> $S", "%0 = graph.iota : $S"});
  cases.back().readsVectors = false;
  cases.push_back({"chunk_starts", "() -> $A",
                   "%s = graph.chunk_starts size 3 : $I\n%0 = graph.cast %s : $I to $A"});
  cases.back().readsVectors = false;
  cases.push_back({"chunk_starts_within", "() -> $A",
                   "%s = graph.chunk_starts size 3 offset -4 within [0, 5] : $I\n"
                   "%0 = graph.cast %s : $I to $A"});
  cases.back().readsVectors = false;
  cases.push_back({"counted", "(%t: $T) -> $S", "%0 = graph.counted %t ignoring -100 : $T to $S"});
  cases.push_back({"dropout",
                   "(%x: $X, %seed: tensor<i64>, %step: $1) -> $X",
                   "%0 = graph.dropout %x p 0.1 id 3 key(%seed, %step) : $X",
                   "",
                   Values::Any,
                   {77, 3}});
  cases.push_back({"round_randomly",
                   "(%x: $A, %y: $A, %seed: tensor<i64>, %step: $1) -> ($B, $B)",
                   "%0, %1 = graph.round_randomly %x, %y id 3 key(%seed, %step) : $A, $A to $B, $B",
                   "",
                   Values::Any,
                   {77, 3}});
  // The largest magnitudes are random, so that some numbers are above them.
  cases.push_back({"encode_moments",
                   "(%m: $A, %v: $A, %l: $L, %h: $L, %seed: tensor<i64>, %step: $1) -> ($A, $A)",
                   "%c, %d = graph.encode_moments %m, %v largest %l, %h id 3 key(%seed, %step) "
                   ": $A, $L to $Y\n"
                   "%0, %1 = graph.decode_moments %c, %d largest %h, %l : $Y, $L to $A",
                   "",
                   Values::Positive,
                   {77, 3}});
  cases.push_back({"rotary_table", "() -> ($S, $S)", "", "", Values::Any, {}, 1});
  return cases;
}

std::vector<KernelCase> rowCases() {
  std::vector<KernelCase> cases;
  auto add = [&](const char *name, const char *signature, const std::string &op, double magnitude,
                 Values values = Values::Any) {
    cases.push_back(
        {name, signature, op, "", values, {}, magnitude, /*addsColumns=*/magnitude > 0});
  };
  // If a row is one element, 1 / sqrt(epsilon) of 1e-5 multiplies what should be 0. Otherwise
  // rows deviate by more than 1/8.
  add("layer_norm", "(%x: $X, %w: $C, %b: $C) -> ($X, $S, $S)",
      "%0, %1, %2 = graph.layer_norm %x, %w, %b : ($X, $C, $C) -> ($X, $S, $S)", 320);
  add("rms_norm", "(%x: $X, %w: $C) -> ($X, $S)",
      "%0, %1 = graph.rms_norm %x, %w : ($X, $C) -> ($X, $S)", 320);
  // |x - mean| * rstd is up to 2: 1 + 1 + 2 * 2.
  add("layer_norm_grad", "(%x: $X, %w: $C, %m: $S, %r: $S, %d: $X) -> $X",
      "%0 = graph.layer_norm_grad %x, %w, %m, %r, %d : ($X, $C, $S, $S, $X) -> $X", 6);
  add("rms_norm_grad", "(%x: $X, %w: $C, %r: $S, %d: $X) -> $X",
      "%0 = graph.rms_norm_grad %x, %w, %r, %d : ($X, $C, $S, $X) -> $X", 2);
  add("layer_norm_param_grad", "(%x: $X, %m: $S, %r: $S, %d: $X) -> ($C, $C)",
      "%0, %1 = graph.layer_norm_param_grad %x, %m, %r, %d : ($X, $S, $S, $X) -> ($C, $C)", 0,
      Values::Whole);
  add("rms_norm_param_grad", "(%x: $X, %r: $S, %d: $X) -> $C",
      "%0 = graph.rms_norm_param_grad %x, %r, %d : ($X, $S, $X) -> $C", 0, Values::Whole);
  add("softmax", "(%x: $X) -> $X", "%0 = graph.softmax %x : $X", 1);
  add("softmax_grad", "(%y: $X, %d: $X) -> $X", "%0 = graph.softmax_grad %y, %d : $X", 0,
      Values::Whole);
  // The logarithm of up to 1000 words, each e.
  add("cross_entropy", "(%x: $X, %t: $T) -> ($S, $S)",
      "%0, %1 = graph.cross_entropy %x, %t : ($X, $T) -> ($S, $S)", 10);
  add("cross_entropy_grad", "(%x: $X, %t: $T, %l: $S, %d: $S) -> $X",
      "%0 = graph.cross_entropy_grad %x, %t, %l, %d : ($X, $T, $S, $S) -> $X", 9);
  add("sum_exp", "(%x: $X, %m: $S) -> $S", "%0 = graph.sum_exp %x, %m : ($X, $S) -> $S", 8);
  add("pick", "(%x: $X, %t: $T) -> $S", "%0 = graph.pick %x, %t : ($X, $T) -> $S", 0);
  cases.back().readsVectors = false;
  add("rotary", "(%x: $R, %c: $A, %s: $A) -> $R",
      "%0 = graph.rotary %x, %c, %s : ($R, $A, $A) -> $R", 2);
  for (const char *kind : {"sum", "max"}) {
    std::string op = std::string("%0 = graph.reduce ") + kind + " %x dims ";
    add("reduce_rows", "(%x: $X) -> $C", op + "[0] : $X -> $C", 0, Values::Whole);
    add("reduce", "(%x: $A) -> $S", op + "[1] : $A -> $S", 0, Values::Whole);
    add("reduce_all", "(%x: $H) -> $1", op + "[0] : $H -> $1", 0, Values::Whole);
  }
  add("cumsum_rows", "(%x: $X) -> $X", "%0 = graph.cumsum %x dim 0 : $X", 0, Values::Whole);
  add("cumsum", "(%x: $X) -> $X", "%0 = graph.cumsum %x dim 1 reverse : $X", 0, Values::Whole);
  cases.back().readsVectors = false;
  add("gather_rows", "(%x: $X, %i: $T) -> $X", "%0 = graph.gather %x, %i dim 0 : ($X, $T) -> $X", 0,
      Values::Whole);
  cases.back().readsVectors = false;
  add("gather", "(%x: $X, %i: $A) -> $X", "%0 = graph.gather %x, %i dim 1 : ($X, $A) -> $X", 0,
      Values::Whole);
  cases.back().readsVectors = false;
  add("scatter_add_rows", "(%u: $X, %i: $T) -> $A",
      "%0 = graph.scatter_add %u, %i dim 0 : ($X, $T) -> $A", 0, Values::Whole);
  cases.back().readsVectors = false;
  add("scatter_add", "(%u: $X, %i: $A) -> $A",
      "%0 = graph.scatter_add %u, %i dim 1 : ($X, $A) -> $A", 0, Values::Whole);
  cases.back().readsVectors = false;
  add("top_k_rows", "(%x: $X) -> ($X, $A)", "%0, %1 = graph.top_k %x dim 0 : $X -> ($X, $A)", 0,
      Values::Whole);
  cases.back().readsVectors = false;
  add("sum_squares", "(%x: $F) -> $1", "%0 = graph.sum_squares %x : $F", 0, Values::Whole);
  add("amax", "(%x: $F) -> $1", "%0 = graph.amax %x : $F -> $1", 0, Values::Whole);
  return cases;
}

// Returns sums in two steps, with `parts` parts of their rows. The last parts may have no rows.
std::vector<KernelCase> partCases(int64_t rows, int64_t columns) {
  std::vector<KernelCase> cases;
  auto add = [&](const char *name, const std::string &signature, const std::string &op) {
    cases.push_back({name, signature, op, "", Values::Whole});
  };
  auto tensor = [](std::vector<int64_t> shape) {
    std::string text = "tensor<";
    for (int64_t size : shape)
      text += std::to_string(size) + "x";
    return text + "f32>";
  };
  auto padded = [](int64_t count) { return (count + 3) / 4 * 4; };
  // The chunks are as many as dtc-split-sums makes, and more than there are runs.
  int64_t chunks = ChunkedSum::chunksOf(rows * columns);
  for (int64_t first : {chunks, int64_t(3)}) {
    std::string sums = tensor({padded(first + 2)});
    add("chunk_squares", "(%x: $F, %y: $C, %z: $X) -> " + sums,
        "%0 = graph.chunk_squares %x, %y, %z chunks [" + std::to_string(first) +
            ", 1, 1] : ($F, $C, $X) -> " + sums);
  }
  std::string many = tensor({padded(rows * columns)}), few = tensor({12});
  add("sum_chunks", "(%p: " + many + ", %q: " + few + ") -> $1",
      "%0 = graph.sum_chunks %p, %q : " + many + ", " + few);
  int64_t least = std::min<int64_t>(rows, 4);
  int64_t units = KernelBuilder::columnUnits(1, columns, rowSumColumns);
  for (int64_t parts : {least, std::max(RowParts::partsOf(rows, units), least)}) {
    std::string sums = tensor({parts, columns});
    add("row_part_sums", "(%x: $X) -> " + sums, "%0 = graph.row_part_sums %x : $X -> " + sums);
    add("layer_norm_param_grad_parts",
        "(%x: $X, %r: $S, %d: $X, %m: $S) -> (" + sums + ", " + sums + ")",
        "%0, %1 = graph.norm_param_grad_parts %x, %r, %d mean %m : ($X, $S, $X, $S) -> (" + sums +
            ", " + sums + ")");
    add("rms_norm_param_grad_parts", "(%x: $X, %r: $S, %d: $X) -> " + sums,
        "%0 = graph.norm_param_grad_parts %x, %r, %d : ($X, $S, $X) -> " + sums);
  }
  std::string whole = tensor({columns});
  add("sum_parts", "(%p: $A, %q: $A) -> (" + whole + ", " + whole + ")",
      "%0, %1 = graph.sum_parts %p, %q scale 0.5 : ($A, $A) -> (" + whole + ", " + whole + ")");
  return cases;
}

std::vector<KernelCase> optimizerCases() {
  std::vector<KernelCase> cases;
  std::string moments = "beta1 = 0.9 : f64, beta2 = 0.95 : f64, epsilon = 1.0e-8 : f64, "
                        "weight_decay = 0.1 : f64} : $F";
  std::string momentum = "{momentum = 0.9 : f64, weight_decay = 0.1 : f64} : $F";
  // The correction of the first step divides by 1 - 0.95, and m / sqrt(v) is up to 10, because v is
  // 0.01 or more.
  cases.push_back(
      {"adamw",
       "(%p: $F, %g: $F, %m: $F, %v: $F, %l: $1, %t: $1, %s: $1, %a: $1) -> ($F, $F, $F)",
       "%0, %1, %2 = graph.adamw %p, %g, %m, %v lr %l step %t grad_scale %s apply %a {" + moments,
       "",
       Values::Positive,
       {0.01, 3, 0.5, 1},
       200});
  cases.push_back(
      {"lamb_direction",
       "(%p: $F, %g: $F, %m: $F, %v: $F, %t: $1, %s: $1, %a: $1) -> ($F, $F, $F)",
       "%0, %1, %2 = graph.lamb_direction %p, %g, %m, %v step %t grad_scale %s apply %a {" +
           moments,
       "",
       Values::Positive,
       {3, 0.5, 1},
       200});
  cases.push_back({"sgd",
                   "(%p: $F, %g: $F, %b: $F, %l: $1, %s: $1, %a: $1) -> ($F, $F)",
                   "%0, %1 = graph.sgd %p, %g, %b lr %l grad_scale %s apply %a " + momentum,
                   "",
                   Values::Any,
                   {0.01, 0.5, 1},
                   2});
  cases.push_back(
      {"lars",
       "(%p: $F, %g: $F, %b: $F, %l: $1, %s: $1, %r: $1, %a: $1) -> ($F, $F)",
       "%0, %1 = graph.lars %p, %g, %b lr %l grad_scale %s ratio %r apply %a " + momentum,
       "",
       Values::Any,
       {0.01, 0.5, 0.1, 1},
       2});
  cases.push_back({"descend",
                   "(%p: $F, %d: $F, %l: $1, %r: $1, %a: $1) -> $F",
                   "%0 = graph.descend %p, %d lr %l ratio %r apply %a : $F",
                   "",
                   Values::Any,
                   {0.01, 0.5, 1},
                   2});
  auto scalar = [&](const char *name, const char *signature, const char *body,
                    std::vector<double> operands, double magnitude) {
    cases.push_back({name, signature, body, "", Values::Any, std::move(operands), magnitude});
    cases.back().readsVectors = false;
  };
  scalar("trust_ratio", "(%p: $1, %d: $1) -> $1",
         "%0 = graph.trust_ratio %p, %d coefficient 1.0 decay 0.5", {3, 2}, 4);
  scalar("clip_scale", "(%n: $1) -> $1", "%0 = graph.clip_scale %n max 1.0", {4}, 4);
  scalar("is_finite", "(%n: $1) -> $1", "%0 = graph.is_finite %n", {INFINITY}, 0);
  scalar("inverse_or_zero", "(%n: $1) -> $1", "%0 = graph.inverse_or_zero %n", {3}, 1);
  scalar("next_loss_scale", "(%s: $1, %g: $1, %a: $1) -> ($1, $1)",
         "%0, %1 = graph.next_loss_scale %s, %g apply %a growth_interval 3 largest 8192.0",
         {4096, 2, 1}, 0);
  scalar("learning_rate", "(%t: $1, %b: $1, %n: $1) -> $1",
         "%0 = graph.learning_rate cosine(%t, %b, %n) warmup 10 min_ratio 0.1", {55, 0.02, 100}, 4);
  return cases;
}

} // namespace

// Returns kernels of mixtures of four experts, of which each of `rows` tokens goes to two.
static std::vector<KernelCase> routeCases(int64_t rows, int64_t columns, const std::string &type) {
  std::string tokens = "1x" + std::to_string(rows) + "x", of = std::to_string(columns) + "x" + type;
  std::string logits = "tensor<" + tokens + "4x" + type + ">";
  std::string weights = "tensor<" + tokens + "2x" + type + ">",
              choices = "tensor<" + tokens + "2xi32>";
  std::string x = "tensor<" + tokens + of + ">", counts = "tensor<1x4xi32>";
  std::string mean = "tensor<4x1x" + std::to_string((2 * rows + 3) / 4) + "x";
  std::string packed = mean + of + ">";
  std::vector<KernelCase> cases;
  auto add = [&](const std::string &name, const std::string &operands, const std::string &results,
                 const std::string &op, const std::string &types, double magnitude, Values values,
                 std::vector<double> integers) {
    cases.push_back({name,
                     "(" + operands + ") -> " + results,
                     op + " : " + types,
                     "",
                     values,
                     {},
                     magnitude,
                     false,
                     false,
                     std::move(integers)});
  };
  std::string routed = "(" + weights + ", " + choices + ")";
  add("route", "%l: " + logits, routed, "%0, %1 = graph.route %l top 2 normalised",
      "(" + logits + ") -> " + routed, 4, Values::Any, {});
  add("route_grad", "%l: " + logits + ", %e: " + choices + ", %d: " + weights, logits,
      "%0 = graph.route_grad %l, %e, %d score \"sigmoid\"",
      "(" + logits + ", " + choices + ", " + weights + ") -> " + logits, 4, Values::Any,
      {0, 3, 2, 1});
  std::string placed = "(" + choices + ", " + counts + ")";
  add("place_rows", "%e: " + choices, placed, "%0, %1 = graph.place_rows %e",
      "(" + choices + ") -> " + placed, 0, Values::Any, {0, 3, 2, 1, 0, 1});
  std::vector<double> order; // one of the rows, by a step that has no divisor with their number
  for (int64_t i = 0; i < 2 * rows; ++i)
    order.push_back(static_cast<double>(i * (2 * rows % 7 == 0 ? 1 : 7) % (2 * rows)));
  add("pack_rows", "%x: " + x + ", %p: " + choices, packed, "%0 = graph.pack_rows %x at %p",
      "(" + x + ", " + choices + ") -> " + packed, 0, Values::Any, order);
  add("unpack_rows", "%r: " + packed + ", %p: " + choices + ", %w: " + weights, x,
      "%0 = graph.unpack_rows %r at %p weighted %w",
      "(" + packed + ", " + choices + ", " + weights + ") -> " + x, 2, Values::Any, order);
  add("unpack_weight_grad", "%r: " + packed + ", %p: " + choices + ", %d: " + x, weights,
      "%0 = graph.unpack_weight_grad %r at %p, %d",
      "(" + packed + ", " + choices + ", " + x + ") -> " + weights, 0, Values::Whole, order);
  // Two ranks have two experts each.
  std::string blocks = "tensor<2x1x" + std::to_string(2 * rows) + "x";
  std::string wide = "tensor<4x1x" + std::to_string((2 * rows + 3) / 4 * 2) + "x" + of + ">";
  add("place_rows_of_ranks", "%e: " + choices, placed, "%0, %1 = graph.place_rows %e ranks 2",
      "(" + choices + ") -> " + placed, 0, Values::Any, {0, 3, 2, 1, 0, 1});
  int64_t third = rows / 3;
  add("place_blocks", "%c: " + counts, blocks + "i32>", "%0 = graph.place_blocks %c",
      "(" + counts + ") -> " + blocks + "i32>", 0, Values::Any,
      {static_cast<double>(third), 0, static_cast<double>(rows), static_cast<double>(third)});
  add("round_counts", "%c: " + counts, counts,
      "%0 = graph.round_counts %c experts 2 round 1 room " + std::to_string(third + 1), counts, 0,
      Values::Any,
      {static_cast<double>(third), 1, static_cast<double>(rows), static_cast<double>(third)});
  // The second of two rounds has some of the choices.
  std::vector<double> turns;
  for (int64_t i = 0; i < 2 * rows; ++i)
    turns.push_back(i % 3 == 0 ? -1 : static_cast<double>(i / 2));
  std::string ofRound = "tensor<2x1x" + std::to_string(rows) + "x" + of + ">";
  add("round_rows", "%p: " + choices, choices,
      "%0 = graph.round_rows %p round 1 room " + std::to_string(rows), choices, 0, Values::Any,
      order);
  add("unpack_rows_of_round", "%r: " + ofRound + ", %p: " + choices + ", %w: " + weights, x,
      "%0 = graph.unpack_rows %r at %p weighted %w blocks",
      "(" + ofRound + ", " + choices + ", " + weights + ") -> " + x, 2, Values::Any, turns);
  add("unpack_weight_grad_of_round", "%r: " + ofRound + ", %p: " + choices + ", %d: " + x, weights,
      "%0 = graph.unpack_weight_grad %r at %p, %d",
      "(" + ofRound + ", " + choices + ", " + x + ") -> " + weights, 0, Values::Whole, turns);
  std::vector<double> ofBlocks; // every other row is there
  for (int64_t i = 0; i < 4 * rows; ++i)
    ofBlocks.push_back(static_cast<double>(i % 2 == 0 ? i / 2 : -1 - (2 * rows + i / 2)));
  add("sort_rows", "%b: " + blocks + of + ">, %p: " + blocks + "i32>", wide,
      "%0 = graph.sort_rows %b at %p", "(" + blocks + of + ">, " + blocks + "i32>) -> " + wide, 0,
      Values::Any, ofBlocks);
  add("unsort_rows", "%r: " + wide + ", %p: " + blocks + "i32>", blocks + of + ">",
      "%0 = graph.unsort_rows %r at %p",
      "(" + wide + ", " + blocks + "i32>) -> " + blocks + of + ">", 0, Values::Any, ofBlocks);
  return cases;
}

std::vector<KernelCase> kernelCases(int64_t rows, int64_t columns, const std::string &type) {
  std::vector<KernelCase> cases = pointwiseCases();
  for (const std::vector<KernelCase> &more :
       {rowCases(), partCases(rows, columns), optimizerCases(), routeCases(rows, columns, type)})
    cases.insert(cases.end(), more.begin(), more.end());
  if (rows > 64) // the work of a selection of all rows grows with their square
    llvm::erase_if(cases, [](const KernelCase &kernel) { return kernel.name == "top_k_rows"; });
  for (KernelCase &kernel : cases) {
    if (kernel.name == "rotary_table") {
      kernel.signature = "() -> (tensor<ROWSx2xf32>, tensor<ROWSx2xf32>)";
      kernel.body =
          "%0, %1 = graph.rotary_table [1.0, 0.01] : tensor<ROWSx2xf32>, tensor<ROWSx2xf32>";
      kernel.readsVectors = false;
      for (std::string *text : {&kernel.signature, &kernel.body})
        for (size_t at = text->find("ROWS"); at != std::string::npos; at = text->find("ROWS"))
          text->replace(at, 4, std::to_string(rows));
    }
    if (kernel.name == "sum_exp") // it has as many terms
      kernel.magnitude *= static_cast<double>(columns);
    kernel.signature = fill(kernel.signature, rows, columns, type);
    kernel.body = fill(kernel.body, rows, columns, type);
    kernel.results = resultsOf(kernel.signature);
  }
  return cases;
}

std::vector<std::vector<double>> makeOperands(const KernelCase &kernel, const KernelText &text,
                                              int64_t columns) {
  std::vector<std::vector<double>> operands;
  size_t scalar = 0;
  for (size_t i = 0; i < text.operands.size(); ++i) {
    const KernelText::Tensor &tensor = text.operands[i];
    std::vector<double> values = randomValues(tensor.size, static_cast<unsigned>(i + 1));
    for (size_t at = 0; at < values.size(); ++at) {
      double &value = values[at];
      value /= 2;
      if (tensor.type == "i32")
        value = kernel.integers.empty() ? static_cast<double>(at * 7 % static_cast<size_t>(columns))
                                        : kernel.integers[at % kernel.integers.size()];
      else if (kernel.values == KernelCase::Values::Positive)
        value = 0.01 + 0.99 * std::abs(value);
      else if (kernel.values == KernelCase::Values::Whole)
        value = std::round(2 * value);
    }
    // Scalars are the last operands.
    if (i + kernel.scalars.size() >= text.operands.size())
      values = {kernel.scalars[scalar++]};
    operands.push_back(values);
  }
  return operands;
}

} // namespace dtc::test
