// The op that keeps recomputed ops apart from the originals.
include "dialects/graph/GraphOpBase.td"

def Graph_AgainOp : Graph_Op<"again", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "The same tensor, for ops that are computed again";
  let description = [{
    The operand of recomputed ops. Ops that compute the same from `%x` and from `again %x` differ for common
    subexpression elimination and everything else that compares ops, so that a recomputed value is not replaced by the
    one of the forward pass. Nothing folds the op. In a program it is the buffer of `%x`; it costs nothing.

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
