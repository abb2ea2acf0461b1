// Point-by-point arithmetic. Operands broadcast as in NumPy: dims align at the end; a missing dim or one of size 1 repeats.
include "dialects/graph/GraphOpBase.td"

class Graph_Binary<string mnemonic, string what, list<Trait> traits = []> :
    Graph_Op<mnemonic, [Pure, Graph_Rule, Graph_Gradient, Graph_Pointwise] # traits> {
  let summary = what;
  let arguments = (ins Graph_FloatTensor:$lhs, Graph_FloatTensor:$rhs);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_AddOp : Graph_Binary<"add", "Adds", [Commutative]> {
  let hasCanonicalizer = 1;
}
def Graph_SubtractOp : Graph_Binary<"subtract", "Subtracts">;
def Graph_MultiplyOp : Graph_Binary<"multiply", "Multiplies", [Commutative]>;
def Graph_DivideOp : Graph_Binary<"divide", "Divides">;
def Graph_MinimumOp : Graph_Binary<"minimum", "Takes the smaller", [Commutative]>;
def Graph_MaximumOp : Graph_Binary<"maximum", "Takes the larger", [Commutative]>;

class Graph_Unary<string mnemonic, string what> :
    Graph_Op<mnemonic, [Pure, Graph_Rule, Graph_Gradient, Graph_Pointwise, SameOperandsAndResultType]> {
  let summary = what;
  let arguments = (ins Graph_FloatTensor:$x);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}
def Graph_NegateOp : Graph_Unary<"negate", "Negates">;
def Graph_ExpOp : Graph_Unary<"exp", "Exponential">;
def Graph_LogOp : Graph_Unary<"log", "Natural logarithm">;
def Graph_SqrtOp : Graph_Unary<"sqrt", "Square root">;
def Graph_TanhOp : Graph_Unary<"tanh", "Hyperbolic tangent">;
def Graph_SiluOp : Graph_Unary<"silu", "x * sigmoid(x)">;

def Graph_GeluOp : Graph_Op<"gelu", [Pure, Graph_Rule, Graph_Gradient, Graph_Pointwise, SameOperandsAndResultType]> {
  let summary = "Gaussian error linear unit, exact (erf) or by tanh";
  let arguments = (ins Graph_FloatTensor:$x, Graph_GeluKindAttr:$kind);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$kind $x attr-dict `:` type($x)";
}
// x * factor, factor a constant.
def Graph_ScaleOp : Graph_Op<"scale", [Pure, Graph_Rule, Graph_Gradient, Graph_Pointwise, SameOperandsAndResultType]> {
  let summary = "Multiplies by a constant";
  let arguments = (ins Graph_FloatTensor:$x, F64Attr:$factor);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `by` $factor attr-dict `:` type($x)";
  let hasFolder = 1;
}
def Graph_CastOp : Graph_Op<"cast", [Pure, Graph_Rule, Graph_Gradient, Graph_Pointwise, SameOperandsAndResultShape]> {
  let summary = "Changes the element type";
  let arguments = (ins Graph_Tensor:$x);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($result)";
  let hasFolder = 1;
}
def Graph_ConstantOp : Graph_Op<"constant", [Pure, ConstantLike, Graph_Rule, Graph_Pointwise]> {
  let summary = "A tensor of one repeated value";
  let arguments = (ins F64Attr:$value);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
