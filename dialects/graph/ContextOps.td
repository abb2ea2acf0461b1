// Ops of sequences that are on several ranks.
include "dialects/graph/GraphOpBase.td"

def Graph_ChunkStartsOp : Graph_Op<"chunk_starts", [Pure, Graph_Rule, Graph_IndexedPointwise]> {
  let summary = "Where chunks of sequences begin";
  let description = [{
    starts[b, c] = c * size: the position of the first token of chunk c of each sequence, from 0. `dtc-partition` makes
    it where attention's queries are split: keys in front of a rank's chunk are seen by all of its queries. On the mesh
    both dims split, and `windows` give the chunks of this rank.

    Constraints:
    - (C1) `starts` has 2 dims.
    - (C2) `size` is 1 or more.
    - (C3) `windows` are about the chunks.

    Example:
    ```mlir
    %starts = graph.chunk_starts size 512 : tensor<4x8xi32>
    ```
  }];
  let arguments = (ins I64Attr:$size, OptionalAttr<ArrayAttr>:$windows);
  let results = (outs Graph_IntTensor:$starts);
  let assemblyFormat = "`size` $size attr-dict `:` type($starts)";
  let hasVerifier = 1;
}
