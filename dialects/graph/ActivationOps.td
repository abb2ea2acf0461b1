// Activations, point by point, and their backward ops.
include "dialects/graph/GraphOpBase.td"

def Graph_ReluOp : Graph_Op<"relu", [Pure, Graph_Rule, Graph_Gradient, Graph_Pointwise, SameOperandsAndResultType]> {
  let summary = "The positive part";
  let description = [{
    max(x, 0), NaN where x is, point by point. Any dim splits over the mesh. The gradient at 0 is 0.

    Example:
    ```mlir
    %y = graph.relu %x : tensor<?x8x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Graph_ReluGradOp : Graph_Op<"relu_grad", [Pure, Graph_Rule, Graph_Pointwise, SameOperandsAndResultType]> {
  let summary = "Gradient of relu";
  let description = [{
    dx = dy where y, the result of relu, is above 0, else 0, point by point.

    Example:
    ```mlir
    %dx = graph.relu_grad %y, %dy : tensor<?x8x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$y, Graph_FloatTensor:$dy);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$y `,` $dy attr-dict `:` type($y)";
}
