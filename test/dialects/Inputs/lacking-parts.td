// Ops that lack parts, for parts.test.
include "dialects/graph/GraphOpBase.td"

def Graph_BareOp : Graph_Op<"bare"> {
  let summary = "Has nothing";
  let description = "No example either.";
  let hasVerifier = 1;
}

def Graph_SteepOp : Graph_Op<"steep", [Graph_Rule, Graph_Gradient, Graph_Pointwise]> {
  let summary = "Has a gradient that nothing checks";
  let description = [{
    Example:
    ```mlir
    graph.steep
    ```
  }];
}
