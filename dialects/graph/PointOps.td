// Functions of one number by a table (PointTable.h), comparisons, and choices by a mask.
include "dialects/graph/GraphOpBase.td"
include "dialects/graph/PointFunctions.td"

class Graph_PointTableOp<string mnemonic, list<Trait> traits = []>
    : Graph_Op<mnemonic, [Pure, Graph_Rule, Graph_Pointwise, SameOperandsAndResultType] # traits> {
  let hasVerifier = 1;
}

def Graph_PointOp : Graph_PointTableOp<"point", [Graph_Gradient]> {
  let summary = "A function of each number, by name";
  let description = [{
    f(x) point by point, with constant parameters of f in brackets. Any dim splits over the mesh. Values and gradients,
    those at infinities, NaN and the ends of pieces included, are those of torch.nn.functional and torch:

    | function | parameters | f(x) |
    | --- | --- | --- |
    | `sigmoid` | | 1 / (1 + exp(-x)) |
    | `log_sigmoid` | | log(sigmoid(x)) |
    | `softplus` | beta, threshold | log(1 + exp(beta x)) / beta; x where beta x is above the threshold |
    | `softsign` | | x / (1 + abs(x)) |
    | `mish` | | x tanh(log(1 + exp(x))) |
    | `elu` | alpha, scale, input_scale | scale x above 0, else scale alpha (exp(input_scale x) - 1) |
    | `leaky_relu` | slope | x above 0, else slope x |
    | `hardtanh` | low, high | min(max(x, low), high); no gradient at low and high |
    | `hardsigmoid` | | min(max(x + 3, 0), 6) / 6 |
    | `hardswish` | | x min(max(x + 3, 0), 6) / 6 |
    | `hardshrink` | width | 0 from -width to width, else x |
    | `softshrink` | width | x - width above width, x + width below -width, else 0 |
    | `threshold` | threshold, value | x above the threshold, else the value |
    | `clamp` | low, high | min(max(x, low), high); a gradient at low and high, and bounds may be infinite |
    | `sin`, `cos`, `tan` | | of x radians |
    | `erf` | | the error function |
    | `log1p`, `expm1` | | log(1 + x), exp(x) - 1, exact near 0 |
    | `rsqrt`, `reciprocal` | | 1 / sqrt(x), 1 / x |
    | `pow` | exponent | x to the power of the exponent |
    | `abs` | | the magnitude; the gradient at 0 is 0 |
    | `sign` | | -1, 0 or 1, and 0 of NaN; its gradient is 0, as those of all that follow |
    | `floor`, `ceil`, `trunc` | | the whole number below, above, towards 0 |
    | `round` | | the nearest whole number, the even one of two |

    SELU is elu with alpha 1.67326 and scale 1.0507, CELU elu with input_scale 1 / alpha, ReLU6 hardtanh from 0 to 6.
    `softplus`, `tan`, `log1p`, `expm1`, `rsqrt`, `reciprocal` and `pow` keep f32 in mixed precision, as with PyTorch's
    autocast.

    Constraints:
    - (C1) there are as many parameters as the function has.
    - (C2) parameters are finite; bounds of `clamp` may be infinite.
    - (C3) beta of `softplus` is not 0.

    Example:
    ```mlir
    %y = graph.point sigmoid %x : tensor<?x8x16xf32>
    %z = graph.point softplus [1.0, 20.0] %x : tensor<?x8x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_PointFunction:$function,
      DefaultValuedAttr<DenseF64ArrayAttr, "{}">:$parameters);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$function `` custom<Parameters>($parameters) $x attr-dict `:` type($x)";
}

def Graph_PointGradOp : Graph_PointTableOp<"point_grad"> {
  let summary = "Gradient of point";
  let description = [{
    dx = f'(x) dy point by point, for a function of `graph.point` with its parameters.

    Constraints: (C1) to (C3) of `graph.point`.

    Example:
    ```mlir
    %dx = graph.point_grad sigmoid %x, %dy : tensor<?x8x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$dy, Graph_PointFunction:$function,
      DefaultValuedAttr<DenseF64ArrayAttr, "{}">:$parameters);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$function `` custom<Parameters>($parameters) $x `,` $dy attr-dict `:` type($x)";
}

def Graph_CompareOp : Graph_Op<"compare", [Pure, Graph_Rule, Graph_Gradient, Graph_Pointwise]> {
  let summary = "1 where a comparison holds, else 0";
  let description = [{
    Compares point by point: `eq`, `ne`, `lt`, `le`, `gt`, `ge`. A comparison with NaN does not hold, except `ne`.
    Operands broadcast as those of `graph.add`. The result is a mask: numbers 0 and 1, of which a product is "and", a
    maximum "or", and 1 minus one is "not". No gradient passes. Any dim splits over the mesh.

    Constraints:
    - (C1) aligned dims are equal or 1.
    - (C2) the result has the broadcast shape.
    - (C3) both operands have the same element type; the result has it too, or f32 if they are integers.

    Example:
    ```mlir
    %m = graph.compare lt %x, %b : (tensor<?x8x16xf32>, tensor<16xf32>) -> tensor<?x8x16xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$lhs, Graph_Tensor:$rhs, Graph_CompareKind:$kind);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_WhereOp : Graph_Op<"where", [Pure, Graph_Rule, Graph_Gradient, Graph_Pointwise]> {
  let summary = "Takes one of two numbers by a mask";
  let description = [{
    lhs where the mask is not 0, else rhs, point by point. All three broadcast as the operands of `graph.add`. The
    gradient goes to the side that is taken, and none to the mask, which has any element type. Any dim splits over the
    mesh.

    Constraints:
    - (C1) aligned dims are equal or 1.
    - (C2) the result has the broadcast shape.
    - (C3) both sides have the element type of the result.

    Example:
    ```mlir
    %y = graph.where %m, %x, %b : (tensor<?x8x16xf32>, tensor<?x8x16xf32>, tensor<16xf32>) -> tensor<?x8x16xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$mask, Graph_FloatTensor:$lhs, Graph_FloatTensor:$rhs);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$mask `,` $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_IotaOp : Graph_Op<"iota", [Pure, Graph_Rule, Graph_IndexedPointwise]> {
  let summary = "Counts from 0";
  let description = [{
    Element i is i. Masks and positions are made of it by `graph.compare` and other ops that broadcast. On the mesh the
    dim splits, and `windows` give the part of this rank; padding is 0.

    Constraints:
    - (C1) the result has 1 dim.
    - (C2) its size is static.
    - (C3) `windows` are about the result.

    Example:
    ```mlir
    %i = graph.iota : tensor<16xf32>
    ```
  }];
  let arguments = (ins OptionalAttr<ArrayAttr>:$windows);
  let results = (outs RankedTensorOf<[F32, I32, I64]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}
