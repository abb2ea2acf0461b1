// Point-by-point arithmetic. Operands broadcast as in NumPy: dims align at the end; a missing dim
// or one of size 1 repeats.
include "dialects/graph/GraphOpBase.td"

class Graph_Binary<string mnemonic, string what, string formula, list<Trait> traits = []> :
    Graph_Op<mnemonic, [Pure, Graph_Rule, Graph_Gradient, Graph_Pointwise] # traits> {
  let summary = what;
  let description = "\n    " # formula # [{ point by point. Operands broadcast: dims align at the end, a missing dim or
    one of size 1 repeats. Any dim splits over the mesh.

    Constraints:
    - (C1) aligned dims are equal or 1.
    - (C2) the result has the broadcast shape.
    - (C3) all have the same element type.

    Example:
    ```mlir
    %y = graph.}] # mnemonic # [{ %x, %b : (tensor<?x8x16xf32>, tensor<16xf32>) -> tensor<?x8x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$lhs, Graph_FloatTensor:$rhs);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Graph_AddOp : Graph_Binary<"add", "Adds", "lhs + rhs", [Commutative]> {
  let hasCanonicalizer = 1;
}
def Graph_SubtractOp : Graph_Binary<"subtract", "Subtracts", "lhs - rhs">;
def Graph_MultiplyOp : Graph_Binary<"multiply", "Multiplies", "lhs * rhs", [Commutative]> {
  let hasCanonicalizer = 1;
}
def Graph_DivideOp : Graph_Binary<"divide", "Divides", "lhs / rhs">;
def Graph_MinimumOp : Graph_Binary<"minimum", "Takes the smaller", "min(lhs, rhs), NaN where either is,",
    [Commutative]>;
def Graph_MaximumOp : Graph_Binary<"maximum", "Takes the larger", "max(lhs, rhs), NaN where either is,", [Commutative]>;

class Graph_Unary<string mnemonic, string what, string formula> :
    Graph_Op<mnemonic, [Pure, Graph_Rule, Graph_Gradient, Graph_Pointwise, SameOperandsAndResultType]> {
  let summary = what;
  let description = "\n    " # formula # [{ point by point. Any dim splits over the mesh.

    Example:
    ```mlir
    %y = graph.}] # mnemonic # [{ %x : tensor<?x8x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}
def Graph_NegateOp : Graph_Unary<"negate", "Negates", "-x"> {
  let hasFolder = 1;
}
def Graph_ExpOp : Graph_Unary<"exp", "Exponential", "exp(x)">;
def Graph_LogOp : Graph_Unary<"log", "Natural logarithm", "log(x)">;
def Graph_SqrtOp : Graph_Unary<"sqrt", "Square root", "sqrt(x)">;
def Graph_TanhOp : Graph_Unary<"tanh", "Hyperbolic tangent", "tanh(x)">;
def Graph_SiluOp : Graph_Unary<"silu", "x * sigmoid(x)", "x / (1 + exp(-x))">;

def Graph_GeluOp : Graph_Op<"gelu", [Pure, Graph_Rule, Graph_Gradient, Graph_Pointwise, SameOperandsAndResultType]> {
  let summary = "Gaussian error linear unit, exact (erf) or by tanh";
  let description = [{
    `erf`: x/2 (1 + erf(x / sqrt(2))). `tanh`: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), which GPT-2 uses.
    Source: Hendrycks and Gimpel 2016, arXiv:1606.08415.

    Example:
    ```mlir
    %y = graph.gelu tanh %x : tensor<?x8x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_GeluKindAttr:$kind);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "`` $kind $x attr-dict `:` type($x)";
}

def Graph_ScaleOp : Graph_Op<"scale", [Pure, Graph_Rule, Graph_Gradient, Graph_Pointwise, SameOperandsAndResultType]> {
  let summary = "Multiplies by a constant";
  let description = [{
    x * factor. Linear, so partial sums may be scaled before they are added up. Partitioning makes with it each rank's
    share of a tensor that all ranks along mesh axes `share_axes` hold: their sum is the tensor again. Such a scale is
    not folded into others, so that what was compiled can be proved.

    Example:
    ```mlir
    %y = graph.scale %x by 0.5 : tensor<?x8x16xf32>
    %s = graph.scale %x by 0.5 share [2] : tensor<?x8x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, F64Attr:$factor, OptionalAttr<DenseI64ArrayAttr>:$share_axes);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `by` $factor (`share` $share_axes^)? attr-dict `:` type($x)";
  let builders = [OpBuilder<(ins "mlir::Type":$type, "mlir::Value":$x, "mlir::FloatAttr":$factor), [{
    build($_builder, $_state, type, x, factor, mlir::DenseI64ArrayAttr());
  }]>, OpBuilder<(ins "mlir::Value":$x, "mlir::FloatAttr":$factor), [{
    build($_builder, $_state, x.getType(), x, factor, mlir::DenseI64ArrayAttr());
  }]>];
  let hasFolder = 1;
}

def Graph_CastOp : Graph_Op<"cast", [Pure, Graph_Rule, Graph_Gradient, Graph_Pointwise, SameOperandsAndResultShape]> {
  let summary = "Changes the element type";
  let description = [{
    Rounds to the nearest value of the new type; floating point to integer cuts off the fraction. Only casts between
    floating-point types have a gradient.

    Example:
    ```mlir
    %y = graph.cast %x : tensor<?x8xf32> to tensor<?x8xbf16>
    ```
  }];
  let arguments = (ins Graph_Tensor:$x);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($result)";
  let hasFolder = 1;
}

def Graph_ConstantOp : Graph_Op<"constant", [Pure, ConstantLike, Graph_Rule, Graph_Pointwise]> {
  let summary = "A tensor of one repeated value";
  let description = [{
    Constraints:
    - (C1) the shape is static but for the batch, dim 0.

    Example:
    ```mlir
    %one = graph.constant 1.0 : tensor<f32>
    ```
  }];
  let arguments = (ins F64Attr:$value);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
