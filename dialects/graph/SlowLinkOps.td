// Gradients whose sum over ranks is compressed.
include "dialects/graph/GraphOpBase.td"

def Graph_AddendsOp : Graph_Op<"addends", [Pure, Graph_Rule]> {
  let summary = "The addends of a sum over ranks, one after the other";
  let description = [{
    Dim 0 of the result counts `ranks` addends of `x`, which add up to it. It is for a partial sum over as many ranks of
    data parallelism: each of them has the part of it that is its own addend, as it is. So nothing is sent, and
    `dtc-partition` leaves a reshape. All other dims are those of `x`, and split as they do.

    Constraints:
    - (C1) `ranks` is 2 or more.
    - (C2) the result is `x` with `ranks` as a new first dim.

    Example:
    ```mlir
    %each = graph.addends %g ranks 4 : tensor<8x16xf32> -> tensor<4x8x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, I64Attr:$ranks);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `ranks` $ranks attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}
