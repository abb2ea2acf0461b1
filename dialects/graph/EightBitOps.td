// The ops that round operands of matrix products to 8 bits.
#ifndef DTC_GRAPH_EIGHT_BIT_OPS_TD
#define DTC_GRAPH_EIGHT_BIT_OPS_TD

include "dialects/graph/GraphOpBase.td"
include "dialects/graph/EightBitFormats.td"

def Graph_AmaxOp : Graph_Op<"amax", [Pure, Graph_Rule]> {
  let summary = "Largest magnitude of a tensor";
  let description = [{
    max |x| over the last dims, those that the result lacks; a maximum is exact in any order. An element that is NaN may
    count or not. On the mesh a split of these dims leaves a partial maximum, so that all ranks that hold parts of the
    tensor get the same number; padding is 0 and changes nothing. It carries no gradient.

    Constraints:
    - (C1) the result has the first dims of `x`, (C2) in f32.

    Example:
    ```mlir
    %a = graph.amax %x : tensor<4x8x16xbf16> -> tensor<f32>
    %b = graph.amax %x : tensor<4x8x16xbf16> -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x);
  let results = (outs Graph_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$x), [{
      build($_builder, $_state, ::mlir::RankedTensorType::get({}, $_builder.getF32Type()), x);
    }]>];
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def Graph_QuantiseOp : Graph_Op<"quantise", [Pure, Graph_Rule, Graph_Gradient, Graph_Pointwise,
    AllTypesMatch<["x", "result"]>]> {
  let summary = "Rounds to a float of 8 bits, with a scale";
  let description = [{
    round(x * s) / s, where `round` goes to the nearest number of the format (`e4m3` up to 448, `e5m2` up to 57344), the
    even one of two, and s is the largest power of two for which amax * s is in the format, at most 2^100. The result
    keeps the element type, which has every such number: dividing by s is exact. So a product of such tensors is that of
    the 8-bit numbers, summed in f32 and divided by both scales, to the bit.

    A finite x whose x * s is too large saturates, and so does one above 1.75 * 2^127. What is not finite becomes NaN,
    never the largest number, so that the check for gradients that are not finite sees it behind the rounding as in
    front of it. With an amax of infinity or NaN the scale is 1. The gradient passes unchanged to `x`, none to `amax`.

    `again` marks a rounding that the backward function repeats instead of saving its result; it keeps common
    subexpression elimination from joining the two.

    Constraints:
    - (C1) `x` is in f32 or bf16, whose exponents are those of the scale.

    Example:
    ```mlir
    %q = graph.quantise e4m3 %x by %a : tensor<4x8x16xbf16>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_Scalar:$amax, Graph_EightBitFormat:$format, UnitAttr:$again);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$format $x `by` $amax (`again` $again^)? attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def Graph_QuantiseGradientOp : Graph_Op<"quantise_gradient", [Pure, Graph_Rule, Graph_Gradient,
    AllTypesMatch<["x", "result"]>]> {
  let summary = "Rounds the gradient of a tensor to a float of 8 bits";
  let description = [{
    Returns `x`; its gradient is rounded as `graph.quantise` rounds, by the largest magnitude of the gradient itself.
    The op stands behind a product whose gradients are made by products of 8 bits, and folds to `x`:
    `dtc-differentiate` has to run before anything folds.

    Constraints:
    - (C1) `x` is in f32 or bf16.

    Example:
    ```mlir
    %z = graph.quantise_gradient e5m2 %y : tensor<4x8x16xbf16>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_EightBitFormat:$format);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$format $x attr-dict `:` type($x)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif
