// The op by which scalar bodies draw random numbers.
include "dialects/graph/GraphOpBase.td"

class Graph_Lanes<I element> : AnyTypeOf<[element, FixedVectorOfRankAndType<[1], [element]>]>;

def Graph_RandomWordOp : Graph_Op<"random_word", [Pure] # ElementwiseMappable.traits> {
  let summary = "A random number of each element";
  let description = [{
    The first word of Philox4x32-10 with the counter {lo(element), hi(element), stream, step}. It is used in the bodies
    of pointwise ops, on scalars or lanes of a vector, never on tensors; `dtc-lower-kernels` turns it into a call of a
    function that all kernels share. Source: Salmon et al. 2011.

    Example:
    ```mlir
    %word = graph.random_word %element, %stream, %step key %key : (vector<8xi64>, i32, i32, i64) -> vector<8xi32>
    ```
  }];
  let arguments = (ins Graph_Lanes<I64>:$element, Graph_Lanes<I32>:$stream, Graph_Lanes<I32>:$step,
      Graph_Lanes<I64>:$key);
  let results = (outs Graph_Lanes<I32>:$word);
  let assemblyFormat = "$element `,` $stream `,` $step `key` $key attr-dict `:` functional-type(operands, results)";
}
