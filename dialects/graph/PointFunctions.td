// The functions of graph.point and the comparisons of graph.compare. They are apart from the
// dialect, so that a new row of PointTable.cpp does not rebuild all of the compiler.
#ifndef DTC_GRAPH_POINT_FUNCTIONS_TD
#define DTC_GRAPH_POINT_FUNCTIONS_TD

include "mlir/IR/EnumAttr.td"

class Graph_PointEnum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::dtc::graph";
}

// The order is that of the rows of PointTable.cpp.
def Graph_PointFunction : Graph_PointEnum<"PointFunction", "a function of one number", [
  I32EnumAttrCase<"Sigmoid", 0, "sigmoid">, I32EnumAttrCase<"LogSigmoid", 1, "log_sigmoid">,
  I32EnumAttrCase<"Softplus", 2, "softplus">, I32EnumAttrCase<"Softsign", 3, "softsign">,
  I32EnumAttrCase<"Mish", 4, "mish">, I32EnumAttrCase<"Elu", 5, "elu">,
  I32EnumAttrCase<"LeakyRelu", 6, "leaky_relu">, I32EnumAttrCase<"Hardtanh", 7, "hardtanh">,
  I32EnumAttrCase<"Hardsigmoid", 8, "hardsigmoid">, I32EnumAttrCase<"Hardswish", 9, "hardswish">,
  I32EnumAttrCase<"Hardshrink", 10, "hardshrink">, I32EnumAttrCase<"Softshrink", 11, "softshrink">,
  I32EnumAttrCase<"Threshold", 12, "threshold">, I32EnumAttrCase<"Clamp", 13, "clamp">,
  I32EnumAttrCase<"Sin", 14, "sin">, I32EnumAttrCase<"Cos", 15, "cos">, I32EnumAttrCase<"Tan", 16, "tan">,
  I32EnumAttrCase<"Erf", 17, "erf">, I32EnumAttrCase<"Log1p", 18, "log1p">,
  I32EnumAttrCase<"Expm1", 19, "expm1">, I32EnumAttrCase<"Rsqrt", 20, "rsqrt">,
  I32EnumAttrCase<"Reciprocal", 21, "reciprocal">, I32EnumAttrCase<"Pow", 22, "pow">,
  I32EnumAttrCase<"Abs", 23, "abs">, I32EnumAttrCase<"Sign", 24, "sign">,
  I32EnumAttrCase<"Floor", 25, "floor">, I32EnumAttrCase<"Ceil", 26, "ceil">,
  I32EnumAttrCase<"Round", 27, "round">, I32EnumAttrCase<"Trunc", 28, "trunc">]>;

def Graph_CompareKind : Graph_PointEnum<"CompareKind", "which comparison", [
  I32EnumAttrCase<"Eq", 0, "eq">, I32EnumAttrCase<"Ne", 1, "ne">, I32EnumAttrCase<"Lt", 2, "lt">,
  I32EnumAttrCase<"Le", 3, "le">, I32EnumAttrCase<"Gt", 4, "gt">, I32EnumAttrCase<"Ge", 5, "ge">]>;
#endif
