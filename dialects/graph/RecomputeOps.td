// What keeps ops that are computed again apart from those that were computed first.
include "dialects/graph/GraphOpBase.td"

def Graph_AgainOp : Graph_Op<"again", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "The same tensor, for ops that are computed again";
  let description = [{
    What recomputation reads. Ops that compute the same of `%x` and of `again %x` are two, to common subexpression elimination
    and to all else that compares ops: so what the backward pass computes again is not found in the forward pass and kept
    from there. Nothing folds it. In a program it is the buffer of `%x`; it costs nothing.

    Example:
    ```mlir
    %again = graph.again %x : tensor<4x8x16xf32>
    %y = graph.gelu tanh %again : tensor<4x8x16xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$x);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}
